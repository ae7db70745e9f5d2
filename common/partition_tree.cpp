#include "common/partition_tree.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>

#include "common/etree_chains.hpp"
#include "common/preprocess.hpp"

namespace gsofa::partition {

namespace {

std::size_t node_count(int levels) { return (std::size_t{1} << levels) - 1; }

void check_levels(int levels) {
  if (levels < 1 || levels > most_levels) {
    throw input_error("a partition tree of " + std::to_string(levels) + " levels: 1 to " +
                      std::to_string(most_levels) + " are possible");
  }
}

/// Calls visit(depth, k) for each node: left subtree, right subtree, node.
template <class Visit>
void visit_postorder(int levels, int depth, std::size_t k, const Visit& visit) {
  if (depth + 1 < levels) {
    visit_postorder(levels, depth + 1, 2 * k, visit);
    visit_postorder(levels, depth + 1, 2 * k + 1, visit);
  }
  visit(depth, k);
}

/// The places of the nodes, leaves first, in the order in which their vertices stand.
std::vector<std::size_t> places_of(int levels, tree_layout layout) {
  std::vector<std::size_t> places(node_count(levels));
  if (layout == tree_layout::by_level) {
    std::iota(places.begin(), places.end(), std::size_t{0});
    return places;
  }
  std::size_t next = 0;
  visit_postorder(levels, 0, 0,
                  [&](int depth, std::size_t k) { places[next++] = node_place(levels, depth, k); });
  return places;
}

/// Gives each node of a separator tree to a node of the binary tree.
class binary_parts {
 public:
  binary_parts(const separator_tree& tree, int levels, std::span<const index_t> order,
               std::span<const index_t> weights)
      : tree_(tree), levels_(levels), parts_(node_count(levels)) {
    const std::size_t nodes = tree.parent.size();
    weight_.resize(nodes);
    own_.resize(nodes);
    first_child_.assign(nodes + 1, 0);
    std::vector<index_t> roots;
    for (std::size_t k = 0; k < nodes; ++k) {
      own_[k] = tree.start[k + 1] - tree.start[k];
      if (!weights.empty()) {
        own_[k] = 0;
        for (index_t p = tree.start[k]; p < tree.start[k + 1]; ++p) {
          own_[k] += weights[at(order[at(p)])];
        }
      }
      weight_[k] += own_[k];
      const index_t up = tree.parent[k];
      if (up < 0) {
        roots.push_back(static_cast<index_t>(k));
        continue;
      }
      weight_[at(up)] += weight_[k];
      ++first_child_[at(up) + 1];
    }
    std::partial_sum(first_child_.begin(), first_child_.end(), first_child_.begin());
    children_.resize(nodes - roots.size());
    std::vector<std::size_t> next(first_child_.begin(), first_child_.end());
    for (std::size_t k = 0; k < nodes; ++k) {
      const index_t up = tree.parent[k];
      if (up >= 0) children_[next[at(up)]++] = static_cast<index_t>(k);
    }
    divide(std::move(roots), 0, 0);
  }

  /// Nodes of the separator tree, ascending, by place with leaves first.
  [[nodiscard]] const std::vector<std::vector<index_t>>& parts() const { return parts_; }

 private:
  [[nodiscard]] std::span<const index_t> children(index_t node) const {
    return std::span(children_).subspan(first_child_[at(node)],
                                        first_child_[at(node) + 1] - first_child_[at(node)]);
  }

  void divide(std::vector<index_t> roots, int depth, std::size_t k) {
    if (roots.empty()) return;
    std::vector<index_t>& own = parts_[node_place(levels_, depth, k)];
    if (depth + 1 == levels_) {
      own = std::move(roots);
      for (std::size_t i = 0; i < own.size(); ++i) {
        const auto below = children(own[i]);
        own.insert(own.end(), below.begin(), below.end());
      }
      std::ranges::sort(own);
      return;
    }
    cut(roots, own);
    std::ranges::sort(own);
    auto [left, right, heavier] = halves(std::move(roots));
    divide(std::move(left), depth + 1, 2 * k);
    divide(std::move(right), depth + 1, 2 * k + 1);
  }

  // Takes the separator of the heaviest subtree into `own`, and that of the heaviest part of it, as
  // long as the way from `own` down to the heavier half can become shorter by more than 3 %.
  void cut(std::vector<index_t>& roots, std::vector<index_t>& own) const {
    const auto lighter = [&](index_t a, index_t b) { return weight_[at(a)] < weight_[at(b)]; };
    offset_t total = 0;
    for (const index_t r : roots) total += weight_[at(r)];
    offset_t taken = 0;
    offset_t shortest = std::get<2>(halves(roots));
    std::vector<index_t> rest = roots;  // a heap: the heaviest first
    std::ranges::make_heap(rest, lighter);
    std::vector<index_t> nodes;
    // No part that `taken` grows to has a shorter way than `taken` and half of what it leaves.
    while ((total + taken) / 2 < shortest - shortest / 32) {
      std::ranges::pop_heap(rest, lighter);
      const index_t root = rest.back();
      const auto below = children(root);
      if (below.empty()) return;
      rest.pop_back();
      for (const index_t r : below) {
        rest.push_back(r);
        std::ranges::push_heap(rest, lighter);
      }
      nodes.push_back(root);
      taken += own_[at(root)];
      const offset_t least = taken + std::max(weight_[at(rest.front())], (total - taken) / 2);
      if (least > shortest - shortest / 32) continue;
      const offset_t path = taken + std::get<2>(halves(rest));
      if (path >= shortest) continue;
      shortest = path;
      roots = rest;
      own = nodes;
    }
  }

  /// Each subtree, the heaviest first, goes to the lighter side; and the weight of the heavier
  /// side.
  [[nodiscard]] std::tuple<std::vector<index_t>, std::vector<index_t>, offset_t> halves(
      std::vector<index_t> roots) const {
    std::ranges::stable_sort(roots,
                             [&](index_t a, index_t b) { return weight_[at(a)] > weight_[at(b)]; });
    std::pair<std::vector<index_t>, std::vector<index_t>> sides;
    offset_t left = 0;
    offset_t right = 0;
    for (const index_t r : roots) {
      (left <= right ? sides.first : sides.second).push_back(r);
      (left <= right ? left : right) += weight_[at(r)];
    }
    return {std::move(sides.first), std::move(sides.second), std::max(left, right)};
  }

  const separator_tree& tree_;
  int levels_;
  std::vector<std::vector<index_t>> parts_;
  std::vector<offset_t> own_;     ///< weight of each node
  std::vector<offset_t> weight_;  ///< of each subtree
  std::vector<std::size_t> first_child_;
  std::vector<index_t> children_;
};

}  // namespace

partition_tree binary_tree(const ordering& o, int levels, tree_layout layout,
                           std::span<const index_t> weights) {
  check_levels(levels);
  // An order without a tree is one node.
  separator_tree whole;
  if (o.separators.empty()) {
    whole.start = {0, static_cast<index_t>(o.order.size())};
    whole.parent.push_back(-1);
  }
  const separator_tree& tree = o.separators.empty() ? whole : o.separators;
  const binary_parts divided(tree, levels, o.order, weights);
  partition_tree t{.levels = levels,
                   .layout = layout,
                   .size = std::vector<index_t>(node_count(levels), 0),
                   .order = {}};
  t.order.reserve(o.order.size());
  for (const std::size_t place : places_of(levels, layout)) {
    for (const index_t node : divided.parts()[place]) {
      const index_t begin = tree.start[at(node)];
      const index_t end = tree.start[at(node) + 1];
      t.size[place] += end - begin;
      t.order.insert(t.order.end(), o.order.begin() + begin, o.order.begin() + end);
    }
  }
  return t;
}

partition_tree tree_of_etree(const pattern_view& a, std::span<const index_t> order, int levels,
                             tree_layout layout) {
  tree_order chains = tree_of_chains(a, order, 0);
  ordering o{.order = std::move(chains.order),
             .method = {},
             .library = {},
             .separators = std::move(chains.tree)};
  return binary_tree(o, levels, layout);
}

offset_t crossing_entries(const pattern_view& a, const partition_tree& t) {
  check_levels(t.levels);
  validate_permutation(t.order, a.n_rows, "the order of a partition tree");
  if (t.size.size() != node_count(t.levels) ||
      std::accumulate(t.size.begin(), t.size.end(), offset_t{0}) != a.n_rows ||
      std::ranges::any_of(t.size, [](index_t s) { return s < 0; })) {
    throw input_error("the sizes of a partition tree do not add up to the order of the matrix");
  }
  // A node has number 2^depth + k, its parent half of that.
  std::vector<std::uint32_t> number(node_count(t.levels));
  for (int depth = 0; depth < t.levels; ++depth) {
    for (std::uint32_t k = 0; k < 1U << depth; ++k) {
      number[node_place(t.levels, depth, k)] = (1U << depth) + k;
    }
  }
  std::vector<std::uint32_t> node(at(a.n_rows));
  std::size_t position = 0;
  for (const std::size_t place : places_of(t.levels, t.layout)) {
    for (index_t k = 0; k < t.size[place]; ++k) node[at(t.order[position++])] = number[place];
  }
  offset_t crossing = 0;
  for (index_t i = 0; i < a.n_rows; ++i) {
    for (const index_t j : a.row(i)) {
      std::uint32_t low = std::max(node[at(i)], node[at(j)]);
      const std::uint32_t high = std::min(node[at(i)], node[at(j)]);
      while (low > high) low >>= 1U;
      crossing += low != high ? 1 : 0;
    }
  }
  return crossing;
}

}  // namespace gsofa::partition
