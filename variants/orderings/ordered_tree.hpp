#pragma once

#include <span>
#include <vector>

#include "common/pattern.hpp"

namespace gsofa {

/// An order of a symmetric pattern that is a postorder of its elimination tree, that tree, and the
/// counts of the Cholesky factor.
struct ordered_tree {
  std::vector<index_t> order;       ///< vertex by position
  std::vector<index_t> parent;      ///< of each position; -1: root
  std::vector<index_t> counts;      ///< entries below the diagonal of each column
  std::vector<index_t> row_counts;  ///< entries left of the diagonal of each row
  offset_t entries = 0;             ///< the sum of counts c
  double operations = 0;            ///< of A = L U with these counts: the sum of c + 2 c^2
};

/// The tree of `order` for a symmetric pattern `s` with any diagonal; the result has the order
/// postordered, which changes no fill. O(nnz log n) time. weight: vertices that each vertex of `s`
/// is, all with one closed neighbourhood; `entries`, `operations` and counts are theirs, `counts`
/// of the last one.
ordered_tree tree_of_order(const pattern_view& s, const std::vector<index_t>& order,
                           std::span<const index_t> weight = {});

}  // namespace gsofa
