#pragma once

#include <span>
#include <vector>

#include "common/pattern.hpp"

namespace gsofa {

/// Vertices of a forest by height: vertices without children have height 0; any other vertex has
/// the largest height of its children plus one. Vertices of one height are independent of each
/// other.
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

/// Entries of chol(A + A^T) off the diagonal.
struct cholesky_counts {
  std::vector<index_t> columns;  ///< below the diagonal of each column
  std::vector<index_t> rows;     ///< left of the diagonal of each row
};

/// The counts for a square A, its transpose `t` and the elimination tree of A + A^T. columns[k]
/// bounds the entries of column k of L below the diagonal and of row k of U right of the diagonal;
/// for a symmetric pattern the bounds are attained. Counts the row subtrees that contain a vertex
/// (Gilbert, Ng & Peyton 1994): O(nnz alpha(n)) time, 28 bytes per vertex in addition to the
/// result. weight: in `columns`, row i counts weight[i] times; empty: once.
cholesky_counts counts_of_cholesky(const pattern_view& a, const pattern_view& t,
                                   std::span<const index_t> parent,
                                   std::span<const index_t> weight = {});

}  // namespace gsofa
