#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/etree_chains.hpp"
#include "common/ordering.hpp"
#include "common/pattern.hpp"

namespace gsofa::orders {

/// For each node, the highest node above it, or itself, whose subtree has at most `most` vertices
/// and consecutive nodes; the node itself if there is no such subtree.
std::vector<index_t> heads_of_subtrees(const separator_tree& t, index_t most);

/// The tree in which all nodes with the same head, consecutive nodes, are one node.
separator_tree merge_nodes(const separator_tree& t, std::span<const index_t> head);

/// The tree in which no node has more than `most` vertices: consecutive parts of a larger node are
/// a chain of nodes.
separator_tree split_nodes(const separator_tree& t, index_t most);

}  // namespace gsofa::orders
