#include "common/pattern.hpp"

#include <algorithm>
#include <numeric>

namespace gsofa {

namespace {

// Turns counts stored at ptr[k + 1] into offsets.
void prefix_sum(std::vector<offset_t>& ptr) {
  std::partial_sum(ptr.begin(), ptr.end(), ptr.begin());
}

}  // namespace

pattern from_triplets(const triplets& entries, duplicates policy) {
  const std::size_t nnz = entries.rows.size();
  pattern a;
  a.n_rows = entries.n_rows;
  a.n_cols = entries.n_cols;
  // Two stable counting sorts, by column and then by row, leave every row ascending.
  std::vector<offset_t> col_ptr(at(entries.n_cols) + 1, 0);
  for (const index_t j : entries.cols) ++col_ptr[at(j) + 1];
  prefix_sum(col_ptr);
  std::vector<index_t> by_col_row(nnz), by_col_col(nnz);
  for (std::size_t k = 0; k < nnz; ++k) {
    const std::size_t p = at(col_ptr[at(entries.cols[k])]++);
    by_col_row[p] = entries.rows[k];
    by_col_col[p] = entries.cols[k];
  }
  a.row_ptr.assign(at(entries.n_rows) + 1, 0);
  for (const index_t i : entries.rows) ++a.row_ptr[at(i) + 1];
  prefix_sum(a.row_ptr);
  a.col_idx.resize(nnz);
  std::vector<offset_t> next(a.row_ptr.begin(), a.row_ptr.end() - 1);
  for (std::size_t k = 0; k < nnz; ++k) a.col_idx[at(next[at(by_col_row[k])]++)] = by_col_col[k];

  std::size_t kept = 0;
  for (index_t i = 0; i < a.n_rows; ++i) {
    const std::size_t begin = at(a.row_ptr[at(i)]);
    const std::size_t end = at(a.row_ptr[at(i) + 1]);
    a.row_ptr[at(i)] = static_cast<offset_t>(kept);
    for (std::size_t p = begin; p < end; ++p) {
      if (p > begin && a.col_idx[p] == a.col_idx[p - 1]) {
        if (policy == duplicates::reject) {
          throw input_error("duplicate entry at row " + std::to_string(offset_t{i} + 1) +
                            ", column " + std::to_string(offset_t{a.col_idx[p]} + 1));
        }
        continue;
      }
      a.col_idx[kept++] = a.col_idx[p];
    }
  }
  a.row_ptr[at(a.n_rows)] = static_cast<offset_t>(kept);
  a.col_idx.resize(kept);
  return a;
}

void validate(const pattern_view& a, const std::string& what) {
  auto fail = [&](const std::string& why) { throw input_error(what + ": " + why); };
  if (a.n_rows < 0 || a.n_cols < 0) fail("negative dimension");
  if (a.row_ptr.size() != at(a.n_rows) + 1) fail("row pointer array has the wrong length");
  if (a.row_ptr[0] != 0) fail("row pointers do not begin with 0");
  if (a.row_ptr.back() != static_cast<offset_t>(a.col_idx.size())) {
    fail("row pointers do not end with the number of entries");
  }
  for (index_t i = 0; i < a.n_rows; ++i) {
    if (a.row_ptr[at(i)] > a.row_ptr[at(i) + 1] || a.row_ptr[at(i) + 1] > a.row_ptr.back()) {
      fail("row pointers decrease at row " + std::to_string(i));
    }
    index_t previous = -1;
    for (const index_t j : a.row(i)) {
      if (j < 0 || j >= a.n_cols) fail("column out of range in row " + std::to_string(i));
      if (j <= previous) fail("columns not strictly ascending in row " + std::to_string(i));
      previous = j;
    }
  }
}

namespace {

// Entry (k, j) of the n_rows x n_cols pattern whose row k is row(k) becomes entry (position(j), k)
// of `t`; rows of `t` ascend.
template <class Row, class Position>
void transpose_rows(index_t n_rows, index_t n_cols, offset_t nnz, std::span<const index_t> entries,
                    const Row& row, const Position& position, pattern& t) {
  t.n_rows = n_cols;
  t.n_cols = n_rows;
  // Counts stand two places on: row_ptr[i + 1] is the place of the next entry of row i while rows
  // fill, and the end of row i thereafter.
  t.row_ptr.reserve(at(n_cols) + 2);
  t.row_ptr.assign(at(n_cols) + 2, 0);
  for (const index_t j : entries) ++t.row_ptr[at(position(j)) + 2];
  prefix_sum(t.row_ptr);
  t.col_idx.resize(at(nnz));
  for (index_t k = 0; k < n_rows; ++k) {
    for (const index_t j : row(k)) t.col_idx[at(t.row_ptr[at(position(j)) + 1]++)] = k;
  }
  t.row_ptr.pop_back();
}

void transpose_into(const pattern_view& a, pattern& t) {
  transpose_rows(
      a.n_rows, a.n_cols, a.nnz(), a.col_idx, [&](index_t i) { return a.row(i); },
      [](index_t j) { return j; }, t);
}

}  // namespace

pattern transpose(const pattern_view& a) {
  pattern t;
  transpose_into(a, t);
  return t;
}

std::vector<index_t> inverse_permutation(std::span<const index_t> order) {
  std::vector<index_t> inverse(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) inverse[at(order[k])] = static_cast<index_t>(k);
  return inverse;
}

void validate_permutation(std::span<const index_t> order, index_t n, const std::string& what) {
  if (order.size() != at(n)) {
    throw input_error(what + ": " + std::to_string(order.size()) + " entries for order " +
                      std::to_string(n));
  }
  std::vector<bool> seen(at(n), false);
  for (std::size_t k = 0; k < order.size(); ++k) {
    const index_t v = order[k];
    if (v < 0 || v >= n) {
      throw input_error(what + ": entry " + std::to_string(k) + " is " + std::to_string(v) +
                        ", outside [0, " + std::to_string(n) + ")");
    }
    if (seen[at(v)]) throw input_error(what + ": " + std::to_string(v) + " occurs twice");
    seen[at(v)] = true;
  }
}

void permute_into(const pattern_view& a, std::span<const index_t> row_order,
                  std::span<const index_t> col_order, permutation_workspace& workspace,
                  pattern& out) {
  std::vector<index_t>& new_column = workspace.new_column;
  new_column.resize(col_order.size());
  for (std::size_t k = 0; k < col_order.size(); ++k) {
    new_column[at(col_order[k])] = static_cast<index_t>(k);
  }
  // The result's transpose first, so that one more transposition sorts the rows.
  transpose_rows(
      a.n_rows, a.n_cols, a.nnz(), a.col_idx, [&](index_t k) { return a.row(row_order[at(k)]); },
      [&](index_t j) { return new_column[at(j)]; }, workspace.transposed);
  transpose_into(workspace.transposed, out);
}

pattern permute(const pattern_view& a, std::span<const index_t> row_order,
                std::span<const index_t> col_order) {
  permutation_workspace workspace;
  pattern out;
  permute_into(a, row_order, col_order, workspace, out);
  return out;
}

index_t count_missing_diagonal(const pattern_view& a) {
  index_t missing = 0;
  for (index_t i = 0; i < a.n_rows; ++i) missing += std::ranges::binary_search(a.row(i), i) ? 0 : 1;
  return missing;
}

pattern with_diagonal(const pattern_view& a) {
  pattern out;
  out.n_rows = a.n_rows;
  out.n_cols = a.n_cols;
  out.row_ptr.clear();
  out.row_ptr.reserve(a.row_ptr.size());
  out.row_ptr.push_back(0);
  out.col_idx.reserve(a.col_idx.size() + at(count_missing_diagonal(a)));
  for (index_t i = 0; i < a.n_rows; ++i) {
    const auto row = a.row(i);
    const auto split = std::ranges::lower_bound(row, i);
    out.col_idx.insert(out.col_idx.end(), row.begin(), split);
    if (split == row.end() || *split != i) out.col_idx.push_back(i);
    out.col_idx.insert(out.col_idx.end(), split, row.end());
    out.row_ptr.push_back(static_cast<offset_t>(out.col_idx.size()));
  }
  return out;
}

double structural_symmetry(const pattern_view& a) {
  const pattern t = transpose(a);
  offset_t matched = 0;
  offset_t total = 0;
  for (index_t i = 0; i < a.n_rows; ++i) {
    const auto x = a.row(i);
    const auto y = t.row(i);
    std::size_t q = 0;
    for (const index_t j : x) {
      if (j == i) continue;
      ++total;
      while (q < y.size() && y[q] < j) ++q;
      if (q < y.size() && y[q] == j) ++matched;
    }
  }
  return total == 0 ? 1.0 : static_cast<double>(matched) / static_cast<double>(total);
}

}  // namespace gsofa
