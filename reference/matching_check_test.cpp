#include "reference/matching_check.hpp"

#include <doctest/doctest.h>

using namespace gsofa;

namespace {

// Rows {0, 1}, {0, 2}, {1}: the only perfect matching is the anti-diagonal up to row 0.
pattern three() { return {3, 3, {0, 2, 4, 5}, {0, 1, 0, 2, 1}}; }

std::string fault_of(std::vector<index_t> row_of_col, const matching_costs* costs = nullptr,
                     std::vector<std::int64_t> row_dual = {},
                     std::vector<std::int64_t> col_dual = {}) {
  row_matching m;
  m.row_of_col = std::move(row_of_col);
  m.row_dual = std::move(row_dual);
  m.col_dual = std::move(col_dual);
  return reference::fault_of_matching(three(), costs, m);
}

}  // namespace

TEST_CASE("matchings by entries, of maximum cardinality") {
  CHECK(fault_of({0, 2, 1}).empty());
  CHECK(fault_of({0, 2}) == "row_of_col has another length than the columns");
  CHECK(fault_of({0, 2, 3}) == "column 3 is matched to no row");
  CHECK(fault_of({2, 0, 1}) == "row 3, column 1: is no entry");
  CHECK(fault_of({1, 2, 1}) == "row 2 is matched twice");
  CHECK(fault_of({1, 2, -1}) ==
        "not of maximum cardinality: an alternating path ends in the unmatched row 1");
  CHECK(reference::fault_of_matching({}, nullptr, {}).empty());
}

TEST_CASE("duals prove a matching minimal") {
  const matching_costs costs{.cost = {0, 1, 2, 0, 0}, .column_log = {0, 0, 0}, .fraction_bits = 0};
  CHECK(fault_of({0, 2, 1}, &costs, {0, 0, 0}, {0, 0, 0}).empty());
  CHECK(fault_of({0, 2, 1}, &costs, {0, 0, 0}, {0, 0}) ==
        "the duals have another length than the rows and columns");
  CHECK(fault_of({0, 2, 1}, &costs, {0, 0, 1}, {0, 0, 0}) ==
        "row 3, column 2: costs less than the sum of its duals");
  CHECK(fault_of({0, 2, 1}, &costs, {0, 0, -1}, {0, 0, 0}) ==
        "row 3, column 2: is matched and costs too much more than the sum of its duals");
  // Row 3 has a zero: columns 2 and 3 compete for the two other rows.
  const matching_costs zero{
      .cost = {0, 1, 2, 0, no_candidate}, .column_log = {}, .fraction_bits = 0};
  CHECK(fault_of({0, 2, 1}, &zero) == "row 3, column 2: is no entry");
  CHECK(fault_of({0, -1, 1}, &zero).empty());
}
