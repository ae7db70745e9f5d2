#include "harness/library/cpp/updating.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "common/large_pages.hpp"
#include "common/parallel.hpp"
#include "common/symmetrize.hpp"
#include "harness/library/cpp/options.hpp"

namespace gsofa::library {

namespace {

// previous: of `n` rows among those of a pattern with `before` rows.
void check_previous(std::span<const index_t> previous, index_t n, index_t before) {
  const auto fail = [](const std::string& why) { throw invalid_input("previous: " + why); };
  if (previous.size() != at(n)) {
    fail(std::to_string(previous.size()) + " entries for order " + std::to_string(n));
  }
  std::vector<bool> seen(at(before), false);
  for (std::size_t i = 0; i < previous.size(); ++i) {
    const index_t p = previous[i];
    if (p < -1 || p >= before) {
      fail("row " + std::to_string(i) + " has " + std::to_string(p) + ", outside [-1, " +
           std::to_string(before) + ")");
    }
    if (p >= 0 && seen[at(p)]) fail("row " + std::to_string(p) + " occurs twice");
    if (p >= 0) seen[at(p)] = true;
  }
}

template <class T>
void copy(std::span<const T> from, int threads, std::vector<T>& to) {
  T* const written = storage_to_write(to, from.size());
  parallel_ranges<std::size_t>(threads, from.size(), std::size_t{1} << 16,
                               [&](int, std::size_t begin, std::size_t end) {
                                 std::copy_n(&from[begin], end - begin, written + begin);
                               });
  take_written(to, from.size());
}

bool wants_counts_alone(const analysis_options& o) {
  return o.variant.empty() && !o.factors && !o.factor_columns && !o.supernodes && !o.supernodal &&
         !o.masks && o.relax == 1 && o.relaxed.empty();
}

std::vector<bool> touched_vertices(const std::vector<bool>& before,
                                   std::span<const index_t> previous,
                                   std::span<const index_t> changed, index_t n) {
  std::vector<bool> touched = before;
  if (!previous.empty()) {
    touched.assign(at(n), false);
    for (std::size_t v = 0; v < at(n); ++v) {
      if (previous[v] != -1) touched[v] = before[at(previous[v])];
    }
  }
  for (const index_t v : changed) touched[at(v)] = true;
  return touched;
}

// Orders subtrees anew in which many vertices are touched. Returns the number of their vertices.
std::int64_t reorder_subtrees(
    const pattern_view& s,
    const std::function<std::vector<index_t>(const pattern_view&)>& new_order, int threads,
    update_history& h) {
  const std::vector<index_range> subtrees = marked_subtrees(h.tree, h.touched);
  std::vector<index_t> order = h.tree.order;
  std::int64_t vertices = 0;
  for (const index_range r : subtrees) {
    const std::span<const index_t> part =
        std::span(h.tree.order).subspan(at(r.begin), at(r.end - r.begin));
    const std::vector<index_t> found = new_order(induced(s, part));
    for (std::size_t k = 0; k < part.size(); ++k) order[at(r.begin) + k] = part[at(found[k])];
    vertices += r.end - r.begin;
  }
  ordered_tree t = tree_of_order(s, std::move(order), {}, threads);
  if (t.operations >= h.tree.operations) return 0;
  h.tree = std::move(t);
  for (const index_range r : subtrees) {
    for (index_t j = r.begin; j < r.end; ++j) h.touched[at(h.tree.order[at(j)])] = false;
  }
  return vertices;
}

}  // namespace

void give_counts(const analysis_options& options, const updating& u, analysis& out) {
  const ordered_tree& tree = u.next->tree;
  out.l_row_counts = tree.row_counts;
  out.u_row_counts = tree.counts;
  for (index_t& count : out.u_row_counts) ++count;
  out.nnz_l = std::accumulate(tree.counts.begin(), tree.counts.end(), offset_t{0});
  out.nnz_u = out.nnz_l + out.n;
  out.supernode_starts.clear();
  out.l = out.u = {};
  out.l_columns = out.u_columns = {};
  out.masks = {};
  if (!options.tree) return;
  out.parent = tree.parent;
  out.l_col_counts = tree.counts;
  out.flops = tree.operations;
}

namespace {

bool may_adapt(const updating& u, const analysis_options& options, index_t n) {
  return u.last && u.last->method == options.order && u.last->match == options.match &&
         u.last->device == options.device && (!u.previous.empty() || u.last->rows.n_rows == n);
}

// Sets u.next->tree, touched and allowance by those of u.last. `s`: the pattern of A + A^T.
order_update adapt_order(
    const pattern_view& a, const pattern_view& s, int threads, updating& u,
    const std::function<std::vector<index_t>(const pattern_view&)>& new_order) {
  const update_history& last = *u.last;
  update_history& next = *u.next;
  const index_t n = a.n_rows;
  const auto changed = changed_rows(a, last.rows, u.previous, threads);
  repaired r = repaired_order(s, last.tree, u.previous, changed,
                              threads > 1 ? piece_of_tree(n, threads) : 0);
  // The changed rows of an unsymmetric pattern do not show both ends of an edge.
  if (!next.symmetric || !last.symmetric) r.subtrees.kept.clear();
  next.tree = tree_of_order(s, std::move(r.order), std::move(r.subtrees), threads);
  next.touched = touched_vertices(last.touched, u.previous, changed, n);
  next.allowance = last.allowance;
  order_update done{r.moved.empty() ? order_change::kept : order_change::moved,
                    static_cast<std::int64_t>(changed.size()),
                    static_cast<std::int64_t>(r.moved.size()), 0};
  if (next.allowance.admits(done.rows_changed, next.tree.operations)) return done;
  if (next.allowance.may_put_off()) {
    done.vertices_reordered = reorder_subtrees(s, new_order, threads, next);
    if (done.vertices_reordered > 0) done.kind = order_change::reordered;
    if (done.vertices_reordered > 0 && next.allowance.put_off(next.tree.operations)) return done;
  }
  ordered_tree anew = tree_of_order(s, new_order(a), {}, threads);
  done.compared = true;
  if (next.allowance.compare(next.tree.operations, anew.operations)) return done;
  next.tree = std::move(anew);
  next.touched.assign(at(n), false);
  return {order_change::new_order, done.rows_changed, 0, n, true};
}

}  // namespace

order_update update_order(
    const pattern_view& a, const analysis_options& options, updating& u,
    const std::function<std::vector<index_t>(const pattern_view&)>& new_order) {
  const index_t n = a.n_rows;
  const int threads = host_threads(options);
  if (u.last && !u.previous.empty()) check_previous(u.previous, n, u.last->rows.n_rows);
  update_history& next = u.next.emplace();
  next.method = options.order;
  next.match = options.match;
  next.device = options.device;
  next.rows.n_rows = next.rows.n_cols = n;
  copy(a.row_ptr, threads, next.rows.row_ptr);
  copy(a.col_idx, threads, next.rows.col_idx);
  pattern sum;
  pattern_view s = a;
  next.symmetric = is_symmetric(a, threads);
  if (!next.symmetric) s = sum = symmetrized(a, diagonal::drop, threads);
  u.counts = next.symmetric && wants_counts_alone(options);
  if (may_adapt(u, options, n)) return adapt_order(a, s, threads, u, new_order);
  next.tree = tree_of_order(s, new_order(a), {}, threads);
  next.touched.assign(at(n), false);
  next.allowance = {n, next.tree.operations};
  return {order_change::new_order, n, 0, n, false};
}

}  // namespace gsofa::library
