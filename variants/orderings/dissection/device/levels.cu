// Separators that are a level of a breadth-first search, of several parts at once. Device form of
// host/levels.cpp.

#include "variants/orderings/dissection/device/stages.hpp"
#include "variants/orderings/dissection/device/tuning.hpp"
#include "variants/orderings/dissection/device/warps.cuh"

#if defined(GSOFA_GPU)

#include <algorithm>

#include "variants/device/simt_grid.hpp"
#include "variants/device/tile_scan.hpp"

namespace gsofa::orders::device {

namespace {

constexpr std::uint32_t unreached = 0xffffffffU;

struct search_view {
  const search_task* tasks;  ///< by graph
  std::uint32_t* level;      ///< by vertex
  index_t* queue;            ///< vertices in ascending order of their levels
  std::uint64_t* width;      ///< weight of level k of graph i: width[g.first[i] + k]
  std::uint32_t* deepest;    ///< by graph: its last level
  std::uint32_t* farthest;   ///< by graph: the largest vertex of that level, and 1
  std::uint32_t* reached;    ///< three: vertices of level k by k % 3
};

GSOFA_DEVICE std::uint64_t thread_of_grid() {
  return std::uint64_t{simt::block_index()} * simt::block_size() + simt::thread_index();
}
GSOFA_DEVICE std::uint64_t threads_of_grid() {
  return std::uint64_t{simt::grid_size()} * simt::block_size();
}

/// Before a search: no vertex is reached but the roots.
GSOFA_DEVICE void begin_search(const level_view& g, const search_view& s, bool first) {
  for (std::uint64_t v = thread_of_grid(); v < static_cast<std::uint64_t>(g.n);
       v += threads_of_grid()) {
    s.level[v] = unreached;
    s.width[v] = 0;
  }
  if (thread_of_grid() < 3) s.reached[thread_of_grid()] = 0;
  simt::sync_grid();
  for (std::uint64_t i = thread_of_grid(); i < static_cast<std::uint64_t>(g.graphs);
       i += threads_of_grid()) {
    if (s.tasks[i].root < 0) continue;
    const index_t v = first ? s.tasks[i].root : static_cast<index_t>(s.farthest[i]) - 1;
    s.farthest[i] = s.deepest[i] = 0;
    s.level[v] = 0;
    s.queue[simt::atomic_add(s.reached, 1U)] = v;
  }
  simt::sync_grid();
}

/// Adds the weights of the vertices that leaders of the warp's lanes hold to the widths of their
/// level.
GSOFA_DEVICE void add_width(const level_view& g, const search_view& s, bool leads, index_t graph,
                            std::uint32_t level, std::uint64_t weight) {
  const unsigned mask = simt::ballot(leads);
  if (mask == 0) return;
  const index_t one = simt::shuffle(graph, simt::lowest_bit(mask));
  const bool apart = simt::ballot(leads && graph != one) != 0;
  const std::uint64_t sum = sum_of_warp(leads && !apart ? weight : 0);
  if (apart ? leads : lane_index() == 0) {
    const index_t own = apart ? graph : one;
    simt::atomic_add(s.width + g.first[own] + level, apart ? weight : sum);
  }
}

/// Reaches the vertices of level `level` + 1 from those at places from .. to - 1 of the queue.
GSOFA_DEVICE void search_level(const level_view& g, const search_view& s, std::uint32_t level,
                               std::uint32_t from, std::uint32_t to) {
  std::uint32_t* const reached = s.reached + (level + 1) % 3;
  const auto groups = static_cast<std::uint32_t>(threads_of_grid() / lanes);
  const unsigned groups_of_warp = 32 / lanes;
  const auto own = static_cast<std::uint32_t>(thread_of_grid() / lanes);
  // Whole warps go through the loops, for their votes.
  for (std::uint32_t base = own / groups_of_warp * groups_of_warp; base < to - from;
       base += groups) {
    const std::uint32_t k = base + own % groups_of_warp;
    const bool is = k < to - from;
    const index_t v = is ? s.queue[from + k] : 0;
    const index_t graph = is ? g.owner[v] : 0;
    const bool leads = is && lane_index() % lanes == 0;
    add_width(g, s, leads, graph, level, leads ? static_cast<std::uint64_t>(g.weight[v]) : 0);
    const bool goes = is && level < static_cast<std::uint32_t>(s.tasks[graph].most);
    offset_t e = goes ? g.begin[v] + lane_index() % lanes : 0;
    const offset_t end = goes ? g.end[v] : 0;
    while (simt::ballot(e < end) != 0) {
      bool mine = false;
      index_t u = 0;
      if (e < end) {
        u = g.adj[e];
        mine = simt::load_shared_state(s.level + u) == unreached &&
               simt::atomic_cas(s.level + u, unreached, level + 1) == unreached;
        if (mine) simt::atomic_max(s.deepest + graph, level + 1);
      }
      e += lanes;
      const std::uint32_t place = next_place(reached, mine);
      if (mine) s.queue[to + place] = u;
    }
  }
}

/// A level of a graph as a separator.
struct level_choice {
  std::uint64_t cost;
  std::uint32_t level;
  offset_t below, width;
  [[nodiscard]] GSOFA_DEVICE bool operator<(const level_choice& o) const {
    return cost < o.cost || (cost == o.cost && level < o.level);
  }
};

/// The cheapest level of each graph that is searched, one warp each.
GSOFA_DEVICE void choose_levels(const level_view& g, const search_view& s, found_level* found) {
  const auto warps = static_cast<index_t>(threads_of_grid() / 32);
  for (auto i = static_cast<index_t>(thread_of_grid() / 32); i < g.graphs; i += warps) {
    if (s.tasks[i].root < 0) continue;
    const cost_function cost(g.total[i]);
    level_choice best{~std::uint64_t{0}, unreached, 0, 0};
    std::uint64_t before = 0;
    const std::uint32_t levels = s.deepest[i] + 1;
    for (std::uint32_t base = 0; base < levels; base += 32) {
      const std::uint32_t level = base + lane_index();
      const std::uint64_t width = level < levels ? s.width[g.first[i] + level] : 0;
      std::uint64_t sum = width;
      for (unsigned step = 1; step < 32; step *= 2) {
        const std::uint64_t lower = simt::shuffle_up(sum, step);
        sum += lane_index() >= step ? lower : 0;
      }
      const auto below = static_cast<offset_t>(before + sum - width);
      const auto own = static_cast<offset_t>(width);
      const offset_t above = g.total[i] - below - own;
      if (level < levels && are_even(below, above, g.total[i])) {
        const level_choice c{cost(below, above, own), level, below, own};
        if (c < best) best = c;
      }
      before += simt::shuffle(sum, 31);
    }
    for (unsigned step = 16; step > 0; step /= 2) {
      const level_choice other{
          simt::shuffle_xor(best.cost, step), simt::shuffle_xor(best.level, step),
          simt::shuffle_xor(best.below, step), simt::shuffle_xor(best.width, step)};
      if (other < best) best = other;
    }
    if (lane_index() == 0) {
      found[i] = {best.cost,
                  {best.below, g.total[i] - best.below - best.width, best.width},
                  best.level,
                  best.level != unreached ? 1U : 0U};
    }
  }
}

/// Two searches of each graph, by all blocks: from its root, then from the vertex farthest away,
/// whose cheapest level is chosen.
GSOFA_KERNEL void search_kernel(level_view g, search_view s, found_level* found) {
  for (int sweep = 0; sweep < 2; ++sweep) {
    begin_search(g, s, sweep == 0);
    std::uint32_t from = 0;
    for (std::uint32_t level = 0;; ++level) {
      // Until the next barrier vertices are counted for the next level only.
      const std::uint32_t count = simt::load_shared_state(s.reached + level % 3);
      if (count == 0) break;
      if (thread_of_grid() == 0) s.reached[(level + 2) % 3] = 0;
      search_level(g, s, level, from, from + count);
      from += count;
      simt::sync_grid();
    }
    if (sweep == 1) break;
    for (std::uint64_t v = thread_of_grid(); v < static_cast<std::uint64_t>(g.n);
         v += threads_of_grid()) {
      const index_t graph = g.owner[v];
      if (s.tasks[graph].root >= 0 && s.level[v] == s.deepest[graph]) {
        simt::atomic_max(s.farthest + graph, static_cast<std::uint32_t>(v) + 1);
      }
    }
    simt::sync_grid();
  }
  choose_levels(g, s, found);
}

}  // namespace

search_space::search_space(memory_budget& budget)
    : tasks(budget, "levels"),
      level(budget, "levels"),
      queue(budget, "levels"),
      words(budget, "levels"),
      width(budget, "levels"),
      found(budget, "levels") {}

search_space::~search_space() {
  try {
    beside.join();
  } catch (const std::exception&) {
    // The device has failed, and its memory is not used again.
  }
}

void search_levels(host_link& link, search_space& s, const level& whole,
                   std::span<const index_t> graphs, std::span<const std::uint64_t> keys) {
  const level_view g = whole.view();
  const auto count = at(g.graphs);
  auto* const tasks = link.room<search_task>(count);
  std::fill_n(tasks, count, search_task{-1, 0});
  for (std::size_t k = 0; k < graphs.size(); ++k) {
    const index_t i = graphs[k];
    const index_t n = whole.size_of(i);
    tasks[i] = {whole.first[at(i)] + first_root(keys[k], n), most_levels(n)};
  }
  found_level* const found = s.found.resize(g.graphs);
  link.upload(s.tasks.resize(g.graphs), tasks, count);
  std::uint32_t* const words = s.words.resize(2 * g.graphs + 3);
  const search_view view{.tasks = s.tasks.data(),
                         .level = s.level.resize(g.n),
                         .queue = s.queue.resize(g.n),
                         .width = s.width.resize(g.n),
                         .deepest = words,
                         .farthest = words + count,
                         .reached = words + 2 * count};
  // Few blocks, so that the coarsening can run at the same time.
  const int blocks =
      is_emulated ? 2 : std::max(1, std::min(multiprocessors() / 3, blocks_for(g.n)));
  s.beside.begin();
  launch_cooperative_beside(&s.beside, search_kernel, blocks, level_tuning::threads, 0, g, view,
                            found);
}

void join(search_space& s) { s.beside.join(); }

found_levels found(const search_space& s) { return {s.level.data(), s.found.data()}; }

}  // namespace gsofa::orders::device

#endif
