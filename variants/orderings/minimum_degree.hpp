#pragma once

// Minimum degree and minimum fill on a quotient graph.

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "common/types.hpp"

namespace gsofa::orders {

/// What an elimination step minimizes.
enum class pivot_score : std::uint8_t {
  degree,  ///< approximate external degree (Amestoy, Davis & Duff 1996)
  fill     ///< approximate fill (Rothberg & Eisenstat 1998)
};

/// A symmetric graph: row v is adj[begin[v] .. begin[v + 1]), in any order, without v itself and
/// without repeated entries. Spans that are empty have the default.
struct weighted_rows {
  std::span<const offset_t> begin;       ///< n + 1
  std::span<const index_t> adj;          ///< begin[n]; v is in row u if u is in row v
  std::span<const index_t> weight{};     ///< n; at least 1 each; default: 1
  std::span<const std::uint8_t> halo{};  ///< n; not 0: never eliminated; default: 0
  /// n; vertices of a lower group come first (constraint sets of CAMD); default: one group
  std::span<const index_t> group{};
};

/// What elimination costs at most: entries below the diagonal, the sum of c + 2 c^2 over the
/// entries c of each column, and the height of the elimination tree. Merged vertices and absorbed
/// elements count a little more than the fill.
struct elimination_cost {
  offset_t entries = 0;
  double operations = 0;
  index_t height = 0;  ///< in vertices
};

struct minimum_degree_settings {
  pivot_score score = pivot_score::fill;
  /// If it becomes true, the function throws cancelled_error before the next step; null: never.
  const std::atomic<bool>* stop = nullptr;
  /// If not null, receives for each vertex the bound on the weight of its neighbours when a step
  /// selected it; -1: no step selected it, because it was merged, dense or in the halo.
  std::vector<index_t>* degree_bounds = nullptr;
  /// If not null, receives a bound for the cost of the order; entries -1 if rows were set aside,
  /// whose entries are not known.
  elimination_cost* cost = nullptr;
};

/// An order of the vertices outside the halo: old number by new position. Halo vertices count in
/// degrees and fill as neighbours that remain to the end (Pellegrini, Roman & Amestoy 2000); edges
/// between two halo vertices may be absent. Rows with more than max(16, 10 sqrt(n)) entries come
/// last in their group. Where most vertices are leaves of hubs, those come first
/// (leaves_of_hubs.hpp), unless there are groups. The same arguments give the same order. Memory: 5
/// bytes for each entry of adj and 90 for each vertex; up to 50 bytes for each entry in graphs of
/// leaves of hubs. Throws overflow_error if the weights sum to more than 2^31 - 1, cancelled_error,
/// std::bad_alloc.
std::vector<index_t> minimum_degree(const weighted_rows& rows,
                                    const minimum_degree_settings& settings);

}  // namespace gsofa::orders
