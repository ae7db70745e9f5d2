#pragma once

#include <span>

#include "common/pattern.hpp"

namespace gsofa {

/// What an order costs the factorization.
struct order_quality {
  offset_t nnz_l = 0;  ///< strictly lower part
  offset_t nnz_u = 0;  ///< upper part with the diagonal
  double flops = 0;    ///< of A = L U: a division and two operations for each update of an entry
  index_t height = 0;  ///< of the elimination tree of A + A^T, in vertices
};

/// Of the order (old index by new position) of a square pattern with structurally nonzero diagonal,
/// after the postorder that changes none of it: exact, by counting the entries
/// (cpu_bitmap_panels) on so many host threads. With l_k entries below the diagonal in column k of
/// L and u_k to its right in row k of U, the elimination of k takes l_k + 2 l_k u_k operations.
order_quality quality_of(const pattern_view& a, std::span<const index_t> order, int threads);

}  // namespace gsofa
