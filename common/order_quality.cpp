#include "common/order_quality.hpp"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "common/preprocess.hpp"
#include "common/variant.hpp"

namespace gsofa {

namespace {

// Row counts of U (with the diagonal) and column counts of L of a pattern, and the entries of L.
std::tuple<std::vector<index_t>, std::vector<index_t>, offset_t> pivot_counts(
    const pattern_view& a, int threads, const std::atomic<bool>* stop) {
  if (a.n_rows == 0) return {};
  const variant_info& info = find_variant("cpu_bitmap_panels");
  run_settings settings = settings_with(info, want::counts);
  settings.threads = threads;
  run_context context;
  context.stop = stop;
  const auto v = info.create();
  v->prepare(a, settings, context);
  result r = run_once(*v, want::counts, context);
  return {std::move(r.u_row_counts), v->profile(0).l_col_counts, r.nnz_l};
}

}  // namespace

order_quality quality_of(const pattern_view& a, std::span<const index_t> order, int threads,
                         const std::atomic<bool>* stop) {
  pattern p = permute(a, order, order);
  const std::vector<index_t> post = postorder(elimination_tree(symmetrized(p, diagonal::drop)));
  p = permute(p, post, post);
  const auto [rows_of_u, columns_of_l, nnz_l] = pivot_counts(p, threads, stop);
  order_quality q{.nnz_l = nnz_l};
  for (std::size_t k = 0; k < rows_of_u.size(); ++k) {
    const double l = columns_of_l[k];
    const double u = rows_of_u[k] - 1;
    q.nnz_u += rows_of_u[k];
    q.flops += l + 2 * l * u;
  }
  const std::vector<index_t> parent = elimination_tree(symmetrized(p, diagonal::drop));
  std::vector<index_t> below(parent.size(), 1);  // height of the subtree of each vertex
  for (std::size_t v = 0; v < parent.size(); ++v) {
    q.height = std::max(q.height, below[v]);
    if (parent[v] >= 0) below[at(parent[v])] = std::max(below[at(parent[v])], below[v] + 1);
  }
  return q;
}

}  // namespace gsofa
