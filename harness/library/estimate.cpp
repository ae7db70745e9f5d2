#include "harness/library/estimate.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "common/elimination_forest.hpp"
#include "common/preprocess.hpp"
#include "variants/panels/panels.hpp"

namespace gsofa::detail {

namespace {

offset_t sum(std::span<const index_t> values) {
  return std::accumulate(values.begin(), values.end(), offset_t{0});
}

// Entries that A and its transpose have in common, the diagonal among them.
offset_t common_entries(const pattern_view& a, const pattern_view& t) {
  offset_t count = 0;
  for (index_t i = 0; i < a.n_rows; ++i) {
    const auto row = a.row(i), column = t.row(i);
    for (std::size_t p = 0, q = 0; p < row.size() && q < column.size();) {
      const index_t left = row[p], right = column[q];
      count += left == right ? 1 : 0;
      p += left <= right ? 1 : 0;
      q += right <= left ? 1 : 0;
    }
  }
  return count;
}

// Positions of the panels that cpu_bitmap_panels cuts, at most: the boundary of a subtree is the
// column of its root, that of several side by side lies in the column of the parent that they have,
// with that parent.
offset_t panel_positions(const pattern_view& a, std::span<const index_t> counts) {
  ordered_graph graph;
  graph.build(a);
  panel_set panels;
  cut_panels(graph, 64, panels);
  offset_t positions = a.n_rows;
  for (index_t j = 0; j < panels.panels(); ++j) {
    const index_t last = panels.begin[at(j) + 1] - 1;
    bool one_tree = true;
    for (index_t v = panels.begin[at(j)]; v < last; ++v) {
      one_tree = one_tree && graph.parent[at(v)] <= last && graph.parent[at(v)] != -1;
    }
    const index_t parent = graph.parent[at(last)];
    if (one_tree) {
      positions += counts[at(graph.caller(last))];
    } else if (parent != -1) {
      positions += 1 + offset_t{counts[at(graph.caller(parent))]};
    }
  }
  return positions;
}

// Bytes of the supernodal lists of chol(A + A^T).
offset_t supernodal_bytes(std::span<const index_t> parent, std::span<const index_t> counts,
                          index_t most_columns) {
  const std::size_t n = parent.size();
  std::vector<std::uint8_t> joins(n, 0);
  for (std::size_t j = 1; j < n; ++j) {
    joins[j] = parent[j - 1] == static_cast<index_t>(j) && counts[j] == counts[j - 1] - 1 ? 1 : 0;
  }
  const std::vector<index_t> begin = cut_supernodes(joins, {.most_columns = most_columns});
  offset_t rows = 0, segments = 0;
  for (std::size_t s = 0; s + 1 < begin.size(); ++s) {
    const offset_t width = begin[s + 1] - begin[s];
    const offset_t length = 1 + offset_t{counts[at(begin[s])]};
    rows += length;
    segments += length - width;
  }
  return 12 * static_cast<offset_t>(begin.size()) + 8 * (static_cast<offset_t>(n) + 1) +
         4 * (rows + segments);
}

offset_t result_bytes(const analysis_options& o, const fill_estimate& f, index_t n) {
  const offset_t rows = n;
  offset_t bytes = 16 * rows;
  const offset_t factors = 16 * (rows + 1) + 4 * (f.nnz_l + f.nnz_u);
  if (o.factors) bytes += factors;
  if (o.factor_columns) bytes += factors;
  if (o.supernodes) bytes += 4 * rows;
  if (o.tree) bytes += 8 * rows;
  return bytes;
}

}  // namespace

fill_estimate estimate_of(const checked_input& in, const analysis_options& options,
                          const elimination_input& e, const workspace& w, const analysis& out) {
  fill_estimate f;
  f.permutation = out.col_order;
  f.nnz_a = out.nnz_a;
  const pattern_view& a = e.a;
  const offset_t m = a.n_rows, z = a.nnz();
  f.nnz_u = out.n - m;
  f.symmetric = true;
  offset_t off_diagonal = 0, positions = 0, lists = 0;
  if (m > 0) {
    const pattern t = transpose(a);
    const std::vector<index_t> parent = elimination_tree_of_sum(a, t);
    const std::vector<index_t> counts = cholesky_column_counts(a, t, parent);
    const offset_t common = common_entries(a, t);
    f.symmetric = common == z;
    off_diagonal = 2 * z - common - m;
    f.nnz_l = sum(counts);
    f.nnz_u += f.nnz_l + m;
    for (const index_t count : counts) f.flops += count + 2.0 * count * count;
    positions = panel_positions(a, counts);
    if (options.supernodal) lists = supernodal_bytes(parent, counts, options.most_columns);
  }
  f.result_bytes = result_bytes(options, f, out.n) + lists;
  const bool orders =
      options.order != order_method::natural && options.order != order_method::given;
  const offset_t order = orders ? 32 * m + 4 * z + 8 * off_diagonal : 0;
  const offset_t match = in.missing > 0 ? 28 * m + 12 * z : 0;
  const offset_t permute = 48 * m + 8 * z;
  const offset_t analyze = (f.symmetric ? 64 * m + 4 * z : 80 * m + 8 * z) + 36 * positions;
  const offset_t copies = 8 * static_cast<offset_t>(w.arrays.row_ptr.size()) +
                          4 * static_cast<offset_t>(w.arrays.col_idx.size());
  const offset_t core = e.leaves_out ? 12 * m + 4 * z : 0;
  f.working_bytes = copies + core + std::max({order, match, permute, analyze});
  return f;
}

}  // namespace gsofa::detail
