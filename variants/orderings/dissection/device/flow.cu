// The minimum separators in bands around the separators that win, of many parts at once. Device
// form of host/flow.cpp: the flow may be another one, the separator is the same.
//
// A cluster of blocks, or one block, finds the flow of one part. Every vertex v has two nodes, its
// entrance 2 v and its exit 2 v + 1. A wave has two phases:
//  1. A search from the sink gives levels to nodes. A step of the search reaches the neighbours of
//     the nodes of the last step, and the other node of each vertex one level higher, if that node
//     can push to the first.
//  2. Sweeps move excess to nodes of lower levels, from all nodes at once, until nothing moves.
// Levels do not change in sweeps, so that each arc carries flow in one direction only: the higher
// node changes the flow, and the excess of the lower node is a sum (PROOFS.md).

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include <algorithm>

#include "variants/device/row_teams.hpp"
#include "variants/orderings/dissection/device/stages.hpp"
#include "variants/orderings/dissection/device/tuning.hpp"
#include "variants/orderings/dissection/device/warps.cuh"

namespace gsofa::orders::device {

namespace {

// Levels of nodes that have no distance to the sink. Both nodes of a vertex outside the band are
// `outside`.
constexpr std::uint32_t no_level = 0xffffffffU;
constexpr std::uint32_t outside = 0xfffffffeU;
constexpr std::uint32_t lowest_level = 2;
constexpr std::uint32_t source_bit = 1, sink_bit = 2;

struct flow_view {
  const winner* old;  ///< by graph: the separator so far; without a side B: no flow
  winner* found;      ///< by graph, in memory of the host
  std::uint8_t* side;
  std::uint32_t* level;    ///< by node
  std::uint32_t* excess;   ///< by node
  std::uint32_t* through;  ///< by vertex: flow from its entrance to its exit
  std::uint32_t* next_to;  ///< by vertex: source_bit, sink_bit
  std::uint32_t* flow;     ///< by entry of adj: from the exit of the vertex to the neighbour
  index_t* band;           ///< by vertex
  std::uint32_t* active;   ///< by node: nodes with excess
  std::uint32_t* queue;    ///< by node: nodes by level; in sweeps: nodes that are active next
  std::uint64_t* gained;   ///< by graph and side: weight, modulo 2^64
  flow_counts* counts;     ///< by graph
};

class band_flow {
 public:
  GSOFA_DEVICE band_flow(const level_view& g, const flow_view& f, index_t graph)
      : g_(g),
        f_(f),
        graph_(graph),
        old_(f.old[graph]),
        first_(g.first[graph]),
        source_(source_side(old_.weight[side_a], old_.weight[side_b])),
        band_(f.band + first_),
        active_(f.active + 2 * offset_t{first_}),
        queue_(f.queue + 2 * offset_t{first_}),
        counts_(f.counts[graph]) {}

  GSOFA_DEVICE void run() {
    find_band();
    fill();
    do find_levels();
    while (move_excess());
    take_cut();
  }

 private:
  [[nodiscard]] GSOFA_DEVICE static std::uint32_t entrance(index_t v) {
    return 2 * static_cast<std::uint32_t>(v);
  }
  [[nodiscard]] GSOFA_DEVICE static std::uint32_t exit(index_t v) { return entrance(v) + 1; }
  [[nodiscard]] GSOFA_DEVICE static index_t vertex_of(std::uint32_t node) {
    return static_cast<index_t>(node / 2);
  }
  [[nodiscard]] GSOFA_DEVICE static index_t vertex_of(index_t v) { return v; }
  [[nodiscard]] GSOFA_DEVICE static bool is_exit(std::uint32_t node) { return node % 2 != 0; }
  [[nodiscard]] GSOFA_DEVICE static std::uint32_t other(std::uint32_t node) { return node ^ 1U; }
  [[nodiscard]] GSOFA_DEVICE static std::uint32_t least(std::uint32_t a, std::uint32_t b) {
    return a < b ? a : b;
  }
  [[nodiscard]] GSOFA_DEVICE std::uint32_t weight(index_t v) const {
    return static_cast<std::uint32_t>(g_.weight[v]);
  }
  [[nodiscard]] GSOFA_DEVICE std::uint8_t& side(index_t v) const {
    return f_.side[old_.first + static_cast<std::uint64_t>(v - first_)];
  }
  [[nodiscard]] GSOFA_DEVICE bool is_next_to(index_t v, std::uint32_t bit) const {
    return (f_.next_to[v] & bit) != 0;
  }

  // The threads of the cluster.
  [[nodiscard]] GSOFA_DEVICE static unsigned thread() {
    return simt::cluster_rank() * simt::block_size() + simt::thread_index();
  }
  [[nodiscard]] GSOFA_DEVICE static unsigned threads() {
    return simt::cluster_size() * simt::block_size();
  }
  GSOFA_DEVICE static void sync() {
    if (simt::cluster_size() > 1) {
      simt::sync_cluster();
    } else {
      simt::sync_block();
    }
  }
  /// Each thread takes some of the numbers below `count`.
  template <class Body>
  GSOFA_DEVICE void for_threads(std::uint32_t count, Body&& body) const {
    for (std::uint32_t k = thread(); k < count; k += threads()) body(k);
  }
  /// body(entry, item) for the entries of the rows of `count` vertices or nodes. A group of lanes
  /// takes a row: the fewer rows, the more lanes.
  template <class Item, class Body>
  GSOFA_DEVICE void for_rows(const Item* list, std::uint32_t count, Body&& body) const {
    unsigned group = 32;
    while (group > lanes && count * group > threads()) group /= 2;
    for (std::uint32_t k = thread() / group; k < count; k += threads() / group) {
      const Item item = list[k];
      const index_t v = vertex_of(item);
      for (offset_t e = g_.begin[v] + thread() % group; e < g_.end[v]; e += group) body(e, item);
    }
  }

  GSOFA_DEVICE void find_band() {
    for_threads(static_cast<std::uint32_t>(g_.first[graph_ + 1] - first_), [&](std::uint32_t k) {
      const index_t v = first_ + static_cast<index_t>(k);
      const bool is = side(v) == separator;
      f_.level[entrance(v)] = f_.level[exit(v)] = is ? no_level : outside;
      f_.excess[entrance(v)] = f_.excess[exit(v)] = 0;
      f_.through[v] = f_.next_to[v] = 0;
      if (is) band_[simt::atomic_add(&counts_.layer[0], 1U)] = v;
    });
    sync();
    std::uint32_t from = 0;
    size_ = simt::load_shared_state(&counts_.layer[0]);
    for (int layer = 1; layer <= band_layers; ++layer) {
      for_rows(band_ + from, size_ - from, [&](offset_t e, index_t) {
        const index_t u = g_.adj[e];
        if (simt::load_shared_state(f_.level + entrance(u)) != outside) return;
        if (simt::atomic_cas(f_.level + entrance(u), outside, no_level) != outside) return;
        f_.level[exit(u)] = no_level;
        band_[size_ + simt::atomic_add(&counts_.layer[layer], 1U)] = u;
      });
      sync();
      from = size_;
      size_ += simt::load_shared_state(&counts_.layer[layer]);
    }
  }

  /// No flow but from the source into the vertices next to it.
  GSOFA_DEVICE void fill() {
    for_rows(band_, size_, [&](offset_t e, index_t v) {
      f_.flow[e] = 0;
      const index_t u = g_.adj[e];
      if (f_.level[entrance(u)] != outside) return;
      simt::atomic_or(f_.next_to + v, side(u) == source_ ? source_bit : sink_bit);
    });
    sync();
    for_threads(size_, [&](std::uint32_t k) {
      const index_t v = band_[k];
      if (!is_next_to(v, source_bit)) return;
      f_.through[v] = f_.excess[exit(v)] = weight(v);
      active_[simt::atomic_add(&counts_.active[0], 1U)] = exit(v);
    });
    sync();
  }

  /// Finds the levels of the nodes that reach the sink, of all or up to the last node with excess.
  /// counts_.reached and counts_.found have three sizes, of this step, of the next step and of the
  /// last step.
  GSOFA_DEVICE void find_levels() {
    const bool leads = thread() == 0;
    const std::uint32_t wanted = simt::load_shared_state(&counts_.active[sweep_ % 3]);
    if (leads) counts_.reached[(step_ + 2) % 3] = counts_.found[(step_ + 2) % 3] = 0;
    for_threads(size_, [&](std::uint32_t k) {
      const index_t v = band_[k];
      const bool is = is_next_to(v, sink_bit);
      const bool both = is && joins(entrance(v));
      f_.level[entrance(v)] = both ? lowest_level + 1 : no_level;
      f_.level[exit(v)] = is ? lowest_level : no_level;
      if (is) list(exit(v), 0);
      if (both) list(entrance(v), 0);
    });
    sync();
    ++step_;
    std::uint32_t from = 0;
    std::uint32_t found = 0;
    for (std::uint32_t level = lowest_level + 2;; level += 2, ++step_) {
      const std::uint32_t count = simt::load_shared_state(&counts_.reached[step_ % 3]);
      found += simt::load_shared_state(&counts_.found[step_ % 3]);
      if (count == 0 || (found > 0 && found == wanted)) break;
      if (leads) counts_.reached[(step_ + 2) % 3] = counts_.found[(step_ + 2) % 3] = 0;
      reach_from(from, from + count, level);
      from += count;
      sync();
    }
  }
  /// Whether a node can push to the other node of its vertex.
  [[nodiscard]] GSOFA_DEVICE bool joins(std::uint32_t node) const {
    const index_t v = vertex_of(node);
    if (is_exit(node)) return f_.through[v] > 0;
    return f_.through[v] < weight(v) && !is_next_to(v, source_bit);
  }
  GSOFA_DEVICE void list(std::uint32_t node, std::uint32_t from) {
    queue_[from + simt::atomic_add(&counts_.reached[(step_ + 1) % 3], 1U)] = node;
    if (f_.excess[node] > 0) simt::atomic_add(&counts_.found[(step_ + 1) % 3], 1U);
  }
  GSOFA_DEVICE void reach_from(std::uint32_t from, std::uint32_t to, std::uint32_t level) {
    const auto reach = [&](std::uint32_t node, std::uint32_t its_level) {
      if (simt::load_shared_state(f_.level + node) != no_level) return false;
      if (simt::atomic_cas(f_.level + node, no_level, its_level) != no_level) return false;
      list(node, to);
      return true;
    };
    for_rows(queue_ + from, to - from, [&](offset_t e, std::uint32_t node) {
      const index_t u = g_.adj[e];
      if (is_exit(node) && f_.flow[e] == 0) return;
      const std::uint32_t next = is_exit(node) ? entrance(u) : exit(u);
      if (reach(next, level) && joins(other(next))) reach(other(next), level + 1);
    });
  }

  /// Returns whether anything has moved.
  GSOFA_DEVICE bool move_excess() {
    bool any = false;
    while (sweep()) any = true;
    return any;
  }
  /// Each active node moves its excess to lower levels. A node is on a list once: the thread that
  /// brings the first excess puts it there, or the warp that leaves some. Active nodes
  /// without a level never reach the sink again (PROOFS.md) and leave the lists.
  GSOFA_DEVICE bool sweep() {
    const std::uint32_t count = simt::load_shared_state(&counts_.active[sweep_ % 3]);
    if (count == 0) return false;
    if (thread() == 0) {
      counts_.active[(sweep_ + 2) % 3] = 0;
      counts_.moved[(sweep_ + 1) % 3] = 0;
    }
    for (std::uint32_t k = thread() / 32; k < count; k += threads() / 32) {
      const std::uint32_t node = active_[k];
      if (push(node)) push(other(node));
    }
    std::uint32_t* const next = queue_;
    queue_ = active_;
    active_ = next;
    sync();
    return simt::load_shared_state(&counts_.moved[sweep_++ % 3]) > 0;
  }
  GSOFA_DEVICE void activate(std::uint32_t node, bool wanted) {
    const std::uint32_t place = next_place(&counts_.active[(sweep_ + 1) % 3], wanted);
    if (wanted) queue_[place] = node;
  }
  /// Whole warps: moves the excess of a node. Returns whether the warp has brought the first excess
  /// to the exit of the same vertex, and so moves that next. Another warp may have moved excess of
  /// this exit in the same sweep: all that both change are sums.
  GSOFA_DEVICE bool push(std::uint32_t node) {
    const std::uint32_t level = f_.level[node];
    if (level == no_level) return false;
    const index_t v = vertex_of(node);
    std::uint32_t excess = 0;
    if (lane_index() == 0) excess = simt::load_shared_state(f_.excess + node);
    excess = simt::shuffle(excess, 0);
    std::uint32_t left = excess;
    bool wakes = false;
    if (!is_exit(node)) {
      cross(node, level, left, wakes);
      give_back(v, level, left);
    } else if (is_next_to(v, sink_bit)) {
      left = 0;
    } else {
      go_on(v, level, left);
      cross(node, level, left, wakes);
      activate(other(node), wakes && lane_index() == 0);
      wakes = false;
    }
    const std::uint32_t moved = excess - left;
    bool stays = false;
    if (lane_index() == 0) {
      stays = simt::atomic_add(f_.excess + node, 0 - moved) > moved;
      std::uint32_t* const any = &counts_.moved[sweep_ % 3];
      if (moved > 0 && simt::load_shared_state(any) == 0) simt::atomic_or(any, 1U);
    }
    activate(node, stays);
    return wakes;
  }
  /// From a node to the other node of its vertex.
  GSOFA_DEVICE void cross(std::uint32_t node, std::uint32_t level, std::uint32_t& left,
                          bool& wakes) {
    std::uint32_t moved = 0;
    std::uint32_t first = 0;
    if (lane_index() == 0 && f_.level[other(node)] < level) {
      std::uint32_t& through = f_.through[vertex_of(node)];
      moved = least(is_exit(node) ? through : weight(vertex_of(node)) - through, left);
      through = is_exit(node) ? through - moved : through + moved;
      first = moved > 0 && simt::atomic_add(f_.excess + other(node), moved) == 0 ? 1 : 0;
    }
    left -= simt::shuffle(moved, 0);
    wakes = simt::shuffle(first, 0) != 0;
  }
  /// From the entrance of v: what came from neighbours goes back to their exits.
  GSOFA_DEVICE void give_back(index_t v, std::uint32_t level, std::uint32_t& left) {
    for_neighbours(
        v, left,
        [&](index_t u, offset_t) {
          if (f_.level[exit(u)] >= level) return arc{};
          const offset_t e = entry_of(u, v);
          return arc{exit(u), f_.flow[e], e};
        },
        [&](const arc& a, std::uint32_t wanted, bool& first) {
          f_.flow[a.entry] -= wanted;
          first = simt::atomic_add(f_.excess + a.node, wanted) == 0;
          return wanted;
        });
  }
  /// From the exit of v to the entrances of neighbours, to none more than it lets through: what is
  /// left may go another way.
  GSOFA_DEVICE void go_on(index_t v, std::uint32_t level, std::uint32_t& left) {
    for_neighbours(
        v, left,
        [&](index_t u, offset_t e) {
          if (f_.level[entrance(u)] >= level) return arc{};
          const std::uint32_t most = weight(u);
          const std::uint32_t has = simt::load_shared_state(f_.excess + entrance(u));
          return arc{entrance(u), most - least(has, most), e};
        },
        [&](const arc& a, std::uint32_t wanted, bool& first) {
          const std::uint32_t most = weight(vertex_of(a.node));
          std::uint32_t has = most - a.room;
          for (;;) {
            const std::uint32_t moved = least(wanted, most - has);
            if (moved == 0) return moved;
            const std::uint32_t seen = simt::atomic_cas(f_.excess + a.node, has, has + moved);
            if (seen == has) {
              simt::atomic_add(f_.flow + a.entry, moved);
              first = has == 0;
              return moved;
            }
            has = least(seen, most);
          }
        });
  }
  /// An arc to a node of a neighbour that is lower.
  struct arc {
    std::uint32_t node = 0;
    std::uint32_t room = 0;
    offset_t entry = 0;  ///< whose flow changes
  };
  /// Whole warps: 32 neighbours at a time. The lanes share out what is `left`, in order, by the
  /// rooms of the arcs that find(neighbour, entry) returns; push(arc, wanted, first) moves it and
  /// returns how much; first: whether the node had no excess before.
  template <class Find, class Push>
  GSOFA_DEVICE void for_neighbours(index_t v, std::uint32_t& left, Find&& find, Push&& push) {
    for (offset_t base = g_.begin[v]; base < g_.end[v] && left > 0; base += 32) {
      const offset_t e = base + lane_index();
      const arc a = e < g_.end[v] ? find(g_.adj[e], e) : arc{};
      const std::uint32_t before = sum_of_lower_lanes(a.room);
      const std::uint32_t wanted = before < left ? least(a.room, left - before) : 0;
      bool first = false;
      const std::uint32_t moved = wanted > 0 ? push(a, wanted, first) : 0;
      activate(a.node, first);
      left -= simt::add_of_warp(moved);
    }
  }
  [[nodiscard]] GSOFA_DEVICE static std::uint32_t sum_of_lower_lanes(std::uint32_t value) {
    std::uint32_t sum = value;
    for (unsigned step = 1; step < 32; step *= 2) {
      const std::uint32_t lower = simt::shuffle_up(sum, step);
      if (lane_index() >= step) sum += lower;
    }
    return sum - value;
  }
  /// The entry of v in row u. Loads of 8 entries do not wait for each other.
  [[nodiscard]] GSOFA_DEVICE offset_t entry_of(index_t u, index_t v) const {
    const offset_t end = g_.end[u];
    offset_t found = end;
    for (offset_t base = g_.begin[u]; found == end; base += 8) {
      GSOFA_UNROLL for (offset_t e = base; e < base + 8; ++e) {
        if (e < end && g_.adj[e] == v) found = e;
      }
    }
    return found;
  }

  /// Takes the separator that is next to the sink, if it is better than S.
  GSOFA_DEVICE void take_cut() {
    const auto side_of = [&](index_t v) {
      return cut_side(source_, f_.level[entrance(v)] != no_level, f_.level[exit(v)] != no_level);
    };
    std::uint64_t* const gained = f_.gained + 3 * offset_t{graph_};
    for_threads(size_, [&](std::uint32_t k) {
      const index_t v = band_[k];
      if (side_of(v) == side(v)) return;
      simt::atomic_add(gained + side(v), 0 - std::uint64_t{weight(v)});
      simt::atomic_add(gained + side_of(v), std::uint64_t{weight(v)});
    });
    sync();
    winner cut = old_;
    for (int s = 0; s < 3; ++s) {
      cut.weight[s] += static_cast<offset_t>(simt::load_shared_state(gained + s));
    }
    const bool takes = cost_function(g_.total[graph_]).takes_minimum(cut.weight, old_.weight);
    if (thread() == 0) f_.found[graph_] = takes ? cut : old_;
    if (!takes) return;
    for_threads(size_, [&](std::uint32_t k) { side(band_[k]) = side_of(band_[k]); });
  }

  const level_view& g_;
  const flow_view& f_;
  index_t graph_;
  const winner& old_;
  index_t first_;        // vertex
  std::uint8_t source_;  // the side that is the source
  index_t* band_;
  std::uint32_t* active_;
  std::uint32_t* queue_;
  flow_counts& counts_;
  std::uint32_t size_ = 0;   // of the band
  std::uint32_t step_ = 0;   // of the searches of all waves
  std::uint32_t sweep_ = 0;  // of all waves
};

GSOFA_BOUNDED_KERNEL(flow_tuning::threads) void flow_kernel(level_view g, flow_view f) {
  simt::after_earlier_launches();
  const auto graph = static_cast<index_t>(simt::block_index() / simt::cluster_size());
  if (f.old[graph].weight[side_b] > 0) band_flow(g, f, graph).run();
}

/// Blocks of the cluster of each part: a power of two, so that all clusters run at once.
int blocks_of_part(index_t graphs) {
  int blocks = flow_tuning::most_blocks;
  while (blocks > 1 && graphs > resident_clusters(flow_kernel, blocks, flow_tuning::threads, 0)) {
    blocks /= 2;
  }
  return blocks;
}

}  // namespace

void minimum_separators(host_link& link, flow_space& s, const level& whole, std::uint8_t* side,
                        std::span<const index_t> graphs, std::span<winner> winners) {
  const level_view g = whole.view();
  const auto count = at(g.graphs);
  const auto has_sides = [](const winner& w) {
    return w.weight[side_a] > 0 && w.weight[side_b] > 0;
  };
  if (std::ranges::none_of(winners, has_sides)) return;
  auto* const old = link.room<winner>(count);
  auto* const found = link.room<winner>(count);
  std::fill_n(old, count, winner{});
  for (std::size_t k = 0; k < graphs.size(); ++k) {
    if (has_sides(winners[k])) old[graphs[k]] = winners[k];
  }
  static_assert(sizeof(flow_counts) % sizeof(offset_t) == 0);
  constexpr offset_t words_of_graph = 3 + sizeof(flow_counts) / sizeof(offset_t);
  offset_t* const words = s.words.resize(words_of_graph * g.graphs);
  link.upload(s.old.resize(g.graphs), old, count, words, words_of_graph * g.graphs);
  const offset_t n = g.n;
  const flow_view view{.old = s.old.data(),
                       .found = found,
                       .side = side,
                       .level = s.level.resize(2 * n),
                       .excess = s.excess.resize(2 * n),
                       .through = s.through.resize(n),
                       .next_to = s.next_to.resize(n),
                       .flow = s.flow.resize(whole.room),
                       .band = s.band.resize(n),
                       .active = s.active.resize(2 * n),
                       .queue = s.queue.resize(2 * n),
                       .gained = reinterpret_cast<std::uint64_t*>(words),
                       .counts = reinterpret_cast<flow_counts*>(words + 3 * g.graphs)};
  const int blocks = blocks_of_part(g.graphs);
  if (blocks > 1) {
    launch_clusters(flow_kernel, g.graphs, blocks, flow_tuning::threads, 0, g, view);
  } else {
    const bool few = g.graphs <= 2 * multiprocessors();
    launch_overlapping(flow_kernel, g.graphs,
                       few ? flow_tuning::threads : flow_tuning::threads_of_many, 0, g, view);
  }
  link.wait();
  for (std::size_t k = 0; k < graphs.size(); ++k) {
    if (has_sides(winners[k])) winners[k] = found[graphs[k]];
  }
}

}  // namespace gsofa::orders::device

#endif
