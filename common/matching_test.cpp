// Costs of entries, and the facts that compute_matching() adds.
#include "common/matching.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "common/generators.hpp"
#include "common/ordering.hpp"

using namespace gsofa;

TEST_CASE("logarithms in fixed point") {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> uniform(-1074, 1024);
  CHECK(fixed_log2(1, 40) == 0);
  CHECK(fixed_log2(0.125, 20) == -3 * (1 << 20));
  CHECK(fixed_log2(std::numeric_limits<double>::denorm_min(), 17) == -1074 * (1 << 17));
  for (int trial = 0; trial < 100'000; ++trial) {
    const double value = std::exp2(uniform(random));
    if (value == 0 || std::isinf(value)) continue;
    const double error =
        std::ldexp(static_cast<double>(fixed_log2(value, 40)), -40) - std::log2(value);
    REQUIRE(std::abs(error) < std::ldexp(1.0, -39));
  }
  CHECK(fixed_log2(std::nextafter(2.0, 1.0), 40) <= std::int64_t{1} << 40);
}

TEST_CASE("costs are below their bound, and equal for equal magnitudes") {
  const pattern a{2, 2, {0, 2, 4}, {0, 1, 0, 1}};
  const std::vector<double> values{-3, std::numeric_limits<double>::denorm_min(), 3,
                                   -std::numeric_limits<double>::max()};
  const matching_costs c = costs_of(a, values);
  CHECK(c.fraction_bits == 40);
  CHECK(c.cost[0] == 0);
  CHECK(c.cost[2] == 0);
  CHECK(c.cost[3] == 0);
  CHECK(c.cost[1] < std::int64_t{1} << 52);
  CHECK(c.cost[1] > std::int64_t{2097} << 40);
  CHECK(matching_fraction_bits(max_index) == 17);
  CHECK(matching_fraction_bits(0) == 40);
}

TEST_CASE("zeros are no candidates; nan and infinity are refused by row and column") {
  const pattern a{2, 2, {0, 2, 3}, {0, 1, 1}};
  CHECK(costs_of(a, std::vector<double>{1, -0.0, 2}).cost[1] == no_candidate);
  CHECK_THROWS_WITH_AS(costs_of(a, std::vector<double>{1, 1, std::nan("")}),
                       "row 2, column 2: the value is not a number", input_error);
  CHECK_THROWS_WITH_AS(costs_of(a, std::vector<double>{1, -HUGE_VAL, 2}),
                       "row 1, column 2: the value is infinite", input_error);
  CHECK_THROWS_WITH_AS(costs_of(a, std::vector<double>{1, 1}),
                       "the matching needs a value of every entry: 3 entries, 2 values",
                       input_error);
}

TEST_CASE("matchings are named as orders are") {
  CHECK(find_matching("maximum").info->name == "maximum");
  CHECK_THROWS_AS(find_matching("maximum:x=1"), input_error);
  CHECK_THROWS_AS(find_matching("maximun"), input_error);
  for (const matching_info& m : all_matchings()) {
    CAPTURE(m.name);
    CHECK_FALSE(m.summary.empty());
    CHECK_FALSE(m.citation.empty());
    CHECK(m.compute);
  }
}

TEST_CASE("facts of a matching") {
  // [0 1 0; 1 0 1; 0 1 1] is symmetric with two zeros on the diagonal.
  const pattern saddle{3, 3, {0, 1, 3, 5}, {1, 0, 2, 1, 2}};
  const row_matching m = compute_matching(saddle, {}, "maximum");
  CHECK(m.structural_rank == 3);
  CHECK(m.row_of_col == std::vector<index_t>{1, 0, 2});
  CHECK(m.symmetric_pattern);
  CHECK(m.zero_diagonal == 2);
  CHECK(m.how == "maximum: symmetric pattern with 2 zeros on the diagonal, rows permuted");
  CHECK(m.symmetric_entries == 0);
  CHECK(compute_matching(saddle, std::vector<double>{1, 2, 8, 4, 2}, "maximum").least_matched ==
        0.25);
  const row_matching kept = compute_matching(saddle, {}, "maximum", {.keeps_symmetric = true});
  CHECK(kept.kept);
  CHECK(kept.row_of_col == identity_order(3));
  CHECK(kept.structural_rank == 3);
  CHECK(kept.symmetric_entries == 4);
  const row_matching singular = compute_matching(pattern{2, 2, {0, 1, 2}, {1, 1}}, {}, "maximum");
  CHECK(singular.structural_rank == 1);
  CHECK(singular.unmatched_cols == std::vector<index_t>{0});
  CHECK(singular.unmatched_rows.size() == 1);
  CHECK(compute_matching({}, {}, "maximum").structural_rank == 0);
  CHECK_THROWS_AS(compute_matching(pattern{1, 2, {0, 0}, {}}, {}, "maximum"), input_error);
}
