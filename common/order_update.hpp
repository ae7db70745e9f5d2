#pragma once

/// Adapts a fill-reducing order to a pattern that changes, by the elimination tree alone.

#include <span>
#include <vector>

#include "common/ordered_tree.hpp"
#include "common/pattern.hpp"

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
  known_subtrees subtrees;     ///< for tree_of_order()
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
/// + edges of `changed` * branches of a path).
/// The subtrees are those of `before`, which must outlive them: of at most `most` vertices, and
/// those in which no vertex has changed, moved or gone. The latter are right only if `changed`
/// lists both ends of all edges that have come or gone.
repaired repaired_order(const pattern_view& s, const ordered_tree& before,
                        std::span<const index_t> previous, std::span<const index_t> changed,
                        index_t most = 0);

/// The maximal subtrees, as ranges of positions, of which at least one vertex in eight is marked,
/// with at least 16 vertices and at most a half of all. `marked` is by vertex.
std::vector<index_range> marked_subtrees(const ordered_tree& t, const std::vector<bool>& marked);

/// The pattern of some vertices alone, numbered by their place in the list.
pattern induced(const pattern_view& s, std::span<const index_t> vertices);

/// How far a pattern may change before its adapted order is compared with a new one: until the
/// operations have grown by `most_loss`, or too many rows have changed. A comparison shows how much
/// adapting has lost per change. The next limit of changes is where the loss would reach
/// `most_loss`.
class order_allowance {
 public:
  static constexpr double most_loss = 0.05;

  order_allowance() = default;
  /// A new order of n rows with so many operations.
  order_allowance(index_t n, double operations)
      : operations_(operations), most_changes_(0.02 * n), few_changes_(0.05 * n) {}

  /// Whether an adapted order with `operations`, after `changes` more rows have changed, may stand
  /// without a comparison.
  bool admits(offset_t changes, double operations);
  /// Where admits() has refused: whether an order of which parts are computed anew may stand. At
  /// most 5 % of the rows have changed, and at most three comparisons were put off.
  [[nodiscard]] bool may_put_off() const { return changes_ <= few_changes_ && put_off_ < 3; }
  /// Puts the comparison off if such an order has the operations of the last comparison again;
  /// returns whether it does.
  bool put_off(double operations);
  /// Takes the outcome of a comparison: the operations of both orders. Returns whether the adapted
  /// order has no more.
  bool compare(double adapted, double anew);

 private:
  double operations_ = 0;  // of the last comparison
  double changes_ = 0;     // rows since then, or since a comparison was put off
  int put_off_ = 0;        // comparisons
  double most_changes_ = 0;
  double few_changes_ = 0;  // for putting a comparison off
};

}  // namespace gsofa
