#include "harness/library/cpp/results.hpp"

#include <algorithm>
#include <exception>
#include <numeric>
#include <utility>

#include "common/elimination_forest.hpp"
#include "common/large_pages.hpp"
#include "common/preprocess.hpp"
#include "common/supernodal.hpp"

namespace gsofa::library {

namespace {

// Counts of the rows of a contracted pattern as those of the padded one.
void expand_counts(std::span<const std::uint32_t> added, std::span<const column_range> of,
                   result& r) {
  const row_counts contracted{std::move(r.l_row_counts), std::move(r.u_row_counts)};
  row_counts all = expand_leaves(contracted, added, of);
  r.nnz_l = std::accumulate(all.l.begin(), all.l.end(), offset_t{0});
  r.nnz_u = std::accumulate(all.u.begin(), all.u.end(), offset_t{0});
  r.l_row_counts = std::move(all.l);
  r.u_row_counts = std::move(all.u);
}

// Entries of the columns of L below the diagonal: column c of a supernode has all rows of its list
// but the first c + 1.
void count_columns(const supernodal_pattern& s, std::vector<index_t>& counts) {
  counts.clear();
  for (index_t k = 0; k < s.supernodes(); ++k) {
    const auto length = static_cast<index_t>(s.row_begin[at(k) + 1] - s.row_begin[at(k)]);
    const index_t width = s.begin[at(k) + 1] - s.begin[at(k)];
    for (index_t c = 1; c <= width; ++c) counts.push_back(length - c);
  }
}

gives_masks* giver_of(workspace& w) { return dynamic_cast<gives_masks*>(w.kept.get()); }

csr_pattern rows_of(pattern&& p) { return {p.n_rows, std::move(p.row_ptr), std::move(p.col_idx)}; }
csc_pattern columns_of(pattern&& p) {
  return {p.n_rows, std::move(p.row_ptr), std::move(p.col_idx)};
}

}  // namespace

double operations(std::span<const std::int32_t> l_col_counts,
                  std::span<const std::int32_t> u_row_counts) {
  double flops = 0;
  for (std::size_t k = 0; k < l_col_counts.size(); ++k) {
    const double l = l_col_counts[k];
    flops += l + 2 * l * (u_row_counts[k] - 1);
  }
  return flops;
}

void find_tree(const elimination_input& e, analysis& out) {
  const std::vector<index_t> parent = elimination_tree_of_sum(e.a, transpose(e.a));
  if (e.of.empty()) {
    out.parent = parent;
    return;
  }
  // A relaxed supernode that was shrunk to a vertex is a path of its columns, since its block is
  // full, and a leaf: its parent stands for one column.
  out.parent.clear();
  for (std::size_t v = 0; v < parent.size(); ++v) {
    for (index_t j = e.of[v].begin + 1; j < e.of[v].end; ++j) out.parent.push_back(j);
    out.parent.push_back(parent[v] == -1 ? -1 : e.of[at(parent[v])].begin);
  }
}

void find_masks(bool has_rows, workspace& w, mask_pattern& m, analysis& out) {
  gives_masks* const giver = giver_of(w);
  if (giver == nullptr || !giver->masks_into(m)) {
    const result rows = has_rows ? result{} : w.kept->collect(want::pattern);
    m = has_rows ? masks_of(w.found.l, w.found.u) : masks_of(rows.l, rows.u);
  }
  out.masks = {std::move(m.begin), std::move(m.position_begin), std::move(m.vertices),
               std::move(m.masks)};
}

void find_supernodes_of_columns(const elimination_input& e, const analysis_options& options,
                                bool has_rows, workspace& w, analysis& out) {
  const supernode_rule rule{.most_columns = options.most_columns, .fixed = e.fixed};
  result& r = w.found;
  // A variant may hand over its lists once.
  supernodal_pattern s = std::move(w.lists);
  if (has_rows) {
    s = supernodal_of(r.l, r.u, rule);
  } else {
    w.kept->supernodal_into(rule, s);
  }
  if (!e.of.empty()) {
    expand_counts(added_columns(s, e.of), e.of, r);
    s = expand_leaves(s, e.of);
  }
  if (options.tree) count_columns(s, out.l_col_counts);
  if (!options.supernodal) {
    if (w.keeps) w.lists = std::move(s);
    return;
  }
  out.supernodal = {std::move(s.begin), std::move(s.row_begin), std::move(s.rows),
                    std::move(s.segment_begin), std::move(s.segments)};
}

void leave_on_device(leaves_device_results& v, const elimination_input& e,
                     const analysis_options& options, result& found, analysis& out) {
  const device_destination to{.allocate =
                                  [&](std::size_t bytes) {
                                    try {
                                      return options.device_memory(bytes);
                                    } catch (...) {
                                      throw callback_failure{std::current_exception()};
                                    }
                                  },
                              .stream = options.device_stream};
  if (options.factors) {
    device_rows l, u;
    v.rows_on_device(to, l, u);
    out.device_l = {l.n, l.nnz, l.row_ptr, l.col_idx};
    out.device_u = {u.n, u.nnz, u.row_ptr, u.col_idx};
  }
  if (options.supernodal) {
    const supernode_rule rule{.most_columns = options.most_columns, .fixed = e.fixed};
    std::vector<std::uint32_t> added;
    const device_supernodal_pattern s = e.of.empty() ? v.supernodal_on_device(rule, to)
                                                     : v.expanded_on_device(rule, e.of, to, added);
    if (!e.of.empty()) expand_counts(added, e.of, found);
    out.device_supernodal = {s.supernodes, s.row_count, s.segment_count, s.begin,
                             s.row_begin,  s.rows,      s.segment_begin, s.segments};
  }
}

void give(const analysis_options& options, workspace& w, analysis& out) {
  result& r = w.found;
  out.nnz_l = r.nnz_l;
  out.nnz_u = r.nnz_u;
  std::swap(out.l_row_counts, r.l_row_counts);
  std::swap(out.u_row_counts, r.u_row_counts);
  out.supernode_starts.clear();
  if (options.supernodes) out.supernode_starts = r.supernode_starts;
  out.l = out.u = {};
  out.l_columns = out.u_columns = {};
  if (!options.masks) out.masks = {};
  const bool are_there = out.device_l.n > 0;
  if ((!options.factors && !options.factor_columns) || are_there) return;
  pattern l = std::move(r.l);
  pattern u = std::move(r.u);
  if (options.factor_columns) {
    out.l_columns = columns_of(transpose(l));
    out.u_columns = columns_of(transpose(u));
  }
  if (options.factors) {
    out.l = rows_of(std::move(l));
    out.u = rows_of(std::move(u));
  }
}

}  // namespace gsofa::library
