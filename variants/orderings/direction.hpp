#pragma once

#include <span>
#include <vector>

#include "common/ordering.hpp"
#include "common/pattern.hpp"

namespace gsofa::orders {

/// An order, and the operations of the exact factorization A = L U before and after it was
/// rearranged: as order_quality::flops.
struct directed_order {
  ordering order;
  double flops_before = 0;
  double flops_after = 0;  ///< at most flops_before
};

/// Rearranges an order of a square unsymmetric pattern inside the nodes of its separator tree, or,
/// if it has none, inside chains and small subtrees of the elimination tree of A + A^T. The
/// factorization of A + A^T keeps its fill if a node is a supernode of it; the factorization A = L
/// U never needs more operations. The result depends on the pattern and the order alone. A missing
/// diagonal entry counts as present. Throws input_error if a is not square, std::bad_alloc.
directed_order direct(const pattern_view& a, ordering o);

/// The order with the fewest operations of A = L U that direct() finds; `o` itself if A is
/// symmetric. Never more operations than `o`.
ordering best_direction(const pattern_view& a, ordering o, int threads);

}  // namespace gsofa::orders
