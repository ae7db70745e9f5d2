#pragma once

/// A row permutation for static pivoting: the perfect matching of rows and columns that maximizes
/// the product of the magnitudes on the diagonal, and scales that make every matched entry 1 and no
/// entry larger, in magnitude (Duff & Koster, SIAM J. Matrix Anal. Appl. 22(4), 2001; option 5 of
/// MC64).

#include <cstdint>
#include <vector>

#include "harness/library/example/static_lu.hpp"

namespace supplement {

struct weighted_matching {
  std::vector<std::int32_t> row_of_column;  ///< n; entry (row_of_column[j], j) is matched
  std::vector<double> row_scale;            ///< n
  std::vector<double> col_scale;            ///< n; |a_ij| row_scale[i] col_scale[j] <= 1
};

/// With c_ij = log max_k |a_ik| - log |a_ij| >= 0 the product is maximal iff the sum of the matched
/// c_ij is minimal: n shortest augmenting paths with reduced costs c_ij - u_i - v_j >= 0, which are
/// 0 on matched entries. The duals give the scales. O(n (nnz + n log n)) at worst; most rows are
/// matched before the first path. Zeros count as absent. Throws std::runtime_error if every perfect
/// matching has a zero.
weighted_matching maximum_product_matching(const static_lu::matrix& a);

}  // namespace supplement
