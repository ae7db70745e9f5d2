// From level to level: the best trials of the coarser level are brought to the finer one, where
// each vertex has the side of the coarse vertex that it is part of. Device form of project() in
// host/refine.cpp, and of the choice of the trials that stay.

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include <algorithm>

#include "variants/orderings/dissection/device/stages.hpp"
#include "variants/orderings/dissection/device/tuning.hpp"
#include "variants/orderings/dissection/device/warps.cuh"

namespace gsofa::orders::device {

namespace {

/// The rank-th (from 0) of trials from .. to - 1 by cost; the lower number wins ties. Called by one
/// warp: one lane returns the trial, the other lanes return -1.
GSOFA_DEVICE index_t find_rank(const trial_data* data, index_t from, index_t to, index_t rank) {
  index_t found = -1;
  for (auto k = from + static_cast<index_t>(lane_index()); k < to; k += 32) {
    const std::uint64_t cost = data[k].cost;
    index_t before = 0;
    for (index_t q = from; q < to; ++q) {
      const std::uint64_t other = data[q].cost;
      before += other < cost || (other == cost && q < k) ? 1 : 0;
    }
    if (before == rank) found = k;
  }
  return found;
}

/// Makes d the level of a search if it is so much better than the best other trial, else one
/// without S, of which nothing is refined. Returns the passes without gain that d has had.
GSOFA_DEVICE std::uint32_t take_level(const trial_entry& e, const trial_data& best, offset_t total,
                                      const found_levels& levels, trial_data& d) {
  const found_level& f = levels.found[e.graph];
  d.key = e.key;
  if (f.is == 0 || !cost_function(total).takes_level(f.weight, best.weight)) {
    d.weight[side_a] = total;
    d.cost = cost_function(total)(total, 0, 0);
    return 2;
  }
  d.cost = f.cost;
  for (int side = 0; side < 3; ++side) d.weight[side] = f.weight[side];
  return 0;
}

/// The side of vertex v, whose trial is the level of a search.
GSOFA_DEVICE std::uint32_t side_by_level(const found_levels& levels, const trial_data& d,
                                         index_t v) {
  if (d.idle != 0) return side_a;
  const std::uint32_t cut = levels.found[d.graph].level;
  const std::uint32_t level = levels.level[v];
  if (level == cut) return separator;
  return level < cut ? side_a : side_b;
}

/// One warp for each trial: what it takes over from the coarser level.
GSOFA_KERNEL void select_kernel(const trial_entry* entries, index_t count, const trial_data* old,
                                trial_data* data, found_levels levels, const offset_t* total) {
  simt::after_earlier_launches();
  const auto warps = static_cast<index_t>(simt::grid_size() * warps_of_block());
  for (auto k = static_cast<index_t>(simt::block_index() * warps_of_block() + warp_of_thread());
       k < count; k += warps) {
    const trial_entry e = entries[k];
    trial_data d{};
    index_t source = -1;
    std::uint32_t idle = 0;
    if (e.from < e.to && e.rank == of_level) {
      source = find_rank(old, e.from, e.to, 0);
      if (source >= 0) idle = take_level(e, old[source], total[e.graph], levels, d);
    } else if (e.from < e.to) {
      source = find_rank(old, e.from, e.to, e.rank);
      if (source >= 0) d = old[source];
    } else {
      d.key = e.key;
      source = lane_index() == 0 ? 0 : -1;
    }
    if (source < 0) continue;
    d.source = source;
    d.first = e.first;
    d.graph = e.graph;
    d.n = e.n;
    d.stage = e.stage;
    d.members = d.list = d.pass = 0;
    d.idle = idle;
    d.x = d.weight[0] <= d.weight[1] ? side_a : side_b;
    data[k] = d;
  }
}

/// The last trial in low .. high whose places begin at or before `place`.
GSOFA_DEVICE index_t trial_at(const trial_entry* entries, index_t low, index_t high,
                              std::uint64_t place) {
  while (low < high) {
    const index_t middle = high - (high - low) / 2;
    if (entries[middle].first <= place) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

/// Sides of the finer level. First separators are left as they are.
GSOFA_KERNEL void project_kernel(level_view g, trial_view t, const trial_entry* entries,
                                 index_t count, std::uint64_t places, const trial_data* old,
                                 const std::uint8_t* old_side, const index_t* old_first,
                                 const offset_t* map_first, const index_t* map,
                                 found_levels levels) {
  simt::after_earlier_launches();
  auto* const range = simt::shared_memory<index_t>();
  const std::uint64_t chunk = std::uint64_t{simt::block_size()} * project_tuning::items_per_thread;
  for (std::uint64_t begin = simt::block_index() * chunk; begin < places;
       begin += simt::grid_size() * chunk) {
    const std::uint64_t end = begin + chunk < places ? begin + chunk : places;
    if (simt::thread_index() < 2) {
      range[simt::thread_index()] =
          trial_at(entries, 0, count - 1, simt::thread_index() == 0 ? begin : end - 1);
    }
    simt::sync_block();
    for (std::uint64_t base = begin; base < end; base += simt::block_size()) {
      const std::uint64_t place = base + simt::thread_index();
      bool member = false;
      index_t trial = range[0];
      index_t vertex = 0;
      if (place < end) {
        trial = trial_at(entries, range[0], range[1], place);
        const trial_entry& e = entries[trial];
        if (e.from < e.to) {
          const auto v = static_cast<index_t>(place - e.first);
          vertex = g.first[e.graph] + v;
          std::uint32_t side = 0;
          if (e.rank == of_level) {
            side = side_by_level(levels, t.data[trial], vertex);
          } else {
            const trial_data& from = old[t.data[trial].source];
            const index_t c = map[map_first[from.graph] + v] - old_first[from.graph];
            side = old_side[from.first + static_cast<std::uint64_t>(c)];
          }
          t.side[place] = static_cast<std::uint8_t>(side);
          t.state[place] = settled(side);
          member = side == separator;
        }
      }
      // Warps within one trial ask for places together.
      const index_t one = simt::shuffle(trial, 0);
      std::uint32_t slot = 0;
      if (simt::ballot(place < end && trial != one) == 0) {
        slot = next_place(&t.data[one].members, member);
      } else if (member) {
        slot = simt::atomic_add(&t.data[trial].members, 1U);
      }
      if (member) t.members[0][entries[trial].first + slot] = vertex;
    }
    simt::sync_block();
  }
}

/// One warp for each group.
GSOFA_KERNEL void best_kernel(const trial_data* data, const group* groups, index_t count,
                              const offset_t* total, winner* winners) {
  simt::after_earlier_launches();
  const auto warps = static_cast<index_t>(simt::grid_size() * warps_of_block());
  for (auto k = static_cast<index_t>(simt::block_index() * warps_of_block() + warp_of_thread());
       k < count; k += warps) {
    const index_t to = groups[k].to - groups[k].with_level;
    index_t best = find_rank(data, groups[k].from, to, 0);
    if (best < 0) continue;
    // One without S has an empty side, and is not taken.
    if (groups[k].with_level != 0 &&
        cost_function(total[data[to].graph]).takes_level(data[to].weight, data[best].weight)) {
      best = to;
    }
    const trial_data& d = data[best];
    winners[k] = {d.first, {d.weight[0], d.weight[1], d.weight[2]}};
  }
}

template <class T>
T* with_slack(growing_array<T>& a, offset_t size) {
  return a.resize(size > a.size() ? size + size / 4 : size);
}

int blocks_of_warps(offset_t warps) { return blocks_for(warps * 32); }

/// The table of the trials of a level: their entries, then the lists of small and of large trials
/// and of first separators.
struct trial_table {
  static std::size_t words_of(std::size_t count) {
    static_assert(sizeof(trial_entry) % 8 == 0);
    return count * (sizeof(trial_entry) / 8) + (2 * count + 1) / 2;
  }
  trial_table(std::uint64_t* place, std::size_t count)
      : entries(reinterpret_cast<trial_entry*>(place)),
        by_size(reinterpret_cast<index_t*>(entries + count)),
        firsts(by_size + count) {}

  trial_entry* entries;
  index_t* by_size;
  index_t* firsts;
};

/// Fills the table and counts trials by kind; returns the places that they take.
std::uint64_t fill(trials& t, const trial_table& table, const level& finer,
                   std::span<const trial_spec> specs) {
  const auto count = static_cast<index_t>(specs.size());
  std::uint64_t places = 0;
  t.small = t.large = t.firsts = 0;
  t.most_small = t.most_first = 0;
  for (index_t k = 0; k < count; ++k) {
    const trial_spec& spec = specs[at(k)];
    const index_t n = finer.size_of(spec.graph);
    table.entries[k] = {.key = spec.key,
                        .first = places,
                        .graph = spec.graph,
                        .n = n,
                        .from = spec.from,
                        .to = spec.to,
                        .rank = spec.is_level ? of_level : spec.rank,
                        .stage = spec.stage};
    places += static_cast<std::uint64_t>(n);
    if (n >= refine_tuning::large_order) {
      table.by_size[count - ++t.large] = k;
    } else {
      table.by_size[t.small++] = k;
      t.most_small = std::max(t.most_small, n);
    }
    if (spec.from >= spec.to) {
      table.firsts[t.firsts++] = k;
      t.most_first = std::max(t.most_first, n);
    }
  }
  return places;
}

}  // namespace

void project(host_link& link, trials& t, const level* coarser, const level& finer,
             std::span<const trial_spec> specs, const found_levels& levels) {
  const auto count = static_cast<index_t>(specs.size());
  const std::size_t words = trial_table::words_of(specs.size());
  auto* const table = link.room<std::uint64_t>(words);
  const std::uint64_t places = fill(t, trial_table(table, specs.size()), finer, specs);
  const auto room = static_cast<offset_t>(places);
  const int before = t.current;
  t.current = 1 - t.current;
  index_t* const vertices = with_slack(t.vertices, 3 * room);
  std::uint32_t* const far = with_slack(t.words, 6 * room);
  t.view = {.data = with_slack(t.data[t.current], count),
            .side = with_slack(t.sides[t.current], room),
            .state = with_slack(t.state, room),
            .members = {vertices, vertices + room},
            .spare = vertices + 2 * room,
            .far = far,
            .log = far + 4 * room,
            .idle_moves = 0,
            .later_passes = 0};
  if (count == 0) return;
  std::uint64_t* const uploaded = with_slack(t.table, static_cast<offset_t>(words));
  link.upload(uploaded, table, words);
  const trial_table there(uploaded, specs.size());
  const trial_entry* const entries = there.entries;
  t.small_list = there.by_size;
  t.large_list = there.by_size + t.small;
  t.first_list = there.firsts;
  const trial_data* const old = t.data[before].data();
  const level_view g = finer.view();
  launch_overlapping(select_kernel, blocks_of_warps(count), threads_per_block, 0, entries, count,
                     old, t.view.data, levels, g.total);
  if (t.firsts == count) return;
  launch_overlapping(project_kernel, blocks_for(room / project_tuning::items_per_thread + 1),
                     threads_per_block, 2 * sizeof(index_t), g, t.view, entries, count, places, old,
                     static_cast<const std::uint8_t*>(t.sides[before].data()),
                     static_cast<const index_t*>(coarser->d_first.data()),
                     static_cast<const offset_t*>(coarser->d_map_first.data()),
                     static_cast<const index_t*>(coarser->d_map.data()), levels);
}

std::vector<winner> best(host_link& link, trials& t, const level& at_level,
                         std::span<const group> groups) {
  const auto count = static_cast<index_t>(groups.size());
  if (count == 0) return {};
  auto* const copy = link.room<group>(groups.size());
  auto* const winners = link.room<winner>(groups.size());
  std::ranges::copy(groups, copy);
  link.upload(t.groups.resize(count), copy, groups.size());
  launch_overlapping(best_kernel, blocks_of_warps(count), threads_per_block, 0,
                     static_cast<const trial_data*>(t.view.data),
                     static_cast<const group*>(t.groups.data()), count, at_level.view().total,
                     winners);
  link.wait();
  return {winners, winners + count};
}

}  // namespace gsofa::orders::device

#endif
