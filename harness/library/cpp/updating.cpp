#include "harness/library/cpp/updating.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "common/large_pages.hpp"
#include "common/parallel.hpp"
#include "common/preprocess.hpp"
#include "common/symmetrize.hpp"
#include "harness/library/cpp/options.hpp"

namespace gsofa::library {

namespace {

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

// Orders the subtrees anew in which many vertices are touched. Returns the number of their
// vertices, 0 if that does not save operations.
std::int64_t reorder_subtrees(
    const pattern_view& s,
    const std::function<std::vector<index_t>(const pattern_view&)>& new_order, int threads,
    update_history& h) {
  const std::vector<index_range> subtrees = marked_subtrees(h.tree, h.touched);
  if (subtrees.empty()) return 0;
  std::vector<index_t> order = h.tree.order;
  std::vector<index_t> numbers(order.size(), -1);
  std::int64_t vertices = 0;
  for (const index_range r : subtrees) {
    const std::span<const index_t> part =
        std::span(h.tree.order).subspan(at(r.begin), at(r.end - r.begin));
    const std::vector<index_t> found = new_order(induced(s, part, numbers));
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

// Whether the vertices of `order` have the sequence that they had in that of `before`.
bool is_same_sequence(std::span<const index_t> order, const ordered_tree& before,
                      std::span<const index_t> previous) {
  const std::vector<index_t> place = inverse_permutation(before.order);
  return std::ranges::is_sorted(
      order, {}, [&](index_t v) { return place[at(previous.empty() ? v : previous[at(v)])]; });
}

// `h` gets a new order.
order_update order_anew(const pattern_view& a, const pattern_view& s, int threads,
                        std::int64_t rows_changed, update_history& h,
                        const std::function<std::vector<index_t>(const pattern_view&)>& new_order) {
  h.tree = tree_of_order(s, new_order(a), {}, threads);
  h.touched.assign(at(a.n_rows), false);
  h.allowance = {a.n_rows, h.tree.operations};
  return {order_change::new_order, rows_changed, 0, a.n_rows, false};
}

}  // namespace

void check_previous(const updating& u, std::int32_t n) {
  if (u.previous.empty()) return;
  const index_t before = u.rows_before == -1 ? n : u.rows_before;
  const auto fail = [](const std::string& why) { throw invalid_input("previous: " + why); };
  if (u.previous.size() != at(n)) {
    fail(std::to_string(u.previous.size()) + " entries for order " + std::to_string(n));
  }
  std::vector<bool> seen(at(before), false);
  for (std::size_t i = 0; i < u.previous.size(); ++i) {
    const index_t p = u.previous[i];
    if (p < -1 || p >= before) {
      fail("row " + std::to_string(i) + " has " + std::to_string(p) + ", outside [-1, " +
           std::to_string(before) + ")");
    }
    if (p >= 0 && seen[at(p)]) fail("row " + std::to_string(p) + " occurs twice");
    if (p >= 0) seen[at(p)] = true;
  }
}

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
  const auto rows_changed = static_cast<std::int64_t>(changed.size());
  // So many changes exceed every allowance: a new order has to be computed anyway.
  if (rows_changed > n / 4) return order_anew(a, s, threads, rows_changed, next, new_order);
  repaired r = repaired_order(s, last.tree, u.previous, changed,
                              threads > 1 ? piece_of_tree(n, threads) : 0);
  // The changed rows of an unsymmetric pattern do not show both ends of an edge.
  if (!next.symmetric || !last.symmetric) r.subtrees.kept.clear();
  next.tree = tree_of_order(s, std::move(r.order), std::move(r.subtrees), threads);
  next.touched = touched_vertices(last.touched, u.previous, changed, n);
  next.allowance = last.allowance;
  // Without moves the postorder may still exchange subtrees.
  const bool is_kept = r.moved.empty() && is_same_sequence(next.tree.order, last.tree, u.previous);
  order_update done{is_kept ? order_change::kept : order_change::moved, rows_changed,
                    static_cast<std::int64_t>(r.moved.size()), 0};
  if (next.allowance.admits(n, rows_changed, next.tree.operations)) return done;
  if (next.allowance.may_put_off(next.tree.operations)) {
    done.vertices_reordered = reorder_subtrees(s, new_order, threads, next);
    if (done.vertices_reordered > 0) done.kind = order_change::reordered;
    if (done.vertices_reordered > 0 && next.allowance.put_off(next.tree.operations)) return done;
  }
  ordered_tree anew = tree_of_order(s, new_order(a), {}, threads);
  done.compared = true;
  if (next.allowance.compare(next.tree.operations, anew.operations)) return done;
  next.tree = std::move(anew);
  next.touched.assign(at(n), false);
  return {order_change::new_order, rows_changed, 0, n, true};
}

}  // namespace

order_update update_order(
    const pattern_view& a, const analysis_options& options, updating& u,
    const std::function<std::vector<index_t>(const pattern_view&)>& new_order) {
  const index_t n = a.n_rows;
  const int threads = host_threads(options);
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
  return order_anew(a, s, threads, n, next, new_order);
}

}  // namespace gsofa::library
