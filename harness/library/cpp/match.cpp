// match(): rows for the diagonal, before the order.

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/matching.hpp"
#include "gsofa/gsofa.hpp"
#include "harness/library/cpp/clock.hpp"
#include "harness/library/cpp/errors.hpp"
#include "harness/library/cpp/input.hpp"
#include "harness/library/cpp/options.hpp"

namespace gsofa {

using namespace library;

namespace {

// The values of the entries of `a` by rows, from those of lines that are its rows or columns.
template <class Offset, class Index>
std::vector<double> values_by_rows(const pattern_view& a, bool by_columns,
                                   std::span<const Offset> pointers, std::span<const Index> indices,
                                   std::span<const double> given) {
  if (given.size() != indices.size()) {
    throw invalid_input("values: " + std::to_string(given.size()) + " for " +
                        std::to_string(indices.size()) + " entries");
  }
  if (at(a.nnz()) != indices.size()) throw invalid_input("values: an entry is given twice");
  if (!by_columns && std::ranges::equal(a.col_idx, indices)) return {given.begin(), given.end()};
  std::vector<offset_t> next(a.row_ptr.begin(), a.row_ptr.end());
  std::vector<double> values(given.size());
  for (std::size_t line = 0; line + 1 < pointers.size(); ++line) {
    for (auto p = at(pointers[line]); p < at(pointers[line + 1]); ++p) {
      const auto other = static_cast<index_t>(indices[p]);
      if (by_columns) {
        values[at(next[at(other)]++)] = given[p];
      } else {
        const auto row = a.row(static_cast<index_t>(line));
        values[at(next[line] + (std::ranges::lower_bound(row, other) - row.begin()))] = given[p];
      }
    }
  }
  return values;
}
std::vector<double> values_by_rows(const pattern_view& a, const auto& given,
                                   std::span<const double> values) {
  if constexpr (requires { given.row_ptr; }) {
    return values_by_rows(a, false, given.row_ptr, given.col_idx, values);
  } else {
    return values_by_rows(a, true, given.col_ptr, given.row_idx, values);
  }
}

template <class View>
match_result match_rows(const View& given, const match_options& o) {
  auto begin = library::clock::now();
  if (o.threads < 0) throw invalid_input("threads: " + std::to_string(o.threads) + " is negative");
  const given_pattern any(given);
  const input_rows rows(any);
  const pattern_view& a = rows.in.a;
  const std::vector<double> values =
      o.values.empty() ? std::vector<double>() : values_by_rows(a, given, o.values);
  const std::string method =
      !o.method.empty() ? o.method : (o.values.empty() ? "symmetric" : "weighted");
  analysis_options shared;
  shared.threads = o.threads;
  row_matching m = compute_matching(
      a, values, method, {.threads = host_threads(shared), .keeps_symmetric = o.keep_symmetric});
  match_result out;
  out.row_of_col = std::move(m.row_of_col);
  out.structural_rank = m.structural_rank;
  out.unmatched_rows = std::move(m.unmatched_rows);
  out.unmatched_cols = std::move(m.unmatched_cols);
  out.row_scale = std::move(m.row_scale);
  out.col_scale = std::move(m.col_scale);
  out.least_matched = m.least_matched;
  out.symmetric_entries = m.symmetric_entries;
  out.method = method;
  out.how = std::move(m.how);
  out.seconds = lap(begin);
  return out;
}

}  // namespace

match_result match(const csr_view& a, const match_options& options) {
  return match<csr_view>(a, options);
}
template <class View>
match_result match(const View& a, const match_options& options) {
  return reporting([&] { return match_rows(a, options); });
}

#define GSOFA_INSTANTIATE(View) \
  template GSOFA_API match_result match(const View&, const match_options&)
GSOFA_INSTANTIATE(csr_view_32);
GSOFA_INSTANTIATE(csr_view_64);
GSOFA_INSTANTIATE(csc_view);
GSOFA_INSTANTIATE(csc_view_32);
GSOFA_INSTANTIATE(csc_view_64);
#undef GSOFA_INSTANTIATE

}  // namespace gsofa
