// Contraction of matched graphs: a pair of vertices becomes one, whose row merges theirs in a
// table. Device form of host/contract.cpp.

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include <algorithm>

#include "variants/orderings/dissection/arithmetic.hpp"
#include "variants/orderings/dissection/device/stages.hpp"
#include "variants/orderings/dissection/device/tuning.hpp"

namespace gsofa::orders::device {

namespace {

constexpr unsigned table_slots = contract_tuning::table_slots;

/// Rows of coarse vertices: the neighbours of both fine vertices, in a table of distinct ones. The
/// table of a group of lanes has as many slots as the row has entries, or more.
struct contract_op {
  static constexpr offset_t longest = table_slots;
  struct alignas(16) memory {
    std::uint32_t key[row_groups * table_slots];
    std::uint32_t weight[row_groups * table_slots];
    std::uint8_t slot[row_groups * table_slots];  ///< of the k-th distinct neighbour
    entry_sum::memory sums;
  };
  level_view g;
  const task* tasks;
  const kept_task* kept;
  index_t tasks_count;
  const index_t* task_of_vertex;
  numbering from;
  // The coarse level.
  index_t graphs;
  index_t n;
  offset_t map_size;
  index_t *first, *owner, *adj, *edge, *weight, *parent, *map;
  offset_t *begin, *end, *total, *entries, *map_first;
  entry_sum sum;

  GSOFA_DEVICE offset_t length(index_t x) const {
    const index_t k = task_of_vertex[x];
    const kept_task& to = kept[k];
    if (to.graph == none) return -1;
    const index_t local = x - tasks[k].first;
    map[to.map + local] = to.first + from.id[x];
    if (local >= to.vertices) return -1;
    const index_t v = from.one[x];
    const index_t u = from.two[x];
    return g.end[v] - g.begin[v] + (u == none ? 0 : g.end[u] - g.begin[u]);
  }

  /// Where the entries of a row are: those of the one fine vertex, then those of the other.
  struct source {
    offset_t of_one, begin_one, begin_two;
    index_t to_virtual, local;

    GSOFA_DEVICE offset_t at(offset_t e) const { return (e < of_one ? begin_one : begin_two) + e; }
  };
  GSOFA_DEVICE source source_of(index_t x, index_t k) const {
    const index_t v = from.one[x];
    const index_t u = from.two[x];
    const offset_t begin_v = g.begin[v];
    const offset_t of_v = g.end[v] - begin_v;
    return {of_v, begin_v, u == none ? 0 : g.begin[u] - of_v,
            tasks[k].first - g.first[tasks[k].parent], x - tasks[k].first};
  }
  /// The neighbour of an entry, or the vertex itself.
  GSOFA_DEVICE index_t neighbour(const source& s, offset_t e) const {
    return from.id[g.adj[s.at(e)] + s.to_virtual];
  }
  GSOFA_DEVICE std::uint32_t weight_of(const source& s, offset_t e) const {
    return g.edge == nullptr ? 1U : static_cast<std::uint32_t>(g.edge[s.at(e)]);
  }

  GSOFA_DEVICE void row(lane_group& team, index_t x, offset_t length) {
    memory* const shared = shared_of_rows<memory>();
    const unsigned table = lane_group::index() * table_slots;
    std::uint32_t* const key = shared->key + table;
    std::uint32_t* const sums = shared->weight + table;
    std::uint8_t* const slot = shared->slot + table;
    const unsigned rank = lane_group::rank();
    unsigned slots = 4 * lanes;
    while (slots < length) slots *= 2;
    for (unsigned s = 4 * rank; s < slots; s += 4 * lanes) {
      *reinterpret_cast<four_words*>(key + s) = {empty_slot, empty_slot, empty_slot, empty_slot};
      *reinterpret_cast<four_words*>(sums + s) = {};
    }
    source of{};
    kept_task to{none, 0, 0, 0, 0};
    offset_t place = 0;
    if (length >= 0) {
      const index_t k = task_of_vertex[x];
      to = kept[k];
      of = source_of(x, k);
      place = to.room + from.place[x];
    }
    simt::sync_warp();
    offset_t found = 0;
    const offset_t steps = team.most_steps(length < 0 ? 0 : (length + lanes - 1) / lanes);
    for (offset_t step = 0; step < steps; ++step) {
      const offset_t e = step * lanes + rank;
      const index_t c = e < length ? neighbour(of, e) : of.local;
      const std::uint32_t w = e < length ? weight_of(of, e) : 0;
      entry at{0, false};
      if (c != of.local) at = insert(key, sums, slots, static_cast<std::uint32_t>(c), w);
      const offset_t there = team.place(at.is_new, found);
      if (!at.is_new) continue;
      slot[there] = static_cast<std::uint8_t>(at.slot);
      adj[place + there] = to.first + c;
    }
    simt::sync_warp();
    for (offset_t k = rank; k < found; k += lanes) {
      edge[place + k] = static_cast<index_t>(sums[slot[k]]);
    }
    if (length >= 0 && rank == 0) end_row(x, to, of.local, place, found);
    simt::sync_warp();
  }

  /// Of long rows. The table has twice as many slots as keys, or as many where rows are longer
  /// still: then it is the row itself.
  GSOFA_DEVICE void row(whole_block& team, index_t x, offset_t length) {
    memory* const shared = shared_of_rows<memory>();
    constexpr offset_t block_slots = offset_t{row_groups} * table_slots;
    const index_t k = task_of_vertex[x];
    const kept_task to = kept[k];
    const source of = source_of(x, k);
    const offset_t place = to.room + from.place[x];
    offset_t slots = team.size();
    while (slots < 2 * length && slots < block_slots) slots *= 2;
    std::uint32_t* key = shared->key;
    std::uint32_t* sums = shared->weight;
    if (slots < length) {
      slots = length;
      key = reinterpret_cast<std::uint32_t*>(adj + place);
      sums = reinterpret_cast<std::uint32_t*>(edge + place);
    }
    for (offset_t s = team.rank(); s < slots; s += team.size()) {
      key[s] = empty_slot;
      sums[s] = 0;
    }
    simt::sync_block();
    for (offset_t e = team.rank(); e < length; e += team.size()) {
      const index_t c = neighbour(of, e);
      if (c == of.local) continue;
      insert(key, sums, slots, static_cast<std::uint32_t>(c), weight_of(of, e));
    }
    simt::sync_block();
    offset_t found = 0;
    const offset_t steps = (slots + team.size() - 1) / team.size();
    for (offset_t step = 0; step < steps; ++step) {
      const offset_t s = step * team.size() + team.rank();
      const std::uint32_t c = s < slots ? key[s] : empty_slot;
      const std::uint32_t w = s < slots ? sums[s] : 0;
      // In a table that is the row itself, entries move only after all of the step are read.
      const offset_t at = place + team.place(c != empty_slot, found);
      if (c == empty_slot) continue;
      adj[at] = to.first + static_cast<index_t>(c);
      edge[at] = static_cast<index_t>(w);
    }
    if (team.rank() == 0) end_row(x, to, of.local, place, found);
    simt::sync_block();
  }

  GSOFA_DEVICE void end_row(index_t x, const kept_task& to, index_t local, offset_t place,
                            offset_t found) {
    const index_t u = from.two[x];
    const index_t c = to.first + local;
    begin[c] = place;
    end[c] = place + found;
    owner[c] = to.graph;
    weight[c] = g.weight[from.one[x]] + (u == none ? 0 : g.weight[u]);
    sum.add(entries, to.graph, found);
  }

  /// Where an entry has come to.
  struct entry {
    std::uint32_t slot;
    bool is_new;
  };
  GSOFA_DEVICE static entry insert(std::uint32_t* key, std::uint32_t* sums, offset_t slots,
                                   std::uint32_t c, std::uint32_t w) {
    const std::uint32_t hash = c * 0x9e3779b1U;
    const auto last = static_cast<std::uint32_t>(slots - 1);
    auto s =
        static_cast<std::uint32_t>((std::uint64_t{hash} * static_cast<std::uint64_t>(slots)) >> 32);
    std::uint32_t held = empty_slot;
    for (;;) {
      held = simt::load_shared_state(key + s);
      if (held == empty_slot) held = simt::atomic_cas(key + s, empty_slot, c);
      if (held == empty_slot || held == c) break;
      s = s == last ? 0 : s + 1;
    }
    simt::atomic_add(sums + s, w);
    return {s, held == empty_slot};
  }

  /// The data by graph, and the sums.
  GSOFA_DEVICE void finish() {
    sum.finish(entries, &shared_of_rows<memory>()->sums);
    const auto step = offset_t{simt::grid_size()} * simt::block_size();
    const auto thread = offset_t{simt::block_index()} * simt::block_size() + simt::thread_index();
    if (thread == 0) {
      first[graphs] = n;
      map_first[graphs] = map_size;
    }
    for (offset_t i = thread; i < tasks_count; i += step) {
      const kept_task k = kept[i];
      if (k.graph == none) continue;
      first[k.graph] = k.first;
      parent[k.graph] = tasks[i].parent;
      map_first[k.graph] = k.map;
      total[k.graph] = g.total[tasks[i].parent];
    }
  }
};

/// Makes room for a coarse level of `count` graphs from n vertices of the finer one, about as much
/// as it will take: allocations take the host as long as many launches, and the device works
/// meanwhile.
void expect(level& coarse, const level& fine, offset_t count, offset_t n) {
  const offset_t vertices = n / 2 + n / 8;
  // Rows of weighted graphs leave gaps: neighbours that were merged.
  const double copies = static_cast<double>(n) / std::max<index_t>(1, fine.first.back());
  const double share = fine.weighted ? 0.65 : 1.0;
  const auto room = static_cast<offset_t>(share * copies * static_cast<double>(fine.room));
  coarse.d_first.resize(count + 1);
  coarse.d_map_first.resize(count + 1);
  coarse.d_parent.resize(count);
  coarse.d_total.resize(count);
  coarse.d_entries.resize(count);
  coarse.d_map.resize(n);
  coarse.d_owner.resize(vertices);
  coarse.d_weight.resize(vertices);
  coarse.d_begin.resize(vertices);
  coarse.d_end.resize(vertices);
  coarse.d_adj.resize(room);
  coarse.d_edge.resize(room);
}

/// Lays the graphs that have shrunk one after the other, as `kept` says; returns their places.
std::vector<index_t> plan(const level& fine, std::span<const coarsening> wanted,
                          const task_result* results, kept_task* kept, level& coarse) {
  std::vector<index_t> places;
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    const index_t parent = wanted[k].parent;
    const task_result r = results[k];
    kept_task& to = kept[k];
    to = {none, 0, 0, 0, 0};
    if (!has_shrunk(fine.size_of(parent), r.vertices)) continue;
    to = {coarse.graphs(), coarse.first.back(), r.vertices, coarse.room, coarse.map_first.back()};
    places.push_back(static_cast<index_t>(k));
    coarse.room += r.room;
    coarse.first.push_back(to.first + r.vertices);
    coarse.total.push_back(fine.total[at(parent)]);
    coarse.parent.push_back(parent);
    coarse.map_first.push_back(to.map + fine.size_of(parent));
  }
  return places;
}

/// Contracts the graphs that have shrunk.
void contract(const coarsening_space& s, const pairs& p, const level_view& g, level& coarse) {
  const index_t graphs = coarse.graphs();
  const index_t coarse_n = coarse.first.back();
  const offset_t map_size = coarse.map_first.back();
  const contract_op op{g,
                       p.tasks,
                       s.d_kept.data(),
                       p.count,
                       p.owner,
                       p.number,
                       graphs,
                       coarse_n,
                       map_size,
                       coarse.d_first.resize(offset_t{graphs} + 1),
                       coarse.d_owner.resize(coarse_n),
                       coarse.d_adj.resize(coarse.room),
                       coarse.d_edge.resize(coarse.room),
                       coarse.d_weight.resize(coarse_n),
                       coarse.d_parent.resize(graphs),
                       coarse.d_map.resize(map_size),
                       coarse.d_begin.resize(coarse_n),
                       coarse.d_end.resize(coarse_n),
                       coarse.d_total.resize(graphs),
                       coarse.d_entries.data(),
                       coarse.d_map_first.resize(offset_t{graphs} + 1),
                       {}};
  launch_rows(op, p.vertices, sizeof(contract_op::memory));
}

}  // namespace

std::vector<index_t> coarsen(host_link& link, coarsening_space& s, const level& fine,
                             std::span<const coarsening> wanted, level& coarse) {
  coarse.clear();
  coarse.map_first.assign(1, 0);
  coarse.weighted = true;
  const auto count = narrow<index_t>(wanted.size(), "graphs to be coarsened");
  if (count == 0) return {};
  const pairs p = match(link, s, fine, wanted);
  expect(coarse, fine, count, p.vertices);
  link.wait();
  auto* const kept = link.room<kept_task>(wanted.size());
  std::vector<index_t> places = plan(fine, wanted, p.number.results, kept, coarse);
  if (places.empty()) return places;
  link.upload(s.d_kept.resize(count), kept, wanted.size(), coarse.d_entries.resize(coarse.graphs()),
              coarse.graphs());
  contract(s, p, fine.view(), coarse);
  return places;
}

}  // namespace gsofa::orders::device

#endif
