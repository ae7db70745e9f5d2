#pragma once

#include <atomic>
#include <span>

#include "common/pattern.hpp"

namespace gsofa {

/// The cost of the factorization in an order.
struct order_quality {
  offset_t nnz_l = 0;         ///< strictly lower part
  offset_t nnz_u = 0;         ///< upper part with the diagonal
  double flops = 0;           ///< for A = L U: one per division, two per update of an entry
  index_t height = 0;         ///< of the elimination tree of A + A^T, in vertices
  double critical_path = 0;   ///< the most operations on a path of the tree from a leaf to a root
  index_t largest_front = 0;  ///< the most rows or columns of a frontal matrix
  /// The most entries that a multifrontal factorization holds at a time: the front, the stacked
  /// contributions (Liu 1992), and the factors so far. Fronts are those of fundamental supernodes.
  offset_t peak_entries = 0;
};

/// The quality of an order (old index by new position) of a square pattern with structurally
/// nonzero diagonal: exact, by counting the entries (cpu_bitmap_panels) on `threads` host threads.
/// The counts are made after a postorder, which does not change them. With l_k entries below the
/// diagonal in column k of L and u_k to its right in row k of U, the elimination of k takes l_k + 2
/// l_k u_k operations. Throws cancelled_error soon after *stop has become true.
order_quality quality_of(const pattern_view& a, std::span<const index_t> order, int threads,
                         const std::atomic<bool>* stop = nullptr);

/// Sets what the elimination tree of a postordered pattern says: height, critical_path,
/// largest_front and peak_entries. Of each pivot: its parent, or -1; the entries of its column of
/// L; those of its row of U with the diagonal.
void count_fronts(std::span<const index_t> parent, std::span<const index_t> columns_of_l,
                  std::span<const index_t> rows_of_u, order_quality& q);

}  // namespace gsofa
