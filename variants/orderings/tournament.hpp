#pragma once

#include <cstdint>

#include "common/ordering.hpp"

namespace gsofa::orders {

/// What decides how many orders a tournament computes.
struct tournament_settings {
  /// Numeric factorizations that will use the order: an operation saved counts as often.
  std::int64_t factorizations = 1000;
  int seeds = 8;  ///< orders that one method may compute, each from another seed
};

/// The shape of a symmetric graph after its reductions, which tells which methods can win.
struct graph_shape {
  offset_t entries = 0;        ///< of the graph that the reductions leave
  double left = 1;             ///< vertices that the reductions leave, as a fraction
  double most_neighbours = 0;  ///< the most neighbours of a vertex that is left / their mean
  double width = 0;            ///< of a level of a breadth-first search, in vertices
  /// Large, wide and regular: minimum degree does not win if the pattern is symmetric.
  bool is_mesh = false;
};

/// The shape of a symmetric graph (rows sorted, without diagonal).
graph_shape shape_of(const pattern_view& s, int threads);

/// Computes orders of a square pattern by the methods that contend (order_info::contends), counts
/// the operations of each exactly, and returns the order with the fewest. The method with the least
/// work is first; another order is computed if its work is at most the work so far, or if the
/// operations that it may save in all factorizations are more than its own work. Work is counted,
/// so that the result does not depend on the machine. ordering::candidates lists the orders that
/// were computed. Throws as compute_order().
ordering tournament(const pattern_view& a, const order_settings& settings,
                    const tournament_settings& rules);

}  // namespace gsofa::orders
