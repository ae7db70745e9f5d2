#include "harness/claims.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <fstream>

#include "common/error.hpp"
#include "harness/build_info.hpp"
#include "harness/claim_records.hpp"

using namespace gsofa;

namespace {

const claim_expression::matrix_sets sets{
    {"all", {"A", "B", "C"}}, {"small", {"A", "B"}}, {"large", {"C"}}};

// time(x) of A, B: 1, 4; of C nothing. time(y) is 2 everywhere.
std::optional<double> source(const claim_leaf& leaf, const std::string& matrix) {
  if (leaf.arguments.at(0) == "y") return 2;
  if (leaf.settings.contains("k")) return std::stod(leaf.settings.at("k"));
  if (matrix == "A") return 1;
  if (matrix == "B") return 4;
  return std::nullopt;
}

claim_value value(const std::string& text, const claim_expression::definitions& defined = {}) {
  return claim_expression::parse(text, defined, sets).evaluate(source);
}

double number(const std::string& text) { return std::get<double>(value(text).value); }
std::string matrices(const std::string& text) { return std::get<std::string>(value(text).value); }

std::string refused(const std::string& text) {
  try {
    value(text, {{"loop", "$loop"}});
  } catch (const input_error& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("claim expressions: arithmetic and aggregates") {
  CHECK(number("1 + 2 * 3 - 4 / 2") == 5);
  CHECK(number("(1 + 2) * 3") == 9);
  CHECK(number("mean(all: time(x))") == 2.5);
  CHECK(number("geomean(all: time(x))") == doctest::Approx(2));
  CHECK(number("median(all: time(x))") == 2.5);
  CHECK(number("min(all: time(x)) + max(all: time(x)) + sum(small: time(x))") == 10);
  CHECK(number("at(B: time(x) / time(y))") == 2);
  CHECK(number("fraction(all: time(x) > time(y))") == 0.5);
  CHECK(number("max({A, C}: time(x, k=7))") == 7);
  CHECK(matrices("argmin(all: time(x))") == "A");
  CHECK(matrices("argmax(all: time(x))") == "B");
  CHECK(matrices("which(all: time(x) <= 4)") == "A,B");
  CHECK(matrices("which(all: time(x) < 1)") == "none");
  CHECK(std::get<double>(value("2 * $half", {{"half", "$one / 2"}, {"one", "1"}}).value) == 1);
}

TEST_CASE("claim expressions: what was not measured is left out, and said") {
  const claim_value v = value("mean(all: time(x))");
  CHECK(v.asked == std::vector<std::string>{"A", "B", "C"});
  CHECK(v.measured == std::vector<std::string>{"A", "B"});
  CHECK(value("at(C: time(x))").empty());
  CHECK(value("mean(large: time(x)) + 1").empty());
  CHECK(value("argmax(large: time(x))").empty());
  CHECK(value("at(A: 1 / (time(x) - 1))").empty());  // no infinities
}

TEST_CASE("claim expressions: faults are named") {
  CHECK(refused("mean(all: time(x)").find("expected ')'") != std::string::npos);
  CHECK(refused("mean(none: time(x))").find("'none'") != std::string::npos);
  CHECK(refused("time(x)").find("outside") != std::string::npos);
  CHECK(refused("1 + argmax(all: time(x))").find("stands alone") != std::string::npos);
  CHECK(refused("$nothing").find("'nothing'") != std::string::npos);
  CHECK(refused("$loop").find("each other") != std::string::npos);
  CHECK(refused("geomean(small: time(x) - time(y))").find("positive") != std::string::npos);
  CHECK(refused("1 1").find("unexpected") != std::string::npos);
  CHECK(refused("").find("expected a name") != std::string::npos);
}

TEST_CASE("shapes") {
  CHECK(has_shape(2, "> 1"));
  CHECK_FALSE(has_shape(1, "> 1"));
  CHECK(has_shape(1, ">= 1"));
  CHECK(has_shape(-1, "< 0"));
  CHECK(has_shape(13, "= 13"));
  CHECK_FALSE(has_shape(12, "= 13"));
  for (const char* bad : {"", ">", "> x", "~ 1", "> 1 2"}) {
    CHECK_THROWS_AS(has_shape(1, bad), input_error);
  }
}

TEST_CASE("verdicts") {
  claim_file file;
  file.sets = sets;
  const auto of = [&](const claim& c, bool stand_in = false) {
    return judge(c, file, source, [&](const std::string&) { return stand_in; });
  };
  claim c;
  c.id = "x";
  c.paper = 4.0;
  c.measure = "at(B: time(x))";
  c.shape = "> 1";
  CHECK(of(c).found == verdict::reproduced);
  c.paper = 5.0;
  CHECK(of(c).found == verdict::shape_only);
  c.tolerance = 0.25;
  CHECK(of(c).found == verdict::reproduced);
  c.shape = "< 1";
  CHECK(of(c).found == verdict::not_reproduced);
  c.paper = "faster";
  CHECK(of(c).found == verdict::not_reproduced);
  c.shape = "> 1";
  CHECK(of(c).found == verdict::reproduced);
  CHECK(of(c, true).stand_ins == 1);
  c.by_construction = true;
  CHECK(of(c).found == verdict::reproduced);
  CHECK(of(c, true).found == verdict::not_testable);
  c.measure = "at(C: time(x))";
  CHECK(of(c).found == verdict::unjudged);

  // Within 25 % of the effect, not of the ratio.
  claim gain = c;
  gain.by_construction = false;
  gain.measure = "at(A: time(x))";
  gain.shape = ">= 1";
  gain.paper = 1.2;
  CHECK(of(gain).found == verdict::reproduced);
  gain.baseline = 1;
  CHECK(of(gain).found == verdict::shape_only);
  gain.not_comparable = "other machines";
  CHECK(of(gain).found == verdict::not_testable);
  CHECK_FALSE(of(gain).measured.empty());

  claim which;
  which.id = "y";
  which.measure = "argmax(all: time(x))";
  which.paper = "B";
  CHECK(of(which).found == verdict::not_testable);  // C was not measured, it might be the largest
  which.measure = "argmax(small: time(x))";
  CHECK(of(which).found == verdict::reproduced);
  which.paper = "A";
  CHECK(of(which).found == verdict::not_reproduced);
  which.paper = 3.0;
  CHECK_THROWS_AS(of(which), input_error);

  claim told;
  told.id = "z";
  told.not_testable = "44 nodes";
  CHECK(of(told).found == verdict::not_testable);
  CHECK(of(told).reason == "44 nodes");
}

#ifdef GSOFA_HAVE_TOMLPLUSPLUS

namespace {

json record(const std::string& matrix, const std::string& variant, double seconds) {
  return {
      {"host", "h"},
      {"cpu", "c"},
      {"gpus", json::array()},
      {"git", {{"sha", "0"}}},
      {"matrix", {{"name", matrix}, {"n", 10}, {"nnz", 30}, {"stand_in", matrix != "bcsstk18"}}},
      {"variant", variant},
      {"device", "cpu"},
      {"options", {{"sources_per_range", 16}}},
      {"threads", 1},
      {"chunk_size", 128},
      {"wants", {"counts"}},
      {"mpi", {{"ranks", 1}}},
      {"counting", false},
      {"status", "pass"},
      {"samples_s", {seconds, seconds + 2, seconds + 1}},
      {"phases_s", {{"traverse", 1.5}, {"compact", 0.25}}},
      {"mem", {{"device_peak", 5}, {"device", {{"arena", 6}}}, {"predicted", {}}}},
      {"result", {{"fill", 20}}},
      {"counters", {{"levels", 3}}}};
}

class record_file {
 public:
  explicit record_file(const std::vector<json>& records)
      : path_(std::filesystem::temp_directory_path() /
              ("gsofa_claims_test_" + std::to_string(getpid()) + ".jsonl")) {
    std::ofstream out(path_);
    for (const auto& r : records) out << json_line(r) << "\n";
  }
  ~record_file() { std::filesystem::remove(path_); }
  [[nodiscard]] claim_records read() const { return claim_records({path_}); }

 private:
  std::filesystem::path path_;
};

}  // namespace

TEST_CASE("claim records: leaves") {
  json counted = record("bcsstk18", "cpu_fill2_parallel", 0);
  counted["counting"] = true;
  counted["samples_s"] = json::array();
  counted["series"] = {{"frontier_size", {0, 1, 2, 6}}};
  json failed = record("twotone", "cpu_fill2_parallel", 1);
  failed["status"] = "fail";
  json other_option = record("bcsstk18", "cpu_fill2_parallel", 100);
  other_option["options"]["sources_per_range"] = 1;
  const claim_records r = record_file({record("bcsstk18", "cpu_fill2_parallel", 3), other_option,
                                       counted, failed, record("unknown", "cpu_fill2", 1)})
                              .read();
  const auto leaf = [&](const std::string& name, std::vector<std::string> arguments,
                        std::map<std::string, std::string> settings = {}) {
    return r.answer({name, std::move(arguments), std::move(settings)}, "BC");
  };
  const std::string v = "cpu_fill2_parallel";
  CHECK(leaf("time", {v}) == 4);
  CHECK(leaf("time", {v}, {{"sources_per_range", "1"}}) == 101);
  CHECK(leaf("bare", {v}) == 3.75);
  CHECK_THROWS_AS(leaf("time", {v}, {{"ranks", "two"}}), input_error);
  CHECK_THROWS_AS(leaf("phase", {"travers", v}), input_error);
  CHECK_THROWS_AS(leaf("mem", {"nothing.arena", v}), input_error);
  CHECK_FALSE(leaf("time", {v}, {{"ranks", "2"}}));
  CHECK_FALSE(leaf("time", {v}, {{"chunk_size", "64"}}));
  CHECK_FALSE(leaf("time", {"cpu_fill2"}));
  CHECK_THROWS_AS(leaf("time", {"no_such"}), input_error);
  CHECK_THROWS_AS(leaf("time", {v}, {{"no_such", "1"}}), input_error);
  CHECK_THROWS_AS(leaf("no_such", {"x", v}), input_error);
  CHECK(leaf("phase", {"traverse", v}) == 1.5);
  CHECK(leaf("phase", {"init", v}) == 0);
  CHECK(leaf("mem", {"device.arena", v}) == 6);
  CHECK(leaf("mem", {"device_peak", v}) == 5);
  CHECK(leaf("result", {"fill", v}) == 20);
  CHECK(leaf("counter", {"levels", v}) == 3);
  CHECK(leaf("series_max", {"frontier_size", v}) == 6);
  CHECK(leaf("series_min", {"frontier_size", v}) == 1);
  CHECK(leaf("series_rank", {"frontier_size", v}) == doctest::Approx(1));
  CHECK(leaf("matrix", {"n"}) == 10);
  CHECK(leaf("matrix", {"paper.fill_ratio"}) == 6.52);
  CHECK_FALSE(r.answer({"time", {v}, {}}, "TT"));  // its record failed
  CHECK_FALSE(r.is_stand_in("BC"));
  CHECK(r.is_stand_in("TT"));
}

TEST_CASE("claim records: threads must be named where records differ in them") {
  json more = record("bcsstk18", "cpu_fill2_parallel", 3);
  more["threads"] = 8;
  const claim_records r = record_file({record("bcsstk18", "cpu_fill2_parallel", 1), more}).read();
  CHECK_THROWS_AS(static_cast<void>(r.answer({"time", {"cpu_fill2_parallel"}, {}}, "BC")),
                  input_error);
  CHECK(r.answer({"time", {"cpu_fill2_parallel"}, {{"threads", "8"}}}, "BC") == 4);
  CHECK(r.answer({"time", {"cpu_fill2_parallel"}, {{"threads", "1"}}}, "BC") == 2);
}

TEST_CASE("claim records: several machines are refused") {
  json other = record("bcsstk18", "cpu_fill2", 1);
  other["host"] = "another";
  const record_file file({record("bcsstk18", "cpu_fill2", 1), other});
  CHECK_THROWS_AS(file.read(), input_error);
  CHECK_THROWS_AS(claim_records({"/no/such/folder"}), input_error);
}

TEST_CASE("the claims of the paper can be read") {
  const claim_file file = read_claims(repository_root() / "paper" / "claims.toml");
  CHECK(file.claims.size() > 60);
  for (const auto& c : file.claims) {
    INFO(c.id);
    const auto folder = repository_root() / "experiments" / c.item;
    const bool has_folder = std::filesystem::exists(folder / "spec.toml");
    CHECK((has_folder || c.item == "text" || c.item == "worked_example" ||
           c.item == "fig08_supernodes"));
    if (!c.measure.empty()) {
      CHECK_NOTHROW(claim_expression::parse(c.measure, file.defined, file.sets));
    }
  }
}

#endif
