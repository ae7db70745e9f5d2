#pragma once

#include <vector>

#include "common/pattern.hpp"

namespace gsofa::matchings {

/// Pairs of rows and columns; -1: not matched.
struct pairs {
  std::vector<index_t> row_of_col, col_of_row;

  explicit pairs(index_t n) : row_of_col(at(n), -1), col_of_row(at(n), -1) {}
  void match(index_t i, index_t j) {
    row_of_col[at(j)] = i;
    col_of_row[at(i)] = j;
  }
};

/// Augments a matching of `a` to maximum cardinality along shortest paths (Hopcroft & Karp 1973):
/// O(sqrt(n) nnz). Matched rows and columns stay matched.
void augment(const pattern_view& a, pairs& m);

}  // namespace gsofa::matchings
