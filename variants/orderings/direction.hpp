#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/ordering.hpp"
#include "common/pattern.hpp"
#include "variants/orderings/direction_components.hpp"

namespace gsofa::orders {

/// A rearranged order, and the operations of the exact factorization A = L U before and after:
/// order_quality::flops.
struct directed_order {
  ordering order;  ///< its separator tree: that of the input, with some subtrees merged to nodes
  double flops_before = 0;
  double flops_after = 0;  ///< at most flops_before
};

/// Rearranges an order of a square pattern for A = L U, inside the nodes and inside small subtrees
/// of its separator tree; if the order has no separator tree, of the tree of tree_of_chains(). The
/// operations never increase. Takes pivots of least Markowitz product; with candidates > 1, the
/// pivot of least fill among this many least products, which needs fewer operations and about 4
/// times the time for 16 candidates. The result depends on the pattern, the order and `candidates`
/// only. Counts missing diagonal entries as present. Returns nullopt if the bit matrices of the
/// nodes exceed 8 GiB, or 128 MiB for one node. Throws input_error if a is not square,
/// std::bad_alloc, error if the system refuses a thread. Time: 2 to 6 times that of quality_of().
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
