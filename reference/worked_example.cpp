#include "reference/worked_example.hpp"

#include <vector>

namespace gsofa::reference {

pattern worked_example() {
  // Row 0: |U(0,:)| = 3, and |U(1,:)| = 2 with 0 the only neighbour of 1, so that U(0,:) holds 1
  // and, for the fill edge (1,5), 5. Vertex 6 must not be reachable from 8 through vertices below 8
  // ((8,6) is no fill-in), so no row among 0..5, 7 has a nonzero in column 6. |U(3,:)| is not 3.
  // The supplement's preprocessed matrix has 4 nonzeros in column 2, and 5 in column 7.
  static const std::vector<std::vector<index_t>> neighbours = {
      /* 0 */ {0, 1, 5},
      /* 1 */ {0, 1},
      /* 2 */ {2, 3, 5, 7},
      /* 3 */ {3, 4},
      /* 4 */ {4, 7},
      /* 5 */ {3, 5},
      /* 6 */ {1, 6, 7, 9},
      /* 7 */ {2, 4, 7},
      /* 8 */ {1, 2, 7, 8, 9},
      /* 9 */ {2, 6, 8, 9},
  };
  pattern a;
  a.n_rows = a.n_cols = worked::order;
  for (const auto& row : neighbours) {
    a.col_idx.insert(a.col_idx.end(), row.begin(), row.end());
    a.row_ptr.push_back(static_cast<offset_t>(a.col_idx.size()));
  }
  return a;
}

}  // namespace gsofa::reference
