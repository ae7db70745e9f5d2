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

void count_fronts(std::span<const index_t> parent, std::span<const index_t> columns_of_l,
                  std::span<const index_t> rows_of_u, order_quality& q) {
  const std::size_t n = parent.size();
  std::vector<index_t> height(n, 1), children(n, 0);
  std::vector<double> path(n, 0);
  std::vector<offset_t> arriving(n, 0);  // entries of the contributions of the children
  offset_t factors = 0;
  offset_t stacked = 0;
  for (std::size_t k = 0; k < n; ++k) {
    const offset_t l = columns_of_l[k];
    const offset_t u = rows_of_u[k] - 1;
    path[k] += static_cast<double>(l) + 2 * static_cast<double>(l) * static_cast<double>(u);
    q.height = std::max(q.height, height[k]);
    q.critical_path = std::max(q.critical_path, path[k]);
    q.largest_front = std::max(q.largest_front, static_cast<index_t>(std::max(l, u) + 1));
    const bool continues = k > 0 && children[k] == 1 && at(parent[k - 1]) == k &&
                           columns_of_l[k - 1] == l + 1 && rows_of_u[k - 1] == u + 2;
    const offset_t front = (l + 1) * (u + 1);
    if (!continues) q.peak_entries = std::max(q.peak_entries, factors + stacked + front);
    stacked += l * u - arriving[k];
    factors += l + u + 1;
    if (parent[k] < 0) continue;
    const std::size_t p = at(parent[k]);
    height[p] = std::max(height[p], height[k] + 1);
    path[p] = std::max(path[p], path[k]);
    ++children[p];
    arriving[p] += l * u;
  }
}

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
  count_fronts(elimination_tree(symmetrized(p, diagonal::drop)), columns_of_l, rows_of_u, q);
  return q;
}

}  // namespace gsofa
