// Direction: rearranges an order inside its nodes for A = L U of an unsymmetric pattern.
//
// Once all vertices before a node are eliminated, the reduced graph of the node and of the vertices
// after it does not depend on the order of the eliminated vertices (Rose & Tarjan 1978). So each
// node can be ordered on its own, its operations are counted exactly, and their sum is the count of
// the factorization. Each node keeps the cheaper of two orders: its own, and that of least
// Markowitz products.
//
// The passes merge larger and larger subtrees of the separator tree to one node each: more freedom
// for the Markowitz order, which wins less often then.
//
// A pass is a multifrontal elimination of bits. Cost of a node with s vertices and f vertices in
// its front: at most s^2 f / 64 words for the Markowitz order and f^2 / 64 words for its remainder.

#include "variants/orderings/direction.hpp"

#include <algorithm>
#include <limits>
#include <mutex>
#include <numeric>
#include <utility>

#include "common/elimination_forest.hpp"
#include "common/parallel.hpp"
#include "common/preprocess.hpp"
#include "variants/orderings/direction_front.hpp"
#include "variants/orderings/direction_nodes.hpp"

namespace gsofa::orders {

namespace {

// Each pass orders subtrees of at most this many vertices as one node.
constexpr index_t most_of_subtree[] = {128, 512, 2048};
// Larger nodes are ordered in parts.
constexpr index_t most_of_node = 4096;
// Larger components stay with the rest of the graph if not all components are eliminated first.
constexpr index_t most_of_end = 128;
// Vertices of a node and its boundary: 128 MiB of bits.
constexpr index_t most_of_front = 1 << 15;

// Positions of the vertices after a node that are joined to it by an edge or by a path through
// vertices of its subtree, ascending; by node.
using boundary_lists = std::vector<std::vector<index_t>>;

// One pass over the nodes of a tree.
class director {
 public:
  director(const pattern_view& a, std::span<index_t> order, const separator_tree& tree)
      : order_(order),
        tree_(split_nodes(tree, most_of_node)),
        a_(permute(a, order, order)),
        t_(transpose(a_)),
        waiting_(nodes()),
        results_(nodes()) {
    find_boundaries();
  }

  [[nodiscard]] bool is_possible() const {
    for (std::size_t k = 0; k < nodes(); ++k) {
      if (own(k) + static_cast<index_t>(boundary_[k].size()) > most_of_front) return false;
    }
    return true;
  }

  void run(int threads) {
    const forest_levels levels = levels_of_forest(tree_.parent);
    std::vector<std::vector<index_t>> local(at(threads));
    for (std::size_t h = 0; h + 1 < levels.begin.size(); ++h) {
      const index_t begin = levels.begin[h];
      parallel_ranges(threads, levels.begin[h + 1] - begin, index_t{1},
                      [&](int thread, index_t from, index_t to) {
                        local[at(thread)].resize(order_.size());
                        for (index_t i = from; i < to; ++i) {
                          visit(at(levels.vertices[at(begin + i)]), local[at(thread)]);
                        }
                      });
    }
  }

  // Operations before and after, and whether a position has another vertex now.
  [[nodiscard]] std::pair<double, double> flops() const {
    std::pair<double, double> sum;
    for (const outcome& r : results_) sum.first += r.before, sum.second += r.after;
    return sum;
  }
  [[nodiscard]] bool is_changed(index_t begin, index_t end) const {
    const auto node = std::ranges::upper_bound(tree_.start, begin) - tree_.start.begin() - 1;
    for (std::size_t k = at(node); k < nodes() && tree_.start[k] < end; ++k) {
      if (results_[k].after < results_[k].before) return true;
    }
    return false;
  }

 private:
  // What a node leaves: the reduced graph of its boundary.
  struct remainder {
    std::size_t node;
    bit_rows rows;
  };
  struct outcome {
    double before = 0;
    double after = 0;
  };

  [[nodiscard]] std::size_t nodes() const { return tree_.parent.size(); }
  [[nodiscard]] index_t own(std::size_t k) const { return tree_.start[k + 1] - tree_.start[k]; }

  void find_boundaries() {
    boundary_.resize(nodes());
    above_.resize(nodes());
    std::vector<index_t> node_of(order_.size());
    std::vector<std::vector<std::size_t>> children(nodes());
    std::vector<std::size_t> seen(order_.size(), nodes());
    for (std::size_t k = 0; k < nodes(); ++k) {
      std::fill(node_of.begin() + tree_.start[k], node_of.begin() + tree_.start[k + 1],
                static_cast<index_t>(k));
    }
    for (std::size_t k = 0; k < nodes(); ++k) {
      const index_t end = tree_.start[k + 1];
      const auto add = [&](std::span<const index_t> list) {
        for (const index_t v : list) {
          if (v < end || std::exchange(seen[at(v)], k) == k) continue;
          boundary_[k].push_back(v);
        }
      };
      for (index_t v = tree_.start[k]; v < end; ++v) add(a_.row(v)), add(t_.row(v));
      for (const std::size_t child : children[k]) add(boundary_[child]);
      std::ranges::sort(boundary_[k]);
      if (boundary_[k].empty()) continue;
      above_[k] = at(node_of[at(boundary_[k].front())]);
      children[above_[k]].push_back(k);
    }
  }

  void visit(std::size_t k, std::vector<index_t>& local) {
    if (own(k) == 0) return;
    front f = assemble(k, local);
    std::vector<remainder>().swap(waiting_[k]);
    const markowitz_order other = own(k) > 1 ? order_by_markowitz(f) : markowitz_order{};
    outcome& result = results_[k];
    result.before = f.eliminate();
    result.after = result.before;
    if (!other.order.empty() && other.flops < result.before) {
      result.after = other.flops;
      const auto mine = order_.subspan(at(tree_.start[k]), at(own(k)));
      const std::vector<index_t> old(mine.begin(), mine.end());
      for (std::size_t i = 0; i < old.size(); ++i) mine[i] = old[at(other.order[i])];
    }
    if (boundary_[k].empty()) return;
    remainder left{k, f.boundary_rows()};
    const std::scoped_lock lock(mutex_);
    waiting_[above_[k]].push_back(std::move(left));
  }

  // Vertices of the node by position, then those of its boundary.
  front assemble(std::size_t k, std::vector<index_t>& local) const {
    const index_t begin = tree_.start[k];
    const index_t end = tree_.start[k + 1];
    front f(end - begin, static_cast<index_t>(boundary_[k].size()));
    for (index_t v = begin; v < end; ++v) local[at(v)] = v - begin;
    for (std::size_t i = 0; i < boundary_[k].size(); ++i) {
      local[at(boundary_[k][i])] = f.own + static_cast<index_t>(i);
    }
    for (index_t v = begin; v < end; ++v) {
      for (const index_t w : a_.row(v)) {
        if (w >= begin) f.rows.set(v - begin, local[at(w)]);
      }
      for (const index_t w : t_.row(v)) {
        if (w >= begin) f.rows.set(local[at(w)], v - begin);
      }
    }
    std::vector<index_t> to;
    for (const remainder& r : waiting_[k]) {
      to.clear();
      for (const index_t v : boundary_[r.node]) to.push_back(local[at(v)]);
      f.add(r.rows, to);
    }
    return f;
  }

  std::span<index_t> order_;
  separator_tree tree_;
  pattern a_;
  pattern t_;
  boundary_lists boundary_;
  std::vector<std::size_t> above_;  // the node of the first vertex of the boundary
  std::mutex mutex_;
  std::vector<std::vector<remainder>> waiting_;  // by the node that assembles them
  std::vector<outcome> results_;
};

// The tree after a pass: subtrees whose order has changed are one node.
separator_tree merge_changed(const director& d, const separator_tree& fine,
                             std::vector<index_t> head, const separator_tree& merged) {
  std::vector<std::uint8_t> changed;  // by merged node
  for (std::size_t k = 0; k < merged.parent.size(); ++k) {
    changed.push_back(d.is_changed(merged.start[k], merged.start[k + 1]) ? 1 : 0);
  }
  std::size_t of = 0;
  for (std::size_t k = 0; k < head.size(); ++k) {
    while (merged.start[of + 1] < fine.start[k + 1]) ++of;
    if (changed[of] == 0) head[k] = static_cast<index_t>(k);
  }
  return merge_nodes(fine, head);
}

}  // namespace

std::optional<directed_order> direct(const pattern_view& a, const ordering& o, int threads) {
  if (a.n_rows != a.n_cols) throw input_error("direction: the pattern is not square");
  tree_order now{o.order, o.separators};
  if (o.separators.empty()) now = tree_of_chains(a, o.order, most_of_subtree[0]);
  directed_order result{.order = o};
  for (const index_t most : most_of_subtree) {
    const std::vector<index_t> head = heads_of_subtrees(now.tree, most);
    const separator_tree merged = merge_nodes(now.tree, head);
    director d(a, now.order, merged);
    if (!d.is_possible()) return std::nullopt;
    d.run(threads);
    const auto [before, after] = d.flops();
    if (most == most_of_subtree[0]) result.flops_before = before;
    result.flops_after = after;
    now.tree = merge_changed(d, now.tree, head, merged);
  }
  result.order.order = std::move(now.order);
  result.order.separators = std::move(now.tree);
  return result;
}

ordering best_direction(const pattern_view& a, ordering o, int threads) {
  if (structural_symmetry(a) == 1) return o;
  std::optional<directed_order> found = direct(a, o, threads);
  return found && found->flops_after < found->flops_before ? std::move(found->order) : o;
}

option_spec direction_option() {
  return {.name = "direction",
          .default_value = std::string("none"),
          .help =
              "rearrange the order for A = L U of an unsymmetric A: inside the nodes of the "
              "separator tree, after the block triangular form (btf), or by the best of both",
          .choices = {"none", "nodes", "btf", "best"},
          .tested = {"nodes", "btf", "best"}};
}

ordering order_with_direction(const pattern_view& a, const std::string& direction, int threads,
                              const order_method& method) {
  if (direction == "none" || structural_symmetry(a) == 1) return method(a);
  if (direction == "nodes") return best_direction(a, method(a), threads);
  if (direction == "btf") {
    ordering o = order_by_components(a, a.n_rows, method);
    std::optional<directed_order> found = direct(a, o, threads);
    return found ? std::move(found->order) : o;
  }
  ordering best = method(a);
  double least = std::numeric_limits<double>::infinity();
  const auto consider = [&](const ordering& o) {
    std::optional<directed_order> found = direct(a, o, threads);
    if (!found || found->flops_after >= least) return;
    least = found->flops_after;
    best = std::move(found->order);
  };
  consider(best);
  const index_t largest = strong_components_of(a).largest();
  if (largest == a.n_rows) return best;
  if (largest > most_of_end) consider(order_by_components(a, most_of_end, method));
  consider(order_by_components(a, a.n_rows, method));
  return best;
}

}  // namespace gsofa::orders
