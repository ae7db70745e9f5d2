#include "harness/claim_expression.hpp"

#include <doctest/doctest.h>

#include "common/error.hpp"

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
