#include "harness/library/cpp/update.hpp"

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

// Whether the vertices of `order` have the same sequence in the order of `before`.
bool is_same_sequence(std::span<const index_t> order, const ordered_tree& before,
                      std::span<const index_t> previous) {
  const std::vector<index_t> place = inverse_permutation(before.order);
  return std::ranges::is_sorted(
      order, {}, [&](index_t v) { return place[at(previous.empty() ? v : previous[at(v)])]; });
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
  return u.last && u.last->order == options.order && u.last->match == options.match &&
         u.last->device == options.device && (!u.previous.empty() || u.last->rows.n_rows == n);
}

// Sets u.next->tree to the order adapted from u.last, or to a new one if that is better.
order_update adapt_order(const pattern_view& a, const pattern_view& s, int threads, updating& u,
                         const std::function<std::vector<index_t>()>& new_order) {
  const update_history& last = *u.last;
  update_history& next = *u.next;
  const index_t n = a.n_rows;
  const auto changed = changed_rows(a, last.rows, u.previous, threads);
  const auto rows_changed = static_cast<std::int64_t>(changed.size());
  repaired r = repaired_order(s, last.tree, u.previous, changed);
  next.tree = tree_of_order(s, r.order);
  next.rows_changed = last.rows_changed + rows_changed;
  next.operations = last.operations;
  // Without moves the postorder may still exchange subtrees.
  const bool is_kept = r.moved.empty() && is_same_sequence(next.tree.order, last.tree, u.previous);
  order_update done{is_kept ? order_change::kept : order_change::moved, rows_changed,
                    static_cast<std::int64_t>(r.moved.size())};
  if (!needs_comparison(n, next.rows_changed, next.tree.operations, next.operations)) return done;
  ordered_tree anew = tree_of_order(s, new_order());
  if (anew.operations < next.tree.operations) {
    next.tree = std::move(anew);
    done = {order_change::new_order, rows_changed, 0};
  }
  done.compared = true;
  next.rows_changed = 0;
  next.operations = next.tree.operations;
  return done;
}

}  // namespace

order_update update_order(const pattern_view& a, const analysis_options& options, updating& u,
                          const std::function<std::vector<index_t>()>& new_order) {
  const index_t n = a.n_rows;
  const int threads = host_threads(options);
  update_history& next = u.next.emplace();
  next.order = options.order;
  next.match = options.match;
  next.device = options.device;
  next.rows.n_rows = next.rows.n_cols = n;
  copy(a.row_ptr, threads, next.rows.row_ptr);
  copy(a.col_idx, threads, next.rows.col_idx);
  pattern sum;
  pattern_view s = a;
  const bool symmetric = is_symmetric(a, threads);
  if (!symmetric) s = sum = symmetrized(a, diagonal::drop, threads);
  u.counts = symmetric && wants_counts_alone(options);
  if (may_adapt(u, options, n)) return adapt_order(a, s, threads, u, new_order);
  next.tree = tree_of_order(s, new_order());
  next.operations = next.tree.operations;
  return {order_change::new_order, n};
}

}  // namespace gsofa::library
