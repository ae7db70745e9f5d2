#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "common/ordering.hpp"
#include "common/pattern.hpp"
#include "common/run_context.hpp"

namespace gsofa::orders {

inline constexpr int most_depths = 1000;  ///< no tree of parts is as deep

/// How nested_dissection() searches.
struct dissection_settings {
  std::uint64_t seed = 0;
  int threads = 1;          ///< host threads; any number gives the same order
  int tries = 4;            ///< initial separators of each replica
  int replicas = 4;         ///< independent coarsenings of each large component
  int room = 1;             ///< a level refines separators with this many times the part's vertices
  index_t idle_moves = 50;  ///< a pass ends after this many moves without gain
  int stride = 1;           ///< refine on every N-th level, starting at the finest
  int flows = most_depths;  ///< separators of this many depths of the tree become minimum ones
  index_t leaf_order = 120;  ///< a part of at most this many (compressed) vertices is a leaf
  int reduce = 8;            ///< eliminate vertices of at most this degree first (reduce())
  /// Above 1: the first tree_levels levels of the separator tree divide the graph evenly, and
  /// reductions that would remove many vertices are made inside the parts of the last level.
  int tree_levels = 0;
  offset_t leaf_weight = std::numeric_limits<offset_t>::max();  ///< heavier parts are no leaves
  bool through_hubs = false;  ///< of these, coarsen those through hubs that hardly coarsen else
  std::span<const index_t> weights{};       ///< of the vertices, 1 or more; empty: all are 1
  const std::atomic<bool>* stop = nullptr;  ///< becomes true to end with cancelled_error
  const run_context* run = nullptr;         ///< on a device: its limit of time ends the search, too
};

/// The options of an order that dissects, with the defaults of `defaults`.
std::vector<option_spec> dissection_options(const dissection_settings& defaults);
/// How an order with these options and this seed searches. Threads are those of `settings`.
dissection_settings settings_of(const order_settings& settings);

/// A fill-reducing order (old vertex by new position) and its separator tree, without empty nodes.
struct dissection {
  std::vector<index_t> order;
  separator_tree tree;
};

/// Whether no leaf has more than its share of the vertices in a tree with tree_levels levels.
bool divides(const dissection& d, int tree_levels);

/// Multilevel nested dissection of a symmetric graph: rows sorted, no diagonal, any shape. Isolated
/// vertices come first and change nothing in the order of the other vertices. The order depends on
/// the graph and on the settings but threads and stop alone. With weights, separators of small
/// weight are sought, and no part is much heavier than its sibling. Throws input_error if s is not
/// square and for weights that are wrong, overflow_error if their sum is above 2^31 - 1,
/// std::bad_alloc, error if the system refuses a thread. Source: George 1973; Karypis & Kumar 1998
/// (multilevel separators, one-sided refinement).
dissection nested_dissection(const pattern_view& s, const dissection_settings& settings);

}  // namespace gsofa::orders
