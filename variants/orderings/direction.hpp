#pragma once

#include <optional>
#include <vector>

#include "common/ordering.hpp"
#include "common/pattern.hpp"

namespace gsofa::orders {

/// An order that was rearranged, and the operations of the exact factorization A = L U before and
/// after: those of order_quality::flops.
struct directed_order {
  ordering order;  ///< its separator tree has merged nodes; empty if the input's tree was empty
  double flops_before = 0;
  double flops_after = 0;  ///< at most flops_before
};

/// Rearranges an order of a square pattern for A = L U, inside the nodes of its separator tree and
/// inside small subtrees of this tree. If the order has no separator tree, a tree of chains of the
/// elimination tree of A + A^T replaces it. Never increases the operations of A = L U. The result
/// depends on the pattern and the order only. Counts a missing diagonal entry as present. Returns
/// nullopt if a node with its boundary exceeds 32,768 vertices. Throws input_error if a is not
/// square, std::bad_alloc, error if the system refuses a thread. Cost: about 1 to 4 times that of
/// quality_of().
std::optional<directed_order> direct(const pattern_view& a, const ordering& o, int threads);

/// The order that direct() returns; `o` itself if A is symmetric or if direct() cannot improve `o`.
ordering best_direction(const pattern_view& a, ordering o, int threads);

}  // namespace gsofa::orders
