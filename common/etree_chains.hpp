#pragma once

#include <span>
#include <vector>

#include "common/ordering.hpp"
#include "common/pattern.hpp"

namespace gsofa {

/// An order (old vertex by position) with a separator tree.
struct tree_order {
  std::vector<index_t> order;
  separator_tree tree;
};

/// An equivalent order, and a separator tree, from the elimination tree of A + A^T in this order:
/// leaves are the maximal subtrees of at most `most` vertices, separators are chains of the
/// vertices above, each up to the vertex where two large subtrees meet.
tree_order tree_of_chains(const pattern_view& a, std::span<const index_t> order, index_t most);

}  // namespace gsofa
