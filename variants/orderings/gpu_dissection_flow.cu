// The minimum separators in bands around the separators that win, of many parts at once. Device
// form of nested_dissection_flow.cpp: the flow may be another one, the separator is the same.
//
// A crew of threads searches one network: all threads of the grid that of all parts together if
// parts are few, otherwise each block that of one part. Every vertex v has two nodes, its entrance
// 2 v and its exit 2 v + 1. In a wave the crew first reaches nodes from the sink level by level,
// and then moves excess down level by level. Nodes of one level push along arcs of their own, so
// that only the sums of excess need atomic operations.

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include <algorithm>

#include "variants/device/row_teams.hpp"
#include "variants/device/simt_grid.hpp"
#include "variants/orderings/gpu_dissection_stages.hpp"
#include "variants/orderings/gpu_dissection_tuning.hpp"
#include "variants/orderings/gpu_dissection_warps.cuh"

namespace gsofa::orders::device {

namespace {

// Levels of nodes that have no distance to the sink. Both nodes of a vertex outside the band are
// `outside`.
constexpr std::uint32_t no_level = 0xffffffffU;
constexpr std::uint32_t outside = 0xfffffffeU;
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
  std::uint32_t* queue;    ///< by node
  std::uint32_t* starts;   ///< by node, two more for each graph: where a level begins in the queue
  std::uint64_t* gained;   ///< by graph and side: weight, modulo 2^64
  flow_counts* counts;     ///< by crew
};

/// All threads of the grid, for all graphs.
struct grid_crew {
  index_t first_graph, last_graph;
  GSOFA_DEVICE explicit grid_crew(const level_view& g) : first_graph(0), last_graph(g.graphs) {}
  [[nodiscard]] GSOFA_DEVICE unsigned thread() const {
    return simt::block_index() * simt::block_size() + simt::thread_index();
  }
  [[nodiscard]] GSOFA_DEVICE unsigned threads() const {
    return simt::grid_size() * simt::block_size();
  }
  GSOFA_DEVICE void sync() const { simt::sync_grid(); }
};

/// The threads of a block, for the graph of its number.
struct block_crew {
  index_t first_graph, last_graph;
  GSOFA_DEVICE explicit block_crew(const level_view&)
      : first_graph(static_cast<index_t>(simt::block_index())), last_graph(first_graph + 1) {}
  [[nodiscard]] GSOFA_DEVICE unsigned thread() const { return simt::thread_index(); }
  [[nodiscard]] GSOFA_DEVICE unsigned threads() const { return simt::block_size(); }
  GSOFA_DEVICE void sync() const { simt::sync_block(); }
};

template <class Crew>
class band_flow {
 public:
  GSOFA_DEVICE band_flow(const level_view& g, const flow_view& f)
      : g_(g),
        f_(f),
        crew_(g),
        first_(g.first[crew_.first_graph]),
        last_(g.first[crew_.last_graph]),
        band_(f.band + first_),
        queue_(f.queue + 2 * offset_t{first_}),
        starts_(f.starts + 2 * (offset_t{first_} + crew_.first_graph)),
        counts_(f.counts[crew_.first_graph]) {}

  GSOFA_DEVICE void run() {
    find_band();
    fill();
    for (std::uint32_t wave = 0;; ++wave) {
      const std::uint32_t top = find_levels(wave);
      if (top == 0) break;
      for (std::uint32_t level = top; level > 0; --level) push_down(level);
    }
    take_cut();
  }

 private:
  [[nodiscard]] GSOFA_DEVICE static std::uint32_t entrance(index_t v) {
    return 2 * static_cast<std::uint32_t>(v);
  }
  [[nodiscard]] GSOFA_DEVICE static std::uint32_t exit(index_t v) { return entrance(v) + 1; }
  [[nodiscard]] GSOFA_DEVICE std::uint32_t weight(index_t v) const {
    return static_cast<std::uint32_t>(g_.weight[v]);
  }
  [[nodiscard]] GSOFA_DEVICE std::uint8_t& side(index_t v) const {
    const index_t i = g_.owner[v];
    return f_.side[f_.old[i].first + static_cast<std::uint64_t>(v - g_.first[i])];
  }
  [[nodiscard]] GSOFA_DEVICE std::uint8_t source_of(index_t v) const {
    const winner& old = f_.old[g_.owner[v]];
    return source_side(old.weight[side_a], old.weight[side_b]);
  }
  [[nodiscard]] GSOFA_DEVICE bool has_flow(index_t graph) const {
    return f_.old[graph].weight[side_b] > 0;
  }

  /// Each thread takes some of the numbers below `count`.
  template <class Body>
  GSOFA_DEVICE void for_threads(std::uint32_t count, Body&& body) const {
    for (std::uint32_t k = crew_.thread(); k < count; k += crew_.threads()) body(k);
  }
  /// Each group of lanes takes some of the vertices: body(vertex, entry of its row) by all lanes.
  template <class List, class Body>
  GSOFA_DEVICE void for_rows(std::uint32_t from, std::uint32_t to, List&& list, Body&& body) const {
    for (std::uint32_t k = from + crew_.thread() / lanes; k < to; k += crew_.threads() / lanes) {
      const index_t v = list(k);
      for (offset_t e = g_.begin[v] + simt::thread_index() % lanes; e < g_.end[v]; e += lanes) {
        body(k, v, e);
      }
    }
  }

  GSOFA_DEVICE void find_band() {
    for_threads(static_cast<std::uint32_t>(last_ - first_), [&](std::uint32_t k) {
      const index_t v = first_ + static_cast<index_t>(k);
      const bool is = has_flow(g_.owner[v]) && side(v) == separator;
      f_.level[entrance(v)] = f_.level[exit(v)] = is ? no_level : outside;
      f_.excess[entrance(v)] = f_.excess[exit(v)] = 0;
      f_.through[v] = f_.next_to[v] = 0;
      if (is) band_[simt::atomic_add(&counts_.layer[0], 1U)] = v;
    });
    crew_.sync();
    std::uint32_t from = 0;
    size_ = simt::load_shared_state(&counts_.layer[0]);
    for (int layer = 1; layer <= band_layers; ++layer) {
      for_rows(
          from, size_, [&](std::uint32_t k) { return band_[k]; },
          [&](std::uint32_t, index_t, offset_t e) {
            const index_t u = g_.adj[e];
            if (simt::load_shared_state(f_.level + entrance(u)) != outside) return;
            if (simt::atomic_cas(f_.level + entrance(u), outside, no_level) != outside) return;
            f_.level[exit(u)] = no_level;
            band_[size_ + simt::atomic_add(&counts_.layer[layer], 1U)] = u;
          });
      crew_.sync();
      from = size_;
      size_ += simt::load_shared_state(&counts_.layer[layer]);
    }
  }

  /// No flow but from the source into the vertices next to it.
  GSOFA_DEVICE void fill() {
    for_rows(
        0, size_, [&](std::uint32_t k) { return band_[k]; },
        [&](std::uint32_t, index_t v, offset_t e) {
          f_.flow[e] = 0;
          const index_t u = g_.adj[e];
          if (f_.level[entrance(u)] != outside) return;
          simt::atomic_or(f_.next_to + v, side(u) == source_of(u) ? source_bit : sink_bit);
        });
    crew_.sync();
    for_threads(size_, [&](std::uint32_t k) {
      const index_t v = band_[k];
      if ((f_.next_to[v] & source_bit) != 0) f_.through[v] = f_.excess[exit(v)] = weight(v);
    });
    crew_.sync();
  }

  /// Finds the levels of the nodes that reach the sink, and lists these nodes; returns the highest
  /// level of a node with excess, 0 if there is none. counts_.reached has three sizes, of the level
  /// that is listed, of the level that comes next and of a level that is over.
  GSOFA_DEVICE std::uint32_t find_levels(std::uint32_t wave) {
    std::uint32_t* const top = counts_.top + wave % 2;
    const bool leads = crew_.thread() == 0;
    if (leads) counts_.reached[(step_ + 2) % 3] = 0;
    for_threads(size_, [&](std::uint32_t k) {
      const index_t v = band_[k];
      const bool is = (f_.next_to[v] & sink_bit) != 0;
      f_.level[entrance(v)] = no_level;
      f_.level[exit(v)] = is ? 1 : no_level;
      if (is) list(exit(v), 1, 0, top);
    });
    crew_.sync();
    ++step_;
    if (leads) counts_.top[(wave + 1) % 2] = 0;
    std::uint32_t from = 0;
    for (std::uint32_t level = 1;; ++level, ++step_) {
      const std::uint32_t count = simt::load_shared_state(&counts_.reached[step_ % 3]);
      if (leads) starts_[level - 1] = from;
      if (count == 0) break;
      if (leads) counts_.reached[(step_ + 2) % 3] = 0;
      reach_from(from, from + count, level + 1, top);
      from += count;
      crew_.sync();
    }
    crew_.sync();
    return simt::load_shared_state(top);
  }
  GSOFA_DEVICE void list(std::uint32_t node, std::uint32_t level, std::uint32_t from,
                         std::uint32_t* top) {
    queue_[from + simt::atomic_add(&counts_.reached[(step_ + 1) % 3], 1U)] = node;
    if (f_.excess[node] > 0) simt::atomic_max(top, level);
  }
  GSOFA_DEVICE void reach_from(std::uint32_t from, std::uint32_t to, std::uint32_t level,
                               std::uint32_t* top) {
    const auto reach = [&](std::uint32_t node) {
      if (simt::load_shared_state(f_.level + node) != no_level) return;
      if (simt::atomic_cas(f_.level + node, no_level, level) != no_level) return;
      list(node, level, to, top);
    };
    for_threads(to - from, [&](std::uint32_t k) {
      const std::uint32_t node = queue_[from + k];
      const auto v = static_cast<index_t>(node / 2);
      if (node == exit(v)) {
        const bool has_room = f_.through[v] < weight(v);
        if (has_room && (f_.next_to[v] & source_bit) == 0) reach(entrance(v));
      } else if (f_.through[v] > 0) {
        reach(exit(v));
      }
    });
    for_rows(
        from, to, [&](std::uint32_t k) { return static_cast<index_t>(queue_[k] / 2); },
        [&](std::uint32_t k, index_t v, offset_t e) {
          const index_t u = g_.adj[e];
          if (queue_[k] == entrance(v)) {
            reach(exit(u));
          } else if (f_.flow[e] > 0) {
            reach(entrance(u));
          }
        });
  }

  /// Moves the excess of the nodes of a level down. Whole warps look at 32 nodes, then push from
  /// those that have excess.
  GSOFA_DEVICE void push_down(std::uint32_t level) {
    const std::uint32_t from = starts_[level - 1];
    const std::uint32_t to = starts_[level];
    for (std::uint32_t base = from + crew_.thread() / 32 * 32; base < to; base += crew_.threads()) {
      const std::uint32_t k = base + lane_index();
      const std::uint32_t own = k < to ? queue_[k] : 0;
      unsigned mask = simt::ballot(k < to && f_.excess[own] > 0);
      for (; mask != 0; mask &= mask - 1) {
        const std::uint32_t node = simt::shuffle(own, simt::lowest_bit(mask));
        const auto v = static_cast<index_t>(node / 2);
        std::uint32_t excess = f_.excess[node];
        if (node == entrance(v)) {
          push_entrance(v, level - 1, excess);
        } else if (level == 1) {
          excess = 0;
        } else {
          push_exit(v, level - 1, excess);
        }
        simt::sync_warp();
        if (lane_index() == 0) f_.excess[node] = excess;
      }
    }
    crew_.sync();
  }
  /// Moves at most `room` units of excess to a node, if it is on level `below`; all lanes call it.
  GSOFA_DEVICE std::uint32_t move(std::uint32_t node, std::uint32_t below, std::uint32_t room,
                                  std::uint32_t& excess) {
    if (f_.level[node] != below) return 0;
    const std::uint32_t moved = room < excess ? room : excess;
    if (lane_index() == 0 && moved > 0) simt::atomic_add(f_.excess + node, moved);
    excess -= moved;
    return moved;
  }
  GSOFA_DEVICE void push_entrance(index_t v, std::uint32_t below, std::uint32_t& excess) {
    const std::uint32_t through = f_.through[v];
    const std::uint32_t moved = move(exit(v), below, weight(v) - through, excess);
    simt::sync_warp();
    if (lane_index() == 0) f_.through[v] = through + moved;
    // What came from neighbours goes back.
    for_neighbours(
        v, excess,
        [&](bool is, index_t u, offset_t) {
          return is && f_.level[exit(u)] == below ? entry_of(u, v) : offset_t{-1};
        },
        [&](index_t u, offset_t e, std::uint32_t left) {
          const std::uint32_t flow = f_.flow[e];
          const std::uint32_t back = flow < left ? flow : left;
          f_.flow[e] = flow - back;
          if (back > 0) simt::atomic_add(f_.excess + exit(u), back);
          return back;
        });
  }
  GSOFA_DEVICE void push_exit(index_t v, std::uint32_t below, std::uint32_t& excess) {
    // No more than the neighbour lets through: what is left may go another way.
    for_neighbours(
        v, excess,
        [&](bool is, index_t u, offset_t e) {
          return is && f_.level[entrance(u)] == below ? e : offset_t{-1};
        },
        [&](index_t u, offset_t e, std::uint32_t left) {
          const std::uint32_t most = weight(u);
          const std::uint32_t before = simt::atomic_add(f_.excess + entrance(u), left);
          const std::uint32_t room = before < most ? most - before : 0;
          const std::uint32_t moved = room < left ? room : left;
          if (moved < left) simt::atomic_add(f_.excess + entrance(u), moved - left);
          f_.flow[e] += moved;
          return moved;
        });
    const std::uint32_t through = f_.through[v];
    const std::uint32_t moved = move(entrance(v), below, through, excess);
    simt::sync_warp();
    if (lane_index() == 0) f_.through[v] = through - moved;
  }
  /// Whole warps: 32 neighbours u of v at a time, find(whether the lane has one, u, entry) by all
  /// lanes, then, as long as there is excess, push(u, what was found, excess) by one lane after the
  /// other, of those that have found an entry (not negative).
  template <class Find, class Push>
  GSOFA_DEVICE void for_neighbours(index_t v, std::uint32_t& excess, Find&& find, Push&& push) {
    for (offset_t base = g_.begin[v]; base < g_.end[v] && excess > 0; base += 32) {
      const offset_t e = base + lane_index();
      const bool is = e < g_.end[v];
      const index_t u = is ? g_.adj[e] : 0;
      const offset_t found = find(is, u, e);
      for (unsigned mask = simt::ballot(found >= 0); mask != 0 && excess > 0; mask &= mask - 1) {
        const unsigned lane = simt::lowest_bit(mask);
        std::uint32_t moved = 0;
        if (lane_index() == lane) moved = push(u, found, excess);
        excess -= simt::shuffle(moved, lane);
      }
    }
  }
  /// The entry of v in row u.
  [[nodiscard]] GSOFA_DEVICE offset_t entry_of(index_t u, index_t v) const {
    offset_t e = g_.begin[u];
    while (g_.adj[e] != v) ++e;
    return e;
  }

  /// Takes the separator of each graph that is next to the sink, if it is better than S.
  GSOFA_DEVICE void take_cut() {
    const auto side_of = [&](index_t v) {
      return cut_side(source_of(v), f_.level[entrance(v)] != no_level,
                      f_.level[exit(v)] != no_level);
    };
    for_threads(size_, [&](std::uint32_t k) {
      const index_t v = band_[k];
      std::uint64_t* const gained = f_.gained + 3 * offset_t{g_.owner[v]};
      if (side_of(v) == side(v)) return;
      simt::atomic_add(gained + side(v), 0 - std::uint64_t{weight(v)});
      simt::atomic_add(gained + side_of(v), std::uint64_t{weight(v)});
    });
    crew_.sync();
    for_threads(size_, [&](std::uint32_t k) {
      const index_t v = band_[k];
      winner taken{};
      if (takes(g_.owner[v], taken)) side(v) = side_of(v);
    });
    for_threads(static_cast<std::uint32_t>(crew_.last_graph - crew_.first_graph),
                [&](std::uint32_t k) {
                  const index_t i = crew_.first_graph + static_cast<index_t>(k);
                  winner taken{};
                  f_.found[i] = has_flow(i) && takes(i, taken) ? taken : f_.old[i];
                });
  }
  [[nodiscard]] GSOFA_DEVICE bool takes(index_t graph, winner& taken) const {
    const winner& old = f_.old[graph];
    taken = old;
    for (int s = 0; s < 3; ++s) {
      taken.weight[s] += static_cast<offset_t>(f_.gained[3 * offset_t{graph} + s]);
    }
    return cost_function(g_.total[graph]).takes_minimum(taken.weight, old.weight);
  }

  const level_view& g_;
  const flow_view& f_;
  Crew crew_;
  index_t first_, last_;  // vertices
  index_t* band_;
  std::uint32_t* queue_;
  std::uint32_t* starts_;
  flow_counts& counts_;
  std::uint32_t size_ = 0;  // of the band
  std::uint32_t step_ = 0;  // levels of all waves
};

GSOFA_KERNEL void flow_kernel(level_view g, flow_view f) { band_flow<grid_crew>(g, f).run(); }

GSOFA_KERNEL void flow_of_parts_kernel(level_view g, flow_view f) {
  simt::after_earlier_launches();
  const auto graph = static_cast<index_t>(simt::block_index());
  if (f.old[graph].weight[side_b] > 0) band_flow<block_crew>(g, f).run();
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
                       .queue = s.queue.resize(2 * n),
                       .starts = s.starts.resize(2 * (n + g.graphs)),
                       .gained = reinterpret_cast<std::uint64_t*>(words),
                       .counts = reinterpret_cast<flow_counts*>(words + 3 * g.graphs)};
  if (g.graphs <= flow_tuning::most_of_grid) {
    const int blocks = is_emulated ? 2 : std::min(multiprocessors(), blocks_for(g.n));
    launch_cooperative(flow_kernel, blocks, flow_tuning::threads, 0, g, view);
  } else {
    const bool few = g.graphs <= 2 * multiprocessors();
    launch_overlapping(flow_of_parts_kernel, g.graphs,
                       few ? flow_tuning::threads : flow_tuning::threads_of_many, 0, g, view);
  }
  link.wait();
  for (std::size_t k = 0; k < graphs.size(); ++k) {
    if (has_sides(winners[k])) winners[k] = found[graphs[k]];
  }
}

}  // namespace gsofa::orders::device

#endif
