// Direction: rearranges an order inside its nodes for A = L U of an unsymmetric pattern.
//
// Once all vertices before a node are eliminated, the reduced graph of the node and of the vertices
// after it does not depend on the order of the eliminated vertices (Rose & Tarjan 1978). So each
// node can be ordered on its own, its operations are counted exactly, and their sum is the count of
// the factorization. Each node keeps the cheaper of two orders: its own, and that of least
// Markowitz products.
//
//  1. run()             a multifrontal elimination of bits visits all nodes
//  2. merge_subtrees()  small subtrees, as one node each, keep the cheaper of their order and that
//                       of least Markowitz products; their fronts have entries of A only
//
// Cost of a node with s vertices and f vertices in its front: at most s^2 f / 64 words for the
// Markowitz order, and in 1 about f^2 / 64 words for the reduced graph that it leaves.

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

// Subtrees of at most this many vertices are merged.
constexpr index_t most_of_subtree[] = {128, 512, 2048};
// Larger nodes are ordered in parts.
constexpr index_t most_of_node = 4096;
// Larger components stay with the rest of the graph if not all components are eliminated first.
constexpr index_t most_of_end = 128;
// direction=best compares the fill of this many pivots.
constexpr int candidates_of_best = 16;
// Limits of memory: vertices of a front, 128 MiB of bits, and bits of all fronts, 8 GiB. (Reduced
// graphs of several nodes wait at the same time.)
constexpr index_t most_of_front = 1 << 15;
constexpr double most_bits = 8.0 * (offset_t{8} << 30);

// Positions of the vertices after a node that are joined to it by an edge or by a path through
// vertices of its subtree, ascending; by node.
using boundary_lists = std::vector<std::vector<index_t>>;

// The nodes of a separator tree, with the operations of each. Vertices are numbered by the given
// order.
class director {
 public:
  director(const pattern_view& a, tree_order o, int candidates)
      : candidates_(candidates),
        order_(std::move(o.order)),
        tree_(split_nodes(o.tree, most_of_node)),
        a_(permute(a, order_, order_)),
        t_(transpose(a_)),
        sequence_(identity_order(a.n_rows)),
        waiting_(nodes()),
        before_(nodes(), 0),
        flops_(nodes(), 0) {
    find_boundaries();
  }

  [[nodiscard]] bool fits() const {
    double bits = 0;
    for (std::size_t k = 0; k < nodes(); ++k) {
      const index_t vertices = size(k) + static_cast<index_t>(boundary_[k].size());
      if (vertices > most_of_front) return false;
      bits += static_cast<double>(vertices) * vertices;
    }
    return bits <= most_bits;
  }

  // Orders each node once. Nodes of one height do not depend on each other.
  void run(int threads) {
    const forest_levels levels = levels_of_forest(tree_.parent);
    std::vector<std::vector<index_t>> local(at(threads));
    for (std::size_t h = 0; h + 1 < levels.begin.size(); ++h) {
      const index_t begin = levels.begin[h];
      parallel_ranges(threads, levels.begin[h + 1] - begin, index_t{1},
                      [&](int thread, index_t from, index_t to) {
                        local[at(thread)].resize(order_.size(), -1);
                        for (index_t i = from; i < to; ++i) {
                          visit(at(levels.vertices[at(begin + i)]), local[at(thread)]);
                        }
                      });
    }
  }

  // Makes each subtree of at most `most` vertices one node if that lowers its operations.
  void merge_subtrees(index_t most, int threads) {
    std::vector<index_t> head = heads_of_subtrees(tree_, most);
    std::vector<std::pair<std::size_t, std::size_t>> subtrees;  // first and last node
    for (std::size_t k = 0, first = 0; k < nodes(); first = ++k) {
      while (at(head[k]) != k) ++k;
      if (first < k) subtrees.emplace_back(first, k);
    }
    std::vector<std::vector<index_t>> local(at(threads));
    parallel_ranges(threads, subtrees.size(), std::size_t{1},
                    [&](int thread, std::size_t from, std::size_t to) {
                      local[at(thread)].resize(order_.size(), -1);
                      for (std::size_t i = from; i < to; ++i) {
                        const auto [first, last] = subtrees[i];
                        if (merge(first, last, local[at(thread)])) continue;
                        std::iota(head.begin() + static_cast<std::ptrdiff_t>(first),
                                  head.begin() + static_cast<std::ptrdiff_t>(last) + 1,
                                  static_cast<index_t>(first));
                      }
                    });
    std::size_t kept = 0;
    for (std::size_t k = 0; k < nodes(); ++k) {
      if (at(head[k]) == k) flops_[kept++] = flops_[k];
    }
    flops_.resize(kept);
    tree_ = merge_nodes(tree_, head);
  }

  [[nodiscard]] double flops_before() const {
    return std::accumulate(before_.begin(), before_.end(), 0.0);
  }
  [[nodiscard]] double flops_after() const {
    return std::accumulate(flops_.begin(), flops_.end(), 0.0);
  }
  [[nodiscard]] tree_order result() const {
    tree_order o{{}, tree_};
    for (const index_t v : sequence_) o.order.push_back(order_[at(v)]);
    return o;
  }

 private:
  // What a node leaves: the reduced graph of its boundary.
  struct remainder {
    std::size_t node;
    bit_rows rows;
  };

  [[nodiscard]] std::size_t nodes() const { return tree_.parent.size(); }
  [[nodiscard]] index_t size(std::size_t k) const { return tree_.start[k + 1] - tree_.start[k]; }

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
    if (size(k) == 0) return;
    const auto members = std::span(sequence_).subspan(at(tree_.start[k]), at(size(k)));
    front f = edges_of(members, boundary_[k], local);
    add_children(k, f, local);
    forget(members, boundary_[k], local);
    markowitz search(f);
    before_[k] = f.eliminate();
    flops_[k] = reorder(members, search, before_[k]);
    if (boundary_[k].empty()) return;
    remainder left{k, f.boundary_rows()};
    const std::scoped_lock lock(mutex_);
    waiting_[above_[k]].push_back(std::move(left));
  }

  // False if the nodes of a subtree are better off as they are.
  bool merge(std::size_t first, std::size_t last, std::vector<index_t>& local) {
    const index_t begin = tree_.start[first];
    const index_t end = tree_.start[last + 1];
    const auto members = std::span(sequence_).subspan(at(begin), at(end - begin));
    std::vector<index_t> boundary;
    const auto add = [&](std::span<const index_t> list) {
      for (const index_t v : list) {
        if (v < end || std::exchange(local[at(v)], 0) == 0) continue;
        boundary.push_back(v);
      }
    };
    for (const index_t v : members) add(a_.row(v)), add(t_.row(v));
    std::ranges::sort(boundary);
    if (end - begin + static_cast<index_t>(boundary.size()) > most_of_front) {
      forget(members, boundary, local);
      return false;
    }
    const front f = edges_of(members, boundary, local);
    forget(members, boundary, local);
    double separate = 0;
    for (std::size_t k = first; k <= last; ++k) separate += flops_[k];
    markowitz search(f);
    const double merged = reorder(members, search, separate);
    if (merged == separate) return false;
    flops_[last] = merged;
    return true;
  }

  // Returns the operations of the better order; the order of `members` needs `flops`.
  double reorder(std::span<index_t> members, markowitz& search, double flops) const {
    const markowitz_order other = search.order(flops, candidates_);
    if (other.order.empty()) return flops;
    const std::vector<index_t> old(members.begin(), members.end());
    for (std::size_t i = 0; i < old.size(); ++i) members[i] = old[at(other.order[i])];
    return other.flops;
  }

  // The front of a node with edges of A; vertices have numbers in `local` then.
  front edges_of(std::span<const index_t> members, std::span<const index_t> boundary,
                 std::vector<index_t>& local) const {
    front f(static_cast<index_t>(members.size()), static_cast<index_t>(boundary.size()));
    index_t number = 0;
    for (const index_t v : members) local[at(v)] = number++;
    for (const index_t v : boundary) local[at(v)] = number++;
    for (const index_t v : members) {
      for (const index_t w : a_.row(v)) {
        if (local[at(w)] >= 0) f.rows.set(local[at(v)], local[at(w)]);
      }
      for (const index_t w : t_.row(v)) {
        if (local[at(w)] >= 0) f.rows.set(local[at(w)], local[at(v)]);
      }
    }
    return f;
  }

  void add_children(std::size_t k, front& f, const std::vector<index_t>& local) {
    std::vector<index_t> to;
    for (const remainder& r : waiting_[k]) {
      to.clear();
      for (const index_t v : boundary_[r.node]) to.push_back(local[at(v)]);
      f.add(r.rows, to);
    }
    std::vector<remainder>().swap(waiting_[k]);
  }

  static void forget(std::span<const index_t> members, std::span<const index_t> boundary,
                     std::vector<index_t>& local) {
    for (const index_t v : members) local[at(v)] = -1;
    for (const index_t v : boundary) local[at(v)] = -1;
  }

  int candidates_;
  std::vector<index_t> order_;  // as it was: vertices are numbered by it
  separator_tree tree_;
  pattern a_;
  pattern t_;
  std::vector<index_t> sequence_;  // the new order
  boundary_lists boundary_;
  std::vector<std::size_t> above_;  // the node of the first vertex of the boundary
  std::mutex mutex_;
  std::vector<std::vector<remainder>> waiting_;  // by the node that assembles them
  std::vector<double> before_;                   // operations by node of the first tree
  std::vector<double> flops_;                    // by node
};

}  // namespace

std::optional<directed_order> direct(const pattern_view& a, const ordering& o, int threads,
                                     int candidates) {
  if (a.n_rows != a.n_cols) throw input_error("direction: the pattern is not square");
  tree_order now{o.order, o.separators};
  if (o.separators.empty()) now = tree_of_chains(a, o.order, most_of_subtree[0]);
  director d(a, std::move(now), candidates);
  if (!d.fits()) return std::nullopt;
  d.run(threads);
  for (const index_t most : most_of_subtree) d.merge_subtrees(most, threads);
  directed_order result{
      .order = o, .flops_before = d.flops_before(), .flops_after = d.flops_after()};
  now = d.result();
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
              "separator tree (nodes), after the block triangular form (btf), or the best of "
              "several ways (best)",
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
  if (largest < a.n_rows) {
    if (largest > most_of_end) consider(order_by_components(a, most_of_end, method));
    consider(order_by_components(a, a.n_rows, method));
  }
  best.separators = {};  // chains of the new order are other nodes
  std::optional<directed_order> found = direct(a, best, threads, candidates_of_best);
  return found ? std::move(found->order) : best;
}

}  // namespace gsofa::orders
