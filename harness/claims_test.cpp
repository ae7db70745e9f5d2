#include "harness/claims.hpp"

#include <doctest/doctest.h>

#include "common/error.hpp"
#include "harness/build_info.hpp"

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

}  // namespace

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
