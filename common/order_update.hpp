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
/// + E log E) for the E edges of `changed`, and O(log n) for each of them.
/// The subtrees are those of `before`, which must outlive them: of at most `most` vertices, and
/// those in which no vertex has changed, moved or gone. The latter are right only if `changed`
/// lists both ends of all edges that have come or gone.
repaired repaired_order(const pattern_view& s, const ordered_tree& before,
                        std::span<const index_t> previous, std::span<const index_t> changed,
                        index_t most = 0);

/// Vertices of the smallest subtree that is worth an order of its own.
inline constexpr index_t least_reordered = 64;

/// The maximal subtrees, as ranges of positions, in which at least one vertex in eight is marked,
/// with at least least_reordered vertices and at most a half of all. `marked` is by vertex.
std::vector<index_range> marked_subtrees(const ordered_tree& t, const std::vector<bool>& marked);

/// The pattern of some vertices alone, numbered by their place in the list. `numbers`: n times -1,
/// before and after the call.
pattern induced(const pattern_view& s, std::span<const index_t> vertices,
                std::vector<index_t>& numbers);

/// How far a pattern may change before its adapted order is compared with a new one: until the
/// operations have grown or fallen by `most_loss` since the last comparison, or too many rows have
/// changed. The limit is 2 % of the rows after a new order. A comparison that the adapted order
/// wins raises it to twice the changes, and to at most 10 %.
class order_allowance {
 public:
  static constexpr double most_loss = 0.05;

  order_allowance() = default;
  /// A new order of n rows that needs `operations`.
  order_allowance(index_t n, double operations) : n_(n), operations_(operations) {}

  /// Whether an adapted order of n rows with `operations`, after `changes` more rows have changed,
  /// may stand without a comparison.
  bool admits(index_t n, offset_t changes, double operations);
  /// Where admits() has refused: whether an order whose parts are computed anew may stand. At
  /// most 5 % of the rows have changed, the operations have not fallen, and at most three
  /// comparisons were put off.
  [[nodiscard]] bool may_put_off(double operations) const;
  /// Puts the comparison off if such an order has the operations of the last comparison again;
  /// returns whether it does.
  bool put_off(double operations);
  /// Takes the outcome of a comparison: the operations of both orders. Returns whether the adapted
  /// order has no more.
  bool compare(double adapted, double anew);

 private:
  static constexpr double least_share = 0.02;
  static constexpr double most_share = 0.1;
  // A smaller pattern may have a better order that adapting does not find.
  [[nodiscard]] bool has_fallen(double operations) const {
    return operations < (1 - most_loss) * operations_;
  }

  double n_ = 0;                // rows of the present pattern
  double operations_ = 0;       // of the last comparison
  double changes_ = 0;          // rows since that comparison, or since one was put off
  int put_off_ = 0;             // comparisons
  double share_ = least_share;  // of the rows that may change
};

}  // namespace gsofa
