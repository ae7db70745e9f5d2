#include "harness/library/cpp/direct_sum.hpp"

#include <algorithm>
#include <numeric>

#include "common/error.hpp"
#include "common/large_pages.hpp"

namespace gsofa::library {

namespace {

// Rows begin .. end - 1 of p, columns counted from `begin`.
pattern rows_of(const pattern& p, index_t begin, index_t end) {
  pattern out;
  out.n_rows = out.n_cols = end - begin;
  const offset_t first = p.row_ptr[at(begin)];
  const offset_t last = p.row_ptr[at(end)];
  out.row_ptr.reserve(at(end - begin) + 1);
  for (index_t i = begin; i < end; ++i) out.row_ptr.push_back(p.row_ptr[at(i) + 1] - first);
  out.col_idx.reserve(at(last - first));
  for (offset_t e = first; e < last; ++e) out.col_idx.push_back(p.col_idx[at(e)] - begin);
  return out;
}

std::vector<index_t> slice(const std::vector<index_t>& v, index_t begin, index_t end) {
  return {v.begin() + begin, v.begin() + end};
}

}  // namespace

direct_sum::direct_sum(std::span<const pattern_view> patterns) {
  offset_t rows = 0;
  offset_t entries = 0;
  ranges_.reserve(patterns.size());
  for (const pattern_view& a : patterns) {
    if (rows + a.n_rows > max_index) {
      throw overflow_error("batch: the rows of all patterns do not fit in 32 bits");
    }
    const auto begin = static_cast<index_t>(rows);
    ranges_.push_back({begin, begin + a.n_rows, entries});
    rows += a.n_rows;
    entries += a.nnz();
  }
  all_.n_rows = all_.n_cols = static_cast<index_t>(rows);
  resize_in_large_pages(all_.row_ptr, at(rows) + 1);
  resize_in_large_pages(all_.col_idx, at(entries));
  all_.row_ptr[0] = 0;
}

void direct_sum::put(std::size_t k, const pattern_view& a) {
  const auto [begin, end, first] = ranges_[k];
  for (index_t i = 0; i < a.n_rows; ++i) {
    all_.row_ptr[at(begin + i) + 1] = first + a.row_ptr[at(i) + 1];
  }
  for (std::size_t e = 0; e < at(a.nnz()); ++e) {
    all_.col_idx[at(first) + e] = begin + a.col_idx[e];
  }
}

result direct_sum::part(std::size_t k, const result& of_all, want_set wants) const {
  const index_t begin = ranges_[k].begin;
  const index_t end = ranges_[k].end;
  result out;
  out.l.n_rows = out.l.n_cols = out.u.n_rows = out.u.n_cols = end - begin;
  if (begin == end) return out;
  out.l_row_counts = slice(of_all.l_row_counts, begin, end);
  out.u_row_counts = slice(of_all.u_row_counts, begin, end);
  out.nnz_l = std::accumulate(out.l_row_counts.begin(), out.l_row_counts.end(), offset_t{0});
  out.nnz_u = std::accumulate(out.u_row_counts.begin(), out.u_row_counts.end(), offset_t{0});
  if (wants.has(want::supernodes)) {
    const auto& starts = of_all.supernode_starts;
    for (auto s = std::ranges::lower_bound(starts, begin); s != starts.end() && *s < end; ++s) {
      out.supernode_starts.push_back(*s - begin);
    }
  }
  if (!wants.has(want::pattern)) return out;
  out.l = rows_of(of_all.l, begin, end);
  out.u = rows_of(of_all.u, begin, end);
  return out;
}

}  // namespace gsofa::library
