#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/ordering.hpp"
#include "common/pattern.hpp"
#include "variants/orderings/direction_components.hpp"

namespace gsofa::orders {

/// An order that was rearranged, and the operations of the exact factorization A = L U before and
/// after: those of order_quality::flops.
struct directed_order {
  ordering
      order;  ///< with a separator tree: that of the input, some of whose subtrees are one node
  double flops_before = 0;
  double flops_after = 0;  ///< at most flops_before
};

/// Rearranges an order of a square pattern for A = L U, inside the nodes of its separator tree and
/// inside small subtrees of this tree. If the order has no separator tree, tree_of_chains()
/// replaces it. Never increases the operations of A = L U. The result depends on the pattern and
/// the order only. Counts a missing diagonal entry as present. Returns nullopt if a node with its
/// boundary exceeds 32,768 vertices. Throws input_error if a is not square, std::bad_alloc, error
/// if the system refuses a thread. Cost: about 1 to 4 times that of quality_of().
std::optional<directed_order> direct(const pattern_view& a, const ordering& o, int threads,
                                     int candidates = 1);

/// The order that direct() returns; `o` itself if A is symmetric or if direct() cannot improve `o`.
ordering best_direction(const pattern_view& a, ordering o, int threads);

/// The option `direction`: none, nodes, btf or best; default none.
option_spec direction_option();

/// The order of `method`, rearranged for A = L U as `direction` says. none: not at all; so is an
/// order of a symmetric A. nodes: best_direction(). btf: order_by_components() of all components,
/// then direct(). best: the order with the fewest operations among nodes, btf, and btf with only
/// the components of at most 128 vertices, then direct() with 16 candidates. Throws as `method` and
/// direct().
ordering order_with_direction(const pattern_view& a, const std::string& direction, int threads,
                              const order_method& method);

}  // namespace gsofa::orders
