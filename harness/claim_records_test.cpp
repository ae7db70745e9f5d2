#include "harness/claim_records.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <fstream>

#include "common/error.hpp"

using namespace gsofa;

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

TEST_CASE("claim records: a field of a wrong type is named with its file and line") {
  const json good = record("bcsstk18", "cpu_fill2_parallel", 3);
  const auto fault = [&](const json& bad) {
    try {
      static_cast<void>(record_file(std::vector<json>{good, bad}).read());
    } catch (const input_error& e) {
      return std::string(e.what());
    }
    return std::string("none");
  };
  for (const char* key :
       {"matrix",    "variant",  "device",  "status",   "host",       "cpu",   "gpus",
        "git",       "mpi",      "options", "threads",  "chunk_size", "wants", "counting",
        "samples_s", "phases_s", "result",  "counters", "mem",        "series"}) {
    CAPTURE(key);
    json bad = good;
    bad[key] = 1.5;
    CHECK(fault(bad).find(".jsonl:2: not a record: '" + std::string(key)) != std::string::npos);
  }
  json bad = good;
  bad["samples_s"] = {1, "2"};
  CHECK(fault(bad).find(".jsonl:2: ") != std::string::npos);
  bad = good;
  bad["series"] = {{"frontier_size", "long"}};
  CHECK(fault(bad).find(".jsonl:2: ") != std::string::npos);
  bad = good;
  bad["gpus"] = {"H200"};
  CHECK(fault(bad).find(".jsonl:2: ") != std::string::npos);
}

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

#endif
