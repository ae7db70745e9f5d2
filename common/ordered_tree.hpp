#pragma once

#include <span>
#include <vector>

#include "common/pattern.hpp"

namespace gsofa {

/// Positions begin .. end - 1.
struct index_range {
  index_t begin = 0;
  index_t end = 0;
};

/// Positions begin .. end - 1 of an order that are a subtree of an earlier tree, at positions from
/// `before`, in the same sequence and with the same edges.
struct kept_subtree {
  index_t begin = 0;
  index_t end = 0;
  index_t before = 0;
};

/// An order of a symmetric pattern that is a postorder of its elimination tree, that tree, and the
/// counts of the Cholesky factor.
struct ordered_tree {
  std::vector<index_t> order;       ///< vertex by position
  std::vector<index_t> parent;      ///< of each position; -1: root
  std::vector<index_t> counts;      ///< entries below the diagonal of each column
  std::vector<index_t> row_counts;  ///< entries left of the diagonal of each row
  double operations = 0;            ///< of A = L U with these counts: the sum of c + 2 c^2
};

/// Sizes of subtrees that keep `threads` threads busy: tree_of_order() treats a subtree of at most
/// this many vertices as one piece of work.
index_t piece_of_tree(index_t n, int threads);

/// What is known of an order; all ranges ascend and are disjoint.
struct known_subtrees {
  /// No edge joins two of these ranges. Several threads take them; a range that is not apart costs
  /// time only.
  std::vector<index_range> apart{};
  /// Subtrees of `before`, whose parents and counts are copied.
  std::vector<kept_subtree> kept{};
  const ordered_tree* before = nullptr;
};

/// The tree of `order` for a symmetric pattern `s` with any diagonal; the result has the order
/// postordered, which changes no fill. O(nnz log n) time: Liu 1990 for the tree; Gilbert, Ng &
/// Peyton 1994 for the counts, subtree by subtree. Any number of threads gives the same result.
ordered_tree tree_of_order(const pattern_view& s, std::vector<index_t> order,
                           known_subtrees known = {}, int threads = 1);

}  // namespace gsofa
