#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "common/ordering.hpp"
#include "common/pattern.hpp"

namespace gsofa::partition {

/// The position of a node's vertices in the order of a partition_tree.
enum class tree_layout {
  nested,    ///< left subtree, right subtree, separator, as METIS_NodeND numbers them
  by_level,  ///< the deepest level from left to right, then the level above, ..., the root last
};

/// A full binary tree over an order: domains in its leaves, separators in its inner nodes. Any node
/// may be empty. No entry of A + A^T joins the two subtrees of a node.
struct partition_tree {
  int levels = 1;
  tree_layout layout = tree_layout::nested;
  std::vector<index_t> size;   ///< vertices of each of the 2^levels - 1 nodes, leaves first
  std::vector<index_t> order;  ///< old index by new position
};

/// Maximum number of levels of a tree.
inline constexpr int most_levels = 24;

/// Place of the k-th node from the left at `depth` (0: the root) of a tree with leaves first.
constexpr std::size_t node_place(int levels, int depth, std::size_t k) {
  return (std::size_t{1} << levels) - (std::size_t{2} << depth) + k;
}

/// The separator tree of an order as a full binary tree. The children of a node with more than two
/// children form two groups of about equal weight, joined by nodes with empty separators;
/// components and several roots are divided likewise. A node with one child that has children
/// itself is merged with this child into one separator. Everything deeper than `levels` is one
/// domain; a part that is not dissected as deep is the leftmost domain below its node. Within a
/// node vertices keep their order. The fill of A equals that of the given order: a vertex moves
/// only past vertices with which it shares no path through later vertices. O(n + m levels log m)
/// for m nodes. Throws input_error unless 1 <= levels <= most_levels.
/// weights: of the vertices; empty: all are 1.
partition_tree binary_tree(const ordering& o, int levels, tree_layout layout,
                           std::span<const index_t> weights = {});

/// The same for an order without a separator tree: the nodes are the chains of the elimination tree
/// of A + A^T. Vertices are renumbered by a postorder, which changes no fill. `a` is square.
partition_tree tree_of_etree(const pattern_view& a, std::span<const index_t> order, int levels,
                             tree_layout layout);

/// The entries of A that join two nodes of which neither is an ancestor of the other: 0 if the tree
/// separates. `a` is square. Throws input_error if the sizes do not add up to its order, or the
/// order is no permutation.
offset_t crossing_entries(const pattern_view& a, const partition_tree& t);

}  // namespace gsofa::partition
