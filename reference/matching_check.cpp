#include "reference/matching_check.hpp"

#include <algorithm>
#include <vector>

namespace gsofa::reference {

namespace {

std::string place(index_t i, index_t j) {
  return "row " + std::to_string(i + 1) + ", column " + std::to_string(j + 1);
}

// A^T without the entries that are no candidates: the rows of each column.
pattern candidates_by_column(const pattern_view& a, const matching_costs* costs) {
  triplets t{.n_rows = a.n_cols, .n_cols = a.n_rows, .rows = {}, .cols = {}};
  for (index_t i = 0; i < a.n_rows; ++i) {
    for (auto p = at(a.row_ptr[at(i)]); p < at(a.row_ptr[at(i) + 1]); ++p) {
      if (costs != nullptr && costs->cost[p] == no_candidate) continue;
      t.rows.push_back(a.col_idx[p]);
      t.cols.push_back(i);
    }
  }
  return from_triplets(t, duplicates::reject);
}

// Fills the column of each row.
std::string fault_of_pairs(const pattern& columns, const row_matching& m,
                           std::vector<index_t>& col_of_row) {
  const index_t n = columns.n_rows;
  if (m.row_of_col.size() != at(n)) return "row_of_col has another length than the columns";
  for (index_t j = 0; j < n; ++j) {
    const index_t i = m.row_of_col[at(j)];
    if (i == -1) continue;
    if (i < 0 || i >= n) return "column " + std::to_string(j + 1) + " is matched to no row";
    if (!std::ranges::binary_search(columns.row(j), i)) return place(i, j) + ": is no entry";
    if (col_of_row[at(i)] != -1) return "row " + std::to_string(i + 1) + " is matched twice";
    col_of_row[at(i)] = j;
  }
  return "";
}

std::string fault_of_cardinality(const pattern& columns, const row_matching& m,
                                 const std::vector<index_t>& col_of_row) {
  std::vector<bool> reached(at(columns.n_rows), false);  // rows
  std::vector<index_t> stack;
  for (index_t j = 0; j < columns.n_rows; ++j) {
    if (m.row_of_col[at(j)] == -1) stack.push_back(j);
  }
  while (!stack.empty()) {
    const index_t j = stack.back();
    stack.pop_back();
    for (const index_t i : columns.row(j)) {
      if (reached[at(i)]) continue;
      reached[at(i)] = true;
      if (col_of_row[at(i)] == -1) {
        return "not of maximum cardinality: an alternating path ends in the unmatched row " +
               std::to_string(i + 1);
      }
      stack.push_back(col_of_row[at(i)]);
    }
  }
  return "";
}

std::string fault_of_duals(const pattern_view& a, const matching_costs& costs,
                           const row_matching& m) {
  if (m.row_dual.size() != at(a.n_rows) || m.col_dual.size() != at(a.n_cols)) {
    return "the duals have another length than the rows and columns";
  }
  for (index_t i = 0; i < a.n_rows; ++i) {
    for (auto p = at(a.row_ptr[at(i)]); p < at(a.row_ptr[at(i) + 1]); ++p) {
      const index_t j = a.col_idx[p];
      if (costs.cost[p] == no_candidate) continue;
      const std::int64_t slack = costs.cost[p] - m.row_dual[at(i)] - m.col_dual[at(j)];
      if (slack < 0) return place(i, j) + ": costs less than the sum of its duals";
      if (slack > m.most_slack && m.row_of_col[at(j)] == i) {
        return place(i, j) + ": is matched and costs too much more than the sum of its duals";
      }
    }
  }
  return "";
}

}  // namespace

std::string fault_of_matching(const pattern_view& a, const matching_costs* costs,
                              const row_matching& m) {
  const pattern columns = candidates_by_column(a, costs);
  std::vector<index_t> col_of_row(at(a.n_rows), -1);
  std::string fault = fault_of_pairs(columns, m, col_of_row);
  if (fault.empty()) fault = fault_of_cardinality(columns, m, col_of_row);
  if (fault.empty() && !m.col_dual.empty()) {
    fault = costs == nullptr ? "duals without costs" : fault_of_duals(a, *costs, m);
  }
  return fault;
}

}  // namespace gsofa::reference
