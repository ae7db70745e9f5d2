#pragma once

#include <vector>

#include "common/pattern.hpp"

namespace gsofa {

/// Properties of L and U that need no list of their entries.
struct factor_profile {
  std::vector<index_t> l_col_counts;  ///< n; entries of each column of L below the diagonal
  index_t cells = 0;                  ///< cells in each direction of `density`
  /// cells x cells, by rows: the number of entries of L + U in each cell; entry (i, j) is in cell
  /// (cell_of(i), cell_of(j)). Empty if cells is 0.
  std::vector<offset_t> density;
};

/// The cell of a row or column of a matrix of order n.
constexpr index_t cell_of(index_t v, index_t n, index_t cells) {
  return static_cast<index_t>(offset_t{v} * cells / n);
}

/// The first v in cell c, or n if c is `cells`.
constexpr index_t first_of_cell(index_t c, index_t n, index_t cells) {
  return static_cast<index_t>((offset_t{c} * n + cells - 1) / cells);
}

/// The profile of L (strictly lower) and U (with the diagonal) from their rows. O(nnz).
factor_profile profile_of(const pattern_view& l, const pattern_view& u, index_t cells);

}  // namespace gsofa
