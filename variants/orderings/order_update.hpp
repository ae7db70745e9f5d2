#pragma once

/// Adapts a fill-reducing order to a pattern that changes, by the elimination tree alone.

#include <span>
#include <vector>

#include "common/pattern.hpp"
#include "variants/orderings/ordered_tree.hpp"

namespace gsofa {

/// The rows of `a` that are new or differ from those of the earlier pattern `before`. previous[v]
/// is the vertex of `before` that vertex v was, -1: none; empty: v itself, and the orders are
/// equal. Rows are ascending. O(nnz) time.
std::vector<index_t> changed_rows(const pattern_view& a, const pattern_view& before,
                                  std::span<const index_t> previous, int threads);

/// Outcome of repaired_order().
struct repaired {
  std::vector<index_t> order;
  std::vector<index_t> moved;  ///< vertices that are new or have another place
};

/// Adapts the order of an earlier pattern to the symmetric pattern `s` with any diagonal.
/// previous[v] is the vertex of the earlier pattern that vertex v was, -1: none; empty: v itself.
/// `changed` lists the vertices that are new or have an edge that the earlier pattern lacks; it may
/// list one end of an edge only.
///
/// An edge of s must join a vertex and an ancestor of it in the earlier tree, or it would merge the
/// paths of both ends to their lowest common ancestor w. One end of each edge that does not is
/// moved to the place directly before w: among all ends of such edges, greedily those with the
/// least product of the path's entries and the inverse number of edges. A move to an ancestor
/// breaks this rule for no other edge. A new vertex starts directly before its first neighbour. O(n
/// + E log E) for the E edges of `changed`, and O(log n) for each of them.
repaired repaired_order(const pattern_view& s, const ordered_tree& before,
                        std::span<const index_t> previous, std::span<const index_t> changed);

/// Whether an adapted order of n rows is to be compared with a new one: more than 2 % of the rows
/// have changed since the last comparison (or new order), or the operations differ by more than 5 %
/// from the operations then. Operations that fall count too: the smaller pattern may have a better
/// order that adapting does not find.
bool needs_comparison(index_t n, offset_t rows_changed, double operations, double operations_then);

}  // namespace gsofa
