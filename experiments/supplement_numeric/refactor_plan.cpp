#include "experiments/supplement_numeric/refactor_plan.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "experiments/supplement_numeric/weighted_matching.hpp"

namespace refactor {

namespace {

using static_lu::at;

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Scales and a row permutation, before the order: row k is row rows[k] of A.
struct row_permutation {
  std::vector<std::int32_t> rows;
  std::vector<double> row_scale, col_scale;  // of A's rows and columns
};

void refuse_bad_values(const static_lu::matrix& a, bool diagonal) {
  for (std::int32_t i = 0; i < a.n(); ++i) {
    const auto columns = a.pattern.row(i);
    bool found = false;
    for (std::size_t p = 0; p < columns.size(); ++p) {
      const double value = a.row_values(i)[p];
      if (!std::isfinite(value)) {
        throw std::runtime_error("the value of entry (" + std::to_string(i + 1) + ", " +
                                 std::to_string(columns[p] + 1) + ") is not finite");
      }
      found = found || (columns[p] == i && value != 0);
    }
    if (diagonal && !found) {
      throw std::runtime_error("entry (" + std::to_string(i + 1) + ", " + std::to_string(i + 1) +
                               ") of the diagonal is zero, and rows are not to be permuted");
    }
  }
}

row_permutation permute_rows(const static_lu::matrix& a, row_choice choice) {
  row_permutation out;
  if (choice == row_choice::weighted) {
    weighted_matching matched = maximum_product_matching(a);
    out.rows = std::move(matched.row_of_column);
    out.row_scale = std::move(matched.row_scale);
    out.col_scale = std::move(matched.col_scale);
    return out;
  }
  out.rows.resize(at(a.n()));
  std::iota(out.rows.begin(), out.rows.end(), 0);
  static_lu::matrix scaled = a;
  static_lu::scaling scale = static_lu::equilibrate(scaled);
  out.row_scale = std::move(scale.row);
  out.col_scale = std::move(scale.col);
  return out;
}

gsofa::analysis analyze_rows(const static_lu::matrix& a, const std::vector<std::int32_t>& rows,
                             const plan_options& options) {
  gsofa::csr_pattern p;
  p.n = a.n();
  p.col_idx.reserve(a.pattern.col_idx.size());
  for (const std::int32_t i : rows) {
    const auto columns = a.pattern.row(i);
    p.col_idx.insert(p.col_idx.end(), columns.begin(), columns.end());
    p.row_ptr.push_back(static_cast<std::int64_t>(p.col_idx.size()));
  }
  return gsofa::analyze(p.view(),
                        {.device = options.device, .order = options.order, .factors = true});
}

// Entry (i, j) of the new numbering for each value of A, and whether L + U has a place for it.
void map_values(plan& s, const static_lu::matrix& a) {
  std::vector<std::int32_t> new_col(at(s.n));
  for (std::int32_t j = 0; j < s.n; ++j) new_col[at(s.col_order[at(j)])] = j;
  std::vector<std::pair<std::int32_t, std::int64_t>> row;
  for (std::int32_t i = 0; i < s.n; ++i) {
    const std::int32_t old = s.row_order[at(i)];
    row.clear();
    std::int64_t entry = a.pattern.row_ptr[at(old)];
    for (const std::int32_t j : a.pattern.row(old)) row.emplace_back(new_col[at(j)], entry++);
    std::sort(row.begin(), row.end());
    const auto first = s.column.begin() + s.begin[at(i)];
    const auto last = s.column.begin() + s.begin[at(i) + 1];
    for (const auto& [j, from] : row) {
      const auto place = std::lower_bound(first, last, j);
      const bool inside = place != last && *place == j;
      s.outside += inside ? 0 : 1;
      s.a_place.push_back(inside ? static_cast<std::int32_t>(place - first) : -1);
      s.a_column.push_back(j);
      s.a_entry.push_back(from);
    }
    s.a_begin.push_back(static_cast<std::int64_t>(s.a_column.size()));
  }
}

void join_factors(plan& s, const gsofa::analysis& found) {
  s.column.reserve(at(found.nnz_l + found.nnz_u));
  const auto right = [&](std::int32_t k) {  // entries of row k of U right of its diagonal
    return static_cast<std::int64_t>(found.u.row(k).size()) - 1;
  };
  for (std::int32_t i = 0; i < s.n; ++i) {
    std::int64_t updates = 0;
    for (const std::int32_t k : found.l.row(i)) {
      s.column.push_back(k);
      updates += right(k);
    }
    s.diagonal.push_back(static_cast<std::int64_t>(s.column.size()));
    for (const std::int32_t j : found.u.row(i)) s.column.push_back(j);
    s.begin.push_back(static_cast<std::int64_t>(s.column.size()));
    s.updates_begin.push_back(s.updates_begin.back() + updates);
  }
  s.flops = static_cast<double>(found.nnz_l) + 2 * static_cast<double>(s.updates_begin.back());
}

// Rows in ascending order of their level, ascending within one.
std::vector<std::int32_t> by_level(const std::vector<std::int32_t>& level, std::int32_t levels) {
  std::vector<std::int32_t> next(at(levels) + 1, 0);
  for (const std::int32_t l : level) ++next[at(l) + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  std::vector<std::int32_t> order(level.size());
  for (std::size_t i = 0; i < level.size(); ++i) {
    order[at(next[at(level[i])]++)] = static_cast<std::int32_t>(i);
  }
  return order;
}

void find_levels(plan& s) {
  std::vector<std::int32_t> level(at(s.n));
  const auto place = [&](std::int32_t i, std::int64_t first, std::int64_t last) {
    std::int32_t highest = -1;
    for (std::int64_t p = first; p < last; ++p) {
      highest = std::max(highest, level[at(s.column[at(p)])]);
    }
    level[at(i)] = highest + 1;
    return highest + 2;
  };
  for (std::int32_t i = 0; i < s.n; ++i) {
    s.lower_levels = std::max(s.lower_levels, place(i, s.begin[at(i)], s.diagonal[at(i)]));
  }
  s.lower_order = by_level(level, s.lower_levels);
  for (std::int32_t i = s.n; i-- > 0;) {
    s.upper_levels = std::max(s.upper_levels, place(i, s.diagonal[at(i)] + 1, s.begin[at(i) + 1]));
  }
  s.upper_order = by_level(level, s.upper_levels);
}

}  // namespace

plan make_plan(const static_lu::matrix& a, const plan_options& options) {
  plan s;
  s.n = a.n();
  auto begin = std::chrono::steady_clock::now();
  refuse_bad_values(a, options.rows == row_choice::none);
  const row_permutation rows = permute_rows(a, options.rows);
  s.match_seconds = seconds_since(begin);

  begin = std::chrono::steady_clock::now();
  const gsofa::analysis found = analyze_rows(a, rows.rows, options);
  s.analysis_seconds = seconds_since(begin);

  begin = std::chrono::steady_clock::now();
  for (std::int32_t k = 0; k < s.n; ++k) {
    s.row_order.push_back(rows.rows[at(found.row_order[at(k)])]);
    s.col_order.push_back(found.col_order[at(k)]);
    s.row_scale.push_back(rows.row_scale[at(s.row_order.back())]);
    s.col_scale.push_back(rows.col_scale[at(s.col_order.back())]);
  }
  join_factors(s, found);
  map_values(s, a);
  find_levels(s);
  s.schedule_seconds = seconds_since(begin);
  return s;
}

}  // namespace refactor
