#pragma once

// The steps of nested_dissection() and the data that they share. Every step is a map, a scan or a
// loop over independent items (trials, leaves); every random choice is a hash of (key of
// the component, level, trial, vertex); sums are of integers. So no result depends on threads, on
// the order of a row or on the order of a list.

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "variants/orderings/nested_dissection.hpp"
#include "variants/orderings/nested_dissection_arithmetic.hpp"
#include "variants/orderings/nested_dissection_team.hpp"

namespace gsofa::orderings {

/// A weighted graph: row v is adj[begin[v] .. end[v]), in any order, without v; rows may leave
/// gaps.
struct graph {
  index_t n = 0;
  offset_t total = 0;               ///< sum of the vertex weights
  offset_t entries = 0;             ///< sum of the lengths of the rows
  std::vector<offset_t> begin;      ///< n
  std::vector<offset_t> end;        ///< n
  std::vector<index_t> adj;         ///< neighbours
  std::vector<index_t> edge;        ///< weight of each entry of adj; empty: all are 1
  std::vector<index_t> weight;      ///< of each vertex, at least 1
  std::vector<index_t> from_finer;  ///< this graph's vertex by vertex of the finer graph

  [[nodiscard]] offset_t degree(index_t v) const { return end[at(v)] - begin[at(v)]; }
  [[nodiscard]] index_t edge_weight(offset_t e) const { return edge.empty() ? 1 : edge[at(e)]; }
  [[nodiscard]] std::span<const index_t> row(index_t v) const {
    return {adj.data() + begin[at(v)], at(degree(v))};
  }
};

/// One separator of one graph.
struct trial {
  const graph* g = nullptr;
  std::uint64_t key = 0;
  std::vector<std::uint8_t> side;  ///< of each vertex; constant within a pass
  std::vector<index_t> members;    ///< of S, in any order
  offset_t weight[3] = {0, 0, 0};  ///< by side
  std::uint64_t cost = 0;
  int idle = 0;  ///< passes without gain since the last gain

  // One pass of refinement. All of moved is 0 between passes.
  std::uint8_t x = 0;  ///< the side that grows
  index_t idle_moves = 0;
  std::uint64_t pass_key = 0;
  std::vector<std::uint8_t> moved;  ///< 1: in S now, from y; 2: in x now
  /// Of a vertex of S: the weight of its neighbours in y, or in rounds its place among the
  /// candidates.
  std::vector<index_t> pull;
  std::vector<index_t> stamp;      ///< of a vertex of S: number of moves when its gain last changed
  std::vector<std::uint32_t> log;  ///< 2 v: v left S; 2 v + 1: v came from y to S
  offset_t to_x = 0;               ///< weight that x gains by the prefix that is kept
  offset_t from_y = 0;             ///< weight that y loses by it
  std::vector<std::uint8_t> finer_side;  ///< scratch of projection
};

/// A vertex of S that may move in a round; gain least_gain: it has moved.
struct candidate {
  index_t v = 0;
  index_t gain = least_gain;
  index_t stamp = 0;  ///< round in which the gain last changed
};

/// Work arrays of one thread.
struct scratch {
  std::vector<std::pair<std::uint64_t, index_t>> heap;
  std::vector<index_t> where;  ///< by coarse vertex, any content
  std::vector<candidate> candidates;
  std::vector<std::uint32_t> keys;
  std::vector<index_t> gain, key, queue, next;
  std::vector<std::uint32_t> tie;
  std::vector<std::uint8_t> locked;
  std::vector<index_t> local;  ///< by vertex of the whole graph, all -1 between leaves
  std::vector<std::uint64_t> bits;
};

/// Work arrays of one team, reused for all components that it bisects.
struct workspace {
  team* crew = nullptr;
  std::vector<scratch> per_thread;
  std::vector<index_t> match, proposal, slot;
  std::vector<std::uint32_t> tie;
};

/// Coarsens `fine` once by a matching; false if the graph hardly shrinks.
/// most: weight that a coarse vertex may have.
bool coarsen(team& crew, workspace& w, scratch* per_thread, const graph& fine, offset_t most,
             std::uint64_t key, graph& coarse);

/// Gives t a first separator of *t.g: greedy growth, edge refinement, then one side of the cut.
void initial_separator(trial& t, scratch& s);

/// Gives t a separator that is a level of a breadth-first search of g, the one of the least cost
/// among those with even sides; false if there is none. key: of the part.
bool level_separator(const graph& g, std::uint64_t key, trial& t, scratch& s);

/// Recomputes members and weights from the sides.
void collect_separator(trial& t);
/// Moves a trial to the finer graph that its graph was coarsened from.
void project(trial& t, const graph& finer);
/// Improves trials by one-sided moves; key: of the level; idle_moves: of a pass without gain, at
/// most.
void refine(team& crew, scratch* per_thread, std::span<trial* const> trials, int passes,
            index_t idle_moves, std::uint64_t key);

/// Finds separators. bisect() leaves that of g in best(); false if one of its sides is empty.
class bisector {
 public:
  bisector(team& crew, const dissection_settings& settings);
  /// From now on the threads of `crew` work.
  void lead(team& crew);
  /// depth: of g in the separator tree.
  bool bisect(const graph& g, std::uint64_t key, int depth);
  [[nodiscard]] const trial& best() const { return *trials_[0]; }
  [[nodiscard]] team& crew() { return *space_.crew; }
  [[nodiscard]] scratch* per_thread() { return space_.per_thread.data(); }

 private:
  using chain = std::vector<const graph*>;
  void coarsen_shared(const graph& g, std::uint64_t key);
  void coarsen_replicas(std::uint64_t key);
  [[nodiscard]] bool competes(const trial& best) const;
  void first_tries(std::uint64_t key);
  void uncoarsen_replicas();
  void uncoarsen_shared();
  [[nodiscard]] index_t keep(index_t n, int copies) const;
  /// Whether trials on graphs of a level of the part, 0 being the part itself, are refined.
  [[nodiscard]] bool refines(std::size_t level) const {
    return level % static_cast<std::size_t>(settings_.stride) == 0;
  }
  graph& level_graph(std::size_t copy, std::size_t level);
  bool extend(team& crew, workspace& w, scratch* per_thread, chain& levels, std::uint64_t key,
              std::size_t copy);

  dissection_settings settings_;
  int depth_ = 0;
  workspace space_;
  std::vector<workspace> replica_space_;
  std::vector<std::vector<std::unique_ptr<graph>>> graphs_;  ///< by copy (0: shared) and level
  std::vector<std::unique_ptr<trial>> trials_;
  chain shared_;
  std::vector<chain> replicas_;
  std::vector<std::vector<index_t>> alive_;  ///< trials of each replica, best first
  std::vector<trial*> active_;
  trial level_;  ///< a level of a search of the part
  bool has_level_ = false;
};

/// Orders the vertices of one leaf of g in place by minimum fill with its halo, the neighbours
/// outside. s.local holds -1 for each vertex of g.
void order_leaf(const graph& g, std::span<index_t> leaf, scratch& s);

/// The classes of the vertices of a pattern: hubs, which are ordered last, and vertices with equal
/// closed neighbourhoods, each class a vertex of the compressed graph. Without hubs and with
/// classes of one vertex each, all lists may be empty.
struct vertex_classes {
  std::vector<index_t> member_start;  ///< by vertex of the compressed graph, and one more
  std::vector<index_t> members;       ///< vertices of the pattern by class
  std::vector<index_t> hubs;          ///< in ascending order
};

inline constexpr index_t no_node = -1;

/// A node of the separator tree: its positions first .. last - 1, and the first position of the
/// node above.
struct node {
  index_t first, last, above;
};

/// The order of the vertices of the pattern and the tree over their positions, the hubs as its last
/// node. tree: by first position; position: the vertex of the compressed graph at each position.
dissection expand(const vertex_classes& c, std::span<const node> tree,
                  std::vector<index_t> position);

}  // namespace gsofa::orderings
