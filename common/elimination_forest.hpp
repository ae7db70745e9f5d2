#pragma once

#include <span>
#include <vector>

#include "common/pattern.hpp"

namespace gsofa {

/// Vertices of a forest by height: those without children have height 0, any other vertex has one
/// more than the highest of its children. Vertices of one height are independent of each other.
struct forest_levels {
  std::vector<index_t> begin{0};  ///< levels + 1
  /// vertices[begin[h] .. begin[h+1]) have height h, ascending.
  std::vector<index_t> vertices;
};

/// Throws input_error unless every parent is a later vertex, or -1 or n for a root, as in an
/// elimination tree.
void validate_forest(std::span<const index_t> parent);

/// O(n). Throws as validate_forest().
forest_levels levels_of_forest(std::span<const index_t> parent);

/// Entries of each column of chol(A + A^T) below the diagonal, for a square A, its transpose `t`
/// and the elimination tree of their sum. L has no more in that column, and row k of U no more than
/// column k has, with the diagonal one more; of a symmetric pattern they have as many. By counting
/// the row subtrees that hold a vertex (Gilbert, Ng & Peyton 1994): O(nnz alpha(n)) time, 24 bytes
/// per vertex beside the result.
std::vector<index_t> cholesky_column_counts(const pattern_view& a, const pattern_view& t,
                                            std::span<const index_t> parent);

}  // namespace gsofa
