#pragma once

// The stages of nested_dissection() and the data that they share, in the order of their use. Every
// stage is a map, a scan or a loop over independent items (trials, leaves); every random choice is
// a hash of (key of the component, level, trial, vertex); sums are of integers. So no result
// depends on threads, on the order of a row or on the order of a list.

#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "variants/orderings/dissection/arithmetic.hpp"
#include "variants/orderings/dissection/host/team.hpp"
#include "variants/orderings/dissection/nested_dissection.hpp"

namespace gsofa::orders {

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
  std::vector<std::uint8_t> side;  ///< of each vertex, now
  std::vector<index_t> members;    ///< of S, in any order
  offset_t weight[3] = {0, 0, 0};  ///< by side
  std::uint64_t cost = 0;
  int idle = 0;  ///< passes without gain since the last gain

  // One pass of refinement.
  std::uint8_t x = 0;  ///< the side that grows
  index_t idle_moves = 0;
  std::uint64_t pass_key = 0;
  std::vector<index_t> slot;             ///< of a vertex of S, in the pass
  std::vector<std::uint32_t> log;        ///< 2 v: v left S; 2 v + 1: v came from y to S
  offset_t to_x = 0;                     ///< weight that x gains by the prefix that is kept
  offset_t from_y = 0;                   ///< weight that y loses by it
  std::vector<std::uint8_t> finer_side;  ///< scratch of projection
};

/// Vertices of S that may move in a round, by slots; gain least_gain: one that cannot, or not any
/// more.
struct candidates {
  std::vector<index_t> vertex;
  std::vector<index_t> gain;
  std::vector<index_t> stamp;  ///< round in which the gain last changed

  [[nodiscard]] std::size_t size() const { return vertex.size(); }
  void clear() {
    vertex.clear();
    gain.clear();
    stamp.clear();
  }
  void add(index_t v, index_t gain_of_v, index_t round) {
    vertex.push_back(v);
    gain.push_back(gain_of_v);
    stamp.push_back(round);
  }
};

/// round_key(), and of least_gain no_round_key, without branches, so that compilers find the keys
/// of many candidates at the same time.
inline std::uint32_t branchless_round_key(index_t reference, index_t gain, index_t age, index_t v,
                                          std::uint32_t salt) {
  const auto lesser = [](std::uint32_t a, std::uint32_t b) { return a < b ? a : b; };
  const auto all_bits_if = [](bool is) { return 0U - static_cast<std::uint32_t>(is); };
  const std::uint32_t more =
      static_cast<std::uint32_t>(gain) - static_cast<std::uint32_t>(reference);
  const std::uint32_t less = lesser(0U - more, 1U << 14);
  // From 16 on the exponent and two bits of the mantissa of a float, 524 of 16, tell the class.
  const auto number = static_cast<float>(static_cast<std::int32_t>(less));
  const std::uint32_t octave =
      lesser((std::bit_cast<std::uint32_t>(number) >> 21) - 500, gain_classes - 1);
  const std::uint32_t small = all_bits_if(less < 16);
  const std::uint32_t below = (small & (8 + less)) | (~small & octave);
  const std::uint32_t is_above = all_bits_if(gain >= reference);
  const std::uint32_t of_gain = (is_above & (8 - lesser(more, 8))) | (~is_above & below);
  std::uint32_t of_age = 0;
  for (const index_t last : {0, 1, 2, 3, 5, 9, 17}) {
    of_age += static_cast<std::uint32_t>(age > last);
  }
  const std::uint32_t hash = (static_cast<std::uint32_t>(v) ^ salt) * 0x9e3779b1U;
  const std::uint32_t key = (of_gain * age_classes + of_age) << 16 | hash >> 16;
  const std::uint32_t none = all_bits_if(gain == least_gain);
  return (none & no_round_key) | (~none & key);
}

/// Work arrays of one thread.
struct scratch {
  std::vector<std::uint64_t> ranks;
  std::vector<index_t> vertices;
  std::vector<index_t> where;  ///< by coarse vertex, any content
  orders::candidates candidates;
  std::vector<std::uint32_t> keys;
  std::vector<index_t> gain, key, queue, next;
  std::vector<std::uint32_t> tie;
  std::vector<std::uint8_t> locked;
  std::vector<index_t> local;  ///< by vertex of the whole graph, all -1 between leaves
  std::vector<std::uint64_t> bits;
};

/// Work arrays of one team, reused for all components that it bisects.
struct workspace {
  static constexpr index_t unmatched = -1;

  team* crew = nullptr;
  bool meets_in_hubs = false;  ///< pairs of two hops have meeting places of any degree
  std::vector<scratch> per_thread;
  std::vector<index_t> match;  ///< by vertex: its mate, or unmatched
  std::vector<index_t> proposal, slot;
  std::vector<index_t> free;         ///< among them all vertices that are not matched, ascending
  std::vector<index_t> free_weight;  ///< by vertex: its weight; max_index once it is matched
  std::vector<std::uint32_t> tie;
};

/// The classes of the vertices of a pattern: isolated vertices, which are ordered first, hubs,
/// which are ordered last, and vertices with equal closed neighbourhoods, each class a vertex of
/// the compressed graph. Where each vertex is a class of its own, all lists may be empty.
struct vertex_classes {
  std::vector<index_t> member_start;  ///< by vertex of the compressed graph, and one more
  std::vector<index_t> members;       ///< vertices of the pattern by class
  std::vector<index_t> hubs;          ///< in ascending order
  std::vector<index_t> isolated;      ///< vertices without neighbours, in ascending order
};

/// The graph in which each class of vertices with equal closed neighbourhoods is one vertex.
struct compressed_graph : vertex_classes {
  graph g;
};
/// Compresses a symmetric pattern (rows sorted, without diagonal). hubs_go_last: false: hubs are
/// vertices as others are.
compressed_graph compress(team& crew, const pattern_view& s, std::span<const index_t> weights = {},
                          bool hubs_go_last = true);

/// A graph in which most vertices have the closed neighbourhood of another one. Each class is one
/// vertex.
struct vertex_blocks {
  vertex_classes classes;
  pattern rows;                 ///< symmetric, sorted, without diagonal
  std::vector<index_t> weight;  ///< members of each class

  /// The order of the vertices, isolated ones first, given one of the classes.
  [[nodiscard]] std::vector<index_t> expand(std::span<const index_t> order) const;
};
/// The vertices of a block in the mean (harmonic), at most 65, estimated from some vertices of a
/// symmetric pattern (rows sorted, without diagonal); 0 if no vertex has neighbours.
double size_of_blocks(const pattern_view& s);
/// The blocks of such a pattern if they are at most half as many as its vertices that have
/// neighbours.
std::optional<vertex_blocks> find_blocks(team& crew, const pattern_view& s);

/// Matches vertices of `fine` in w.match. most: weight that a pair may have.
void match(team& crew, workspace& w, const graph& fine, offset_t most, std::uint64_t key);
/// Coarsens `fine` once by a matching; false if the graph hardly shrinks.
/// most: weight that a coarse vertex may have.
bool coarsen(team& crew, workspace& w, scratch* per_thread, const graph& fine, offset_t most,
             std::uint64_t key, graph& coarse);

/// Gives t a first separator of *t.g: greedy growth, edge refinement, then one side of the cut.
void first_cut(trial& t, scratch& s);

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

/// Work arrays of minimum_separator(). By vertex of the band, unless it says else.
struct flow_space {
  std::vector<index_t> number;        ///< in the band, by vertex of the graph; all -1 between calls
  std::vector<index_t> band;          ///< vertices
  std::vector<std::uint8_t> next_to;  ///< 1: the source, 2: the sink, 3: both
  std::vector<index_t> through;       ///< flow from entrance to exit
  std::vector<index_t> neighbours;    ///< by rows: vertices of the band
  std::vector<std::size_t> first_entry;  ///< of each row, and the end of the last one
  std::vector<index_t> flow;             ///< by entry of a row: to the neighbour
  std::vector<index_t> excess;           ///< by node
  std::vector<index_t> level;            ///< by node: distance to the sink
  std::vector<index_t> queue;            ///< nodes by their levels
};
/// Replaces the separator of t by one of the least weight in a band around it, if that is better
/// (cost_function::takes_minimum).
void minimum_separator(trial& t, flow_space& s);

/// Finds separators. bisect() leaves the one of g in best(). It returns false if a side is empty or
/// if g hardly coarsens.
class bisector {
 public:
  bisector(team& crew, const dissection_settings& settings);
  ~bisector();
  /// From now on the threads of `crew` work.
  void lead(team& crew);
  /// depth: of g in the separator tree. through_hubs: coarsens also where most vertices have
  /// neighbours of large degree alone; separators may be large.
  bool bisect(const graph& g, std::uint64_t key, int depth, bool through_hubs = false);
  [[nodiscard]] const trial& best() const { return *best_; }
  [[nodiscard]] team& crew() const;

 private:
  struct stages;
  struct state;
  std::unique_ptr<state> state_;
  const trial* best_ = nullptr;
};

/// The subgraphs of the two sides of t, a separator of g, of count[side] vertices; local[v]: number
/// of v in its side.
void split_graph(team& crew, const graph& g, const trial& t, std::span<const index_t> local,
                 const index_t* count, graph* sides);

/// Orders the vertices of one leaf of g in place by minimum fill with its halo, the neighbours
/// outside: exactly if it has at most largest_first_cut vertices. s.local holds -1 for each vertex
/// of g. Throws cancelled_error if *stop becomes true; null: never.
void order_leaf(const graph& g, std::span<index_t> leaf, scratch& s,
                const std::atomic<bool>* stop = nullptr);

/// Throws cancelled_error if *s.stop is true.
inline void check_stop(const dissection_settings& s) {
  if (s.stop != nullptr && s.stop->load(std::memory_order_relaxed)) throw cancelled_error();
}

inline constexpr index_t no_node = -1;

/// A node of the separator tree: its positions first .. last - 1, and the first position of the
/// node above.
struct node {
  index_t first, last, above;
};

/// The order of the vertices of the pattern and the tree over their positions: isolated vertices
/// are its first nodes, of most_isolated vertices each, and hubs its last one. tree: by first
/// position; position: the vertex of the compressed graph at each position.
dissection expand(const vertex_classes& c, std::span<const node> tree,
                  std::vector<index_t> position, offset_t most_isolated);

}  // namespace gsofa::orders
