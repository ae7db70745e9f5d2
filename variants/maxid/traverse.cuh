#pragma once

/// Traversal of a batch, level by level, in one cooperative launch.
///
/// External frontier management. A place in the queue is reserved before maxId is lowered. If no
/// place is left, the edge is not relaxed and its frontier is marked incomplete; the launch ends
/// with the level. The host copies the full queue to page-locked memory and launches the level
/// again for the incomplete frontiers. When the queue is empty, a launch reads the spilled
/// frontiers from page-locked memory. Even with a queue of one entry every launch relaxes at least
/// one edge permanently, so the traversal ends.
///
/// Ordering. Levels are separated by grid barriers (cooperative launch: all blocks are resident).
/// Within a level, relaxed atomics change maxid and fill, and volatile loads read them.

#include "variants/device/batch_rows.hpp"
#include "variants/device/simt_grid.hpp"
#include "variants/maxid/batch.cuh"

namespace gsofa::maxid {

#if defined(GSOFA_GPU)

/// What a kernel of the traversal is compiled for: the paper's form, and forms that differ from it.
namespace forms {

struct paper {
  static constexpr bool line_9_5 = false;         ///< true: tests fill before maxId
  static constexpr unsigned lanes = 32;           ///< that expand a frontier: 32 is a warp
  static constexpr bool separate_queues = false;  ///< true: a queue per source
  static constexpr bool lossy = false;            ///< planted fault: lowers maxId by load and store
};
template <bool Line95, unsigned Lanes>
struct lanes_per_frontier : paper {
  static constexpr bool line_9_5 = Line95;
  static constexpr unsigned lanes = Lanes;
};
struct thread_centric : paper {
  static constexpr unsigned lanes = 1;
};
struct queue_per_source : paper {
  static constexpr bool separate_queues = true;
};
struct lost_updates : paper {
  static constexpr bool lossy = true;
};

}  // namespace forms

namespace {

/// The frontiers of a launch's first level where they are not in the queue: `count` > 0 of the
/// list, or of the sources themselves (no memory) if there is none.
struct first_frontiers {
  std::uint32_t count;
  const std::uint64_t* list;  // page-locked host memory
};

/// Where a lane's new frontiers go: the place reserved by one atomic of the warp, per queue.
struct reservation {
  std::uint64_t* queue;
  std::uint32_t* tail;
  std::uint32_t capacity;
};

/// Reserves a place for every lane that wants one, by one atomic of the warp, whatever frontiers
/// its lanes expand. All lanes call it together.
GSOFA_DEVICE std::uint32_t reserve(bool wants, const reservation& to) {
  const unsigned takers = simt::ballot(wants);
  if (takers == 0) return 0;
  std::uint32_t place = 0;
  const unsigned leader = simt::lowest_bit(takers);
  if (lane_index() == leader) place = simt::atomic_add(to.tail, simt::population(takers));
  return simt::shuffle(place, leader) + simt::population(takers & lower_lanes());
}

/// Adds what the lanes of each group have found to the row counts of its source.
template <unsigned Group>
GSOFA_DEVICE void add_counts(const batch_view& b, index_t source, std::uint32_t new_l,
                             std::uint32_t new_u) {
  for (unsigned step = Group / 2; step > 0; step /= 2) {
    new_l += simt::shuffle_xor(new_l, step);
    new_u += simt::shuffle_xor(new_u, step);
  }
  if (lane_index() % Group != 0) return;
  if (new_l != 0) simt::atomic_add(b.l_counts + source, new_l);
  if (new_u != 0) simt::atomic_add(b.u_counts + source, new_u);
}

/// Expands one frontier per group of Form::lanes lanes. `active` is false for lanes without a
/// frontier. Returns true if this lane found no place for a new frontier. All lanes of the warp
/// call it together.
template <class Form>
GSOFA_DEVICE bool expand(const batch_view& b, bool active, index_t v, index_t slot,
                         const reservation& to) {
  const source_search s = b.search_of(slot);
  std::uint32_t proposal = b.base;
  offset_t e = 0;
  offset_t end = 0;
  if (active) {
    e = simt::load_constant(b.row_ptr + v) + lane_index() % Form::lanes;
    end = simt::load_constant(b.row_ptr + v + 1);
    proposal = proposal_of(s, v);
  }
  std::uint32_t new_l = 0;
  std::uint32_t new_u = 0;
  std::uint32_t again = 0;
  bool denied = false;
  while (simt::ballot(e < end) != 0) {
    const bool has = e < end;
    const index_t w = has ? simt::load_constant(b.col_idx + e) : 0;
    e += Form::lanes;
    edge_check edge{false, 0, 0};
    if (has) edge = check_edge<Form::line_9_5>(s, w, proposal);
    new_u += edge.new_u;
    const bool wants_place = edge.improves && !edge.filled(s);
    const std::uint32_t place = reserve(wants_place, to);
    if (edge.improves && !wants_place) {
      lower<Form::lossy>(s.maxid + w, proposal);
      ++again;
    } else if (wants_place && place >= to.capacity) {
      denied = true;
    } else if (wants_place) {
      const bool enqueue = relax<Form::lossy>(s, w, proposal, edge, new_l);
      to.queue[place] = enqueue ? entry_of(slot, w) : empty_entry;
    }
  }
  add_counts<Form::lanes>(b, s.source, new_l, new_u);
  count_again(b, again);
  return denied;
}

/// Empties what the first level of a launch writes: after a spill the queue of the level after it,
/// for a list of frontiers all queues and the redo bits.
template <bool Separate>
GSOFA_DEVICE void clear_queues(const batch_view& b, std::uint32_t level, std::uint32_t listed,
                               bool redo_only) {
  const std::uint32_t thread = simt::block_index() * simt::block_size() + simt::thread_index();
  const std::uint32_t threads = simt::grid_size() * simt::block_size();
  const auto sources = static_cast<std::size_t>(b.sources);
  if (thread == 0) b.control[incomplete] = 0;
  if (redo_only) {
    const unsigned next = (level + 1) % level_slots;
    if (thread == 0) b.control[tail_0 + next] = 0;
    if constexpr (Separate) {
      for (std::size_t s = thread; s < sources; s += threads) b.slot_tails[next * sources + s] = 0;
    }
  } else {
    if (thread < level_slots) b.control[tail_0 + thread] = 0;
    for (std::uint32_t w = thread; w < (listed + 31) / 32; w += threads) b.redo[w] = 0;
    if constexpr (Separate) {
      for (std::size_t s = thread; s < level_slots * sources; s += threads) b.slot_tails[s] = 0;
    }
  }
  simt::sync_grid();
}

/// One level as its threads see it.
struct level_view {
  std::uint32_t number;
  unsigned next;          ///< of the level after it, among level_slots
  first_frontiers first;  ///< of a launch's first level; later ones have none
  bool redo_only;         ///< only frontiers that are marked in `redo`
  const std::uint64_t* now;
  std::uint64_t* found;  ///< the queue of the level after it

  GSOFA_DEVICE bool listed() const { return first.list != nullptr; }
  GSOFA_DEVICE bool seeds() const { return first.count > 0 && first.list == nullptr; }
};

/// A level with a queue for each source: a block serves a source, its warps share that source's
/// queue. One redo bit per frontier: by place in the list, by source, or by place in the queues.
/// Returns true if a frontier could not be finished.
template <class Form>
GSOFA_DEVICE bool expand_separate_queues(const batch_view& b, const level_view& level) {
  const std::uint32_t thread = simt::block_index() * simt::block_size() + simt::thread_index();
  const std::uint32_t threads = simt::grid_size() * simt::block_size();
  const auto sources = static_cast<std::uint32_t>(b.sources);
  bool denied = false;
  const unsigned clear = (level.number + 2) % level_slots;
  for (std::uint32_t s = thread; s < sources; s += threads) {
    b.slot_tails[clear * sources + s] = 0;
  }
  const auto search = [&](std::uint64_t entry, std::size_t mark) {
    const std::uint32_t bit = std::uint32_t{1} << (mark % 32);
    if (level.redo_only && (simt::load_shared_state(b.redo + mark / 32) & bit) == 0) return;
    if (entry == empty_entry) return;
    const index_t slot = slot_of(entry);
    const auto k = static_cast<std::uint32_t>(slot);
    const reservation to{level.found + static_cast<std::size_t>(k) * b.capacity,
                         b.slot_tails + level.next * sources + k, b.capacity};
    const bool failed = expand<Form>(b, true, vertex_of(entry), slot, to);
    simt::sync_warp();
    if (lane_index() == 0) count_expansion(b, entry, level.number, level.redo_only);
    if (simt::ballot(failed) != 0) {
      denied = true;
      if (lane_index() == 0) simt::atomic_or(b.redo + mark / 32, bit);
    } else if (level.redo_only && lane_index() == 0) {
      simt::atomic_and(b.redo + mark / 32, ~bit);
    }
  };
  // Any source with frontiers keeps the level alive; a number is not needed.
  std::uint32_t* const alive = b.control + tail_0 + level.next;
  if (level.listed()) {
    for (std::uint32_t i = thread / 32; i < level.first.count; i += threads / 32) {
      search(level.first.list[i], i);
    }
    if (thread == 0) simt::atomic_max(alive, std::uint32_t{1});
    return denied;
  }
  for (std::uint32_t s = simt::block_index(); s < sources; s += simt::grid_size()) {
    const std::uint32_t tail = b.slot_tails[(level.number % level_slots) * sources + s];
    const std::uint32_t count = level.seeds() ? 1 : (tail < b.capacity ? tail : b.capacity);
    const std::size_t part = static_cast<std::size_t>(s) * b.capacity;
    for (std::uint32_t i = simt::thread_index() / 32; i < count; i += simt::block_size() / 32) {
      search(level.seeds() ? b.seed(s) : level.now[part + i], level.seeds() ? s : part + i);
    }
    if (simt::thread_index() == 0 && count != 0) simt::atomic_max(alive, std::uint32_t{1});
  }
  return denied;
}

/// A level with the combined queue: groups of Form::lanes lanes take its frontiers cyclically. One
/// redo bit per frontier, by its place. Returns true if a frontier of this lane's group could not
/// be finished.
template <class Form>
GSOFA_DEVICE bool expand_combined_queue(const batch_view& b, const level_view& level) {
  constexpr unsigned group = Form::lanes;
  const std::uint32_t thread = simt::block_index() * simt::block_size() + simt::thread_index();
  const std::uint32_t threads = simt::grid_size() * simt::block_size();
  const std::uint32_t tail = b.control[tail_0 + level.number % level_slots];
  const std::uint32_t count =
      level.first.count > 0 ? level.first.count : (tail < b.capacity ? tail : b.capacity);
  const reservation to{level.found, b.control + tail_0 + level.next, b.capacity};
  bool denied = false;
  // All groups of a warp make the same number of turns.
  for (std::uint32_t i = thread / group; i - lane_index() / group < count; i += threads / group) {
    bool active = i < count;
    const std::uint32_t bit = std::uint32_t{1} << (i % 32);
    if (active && level.redo_only) {
      active = (simt::load_shared_state(b.redo + i / 32) & bit) != 0;
    }
    std::uint64_t entry = empty_entry;
    if (active) {
      entry = level.seeds() ? b.seed(i) : (level.listed() ? level.first.list[i] : level.now[i]);
    }
    active = entry != empty_entry;
    const index_t slot = active ? slot_of(entry) : 0;
    const bool failed = expand<Form>(b, active, active ? vertex_of(entry) : 0, slot, to);
    if (active && lane_index() % group == 0) {
      count_expansion(b, entry, level.number, level.redo_only);
    }
    const unsigned failures = simt::ballot(failed);
    const unsigned group_lanes = group == 32 ? 0xffffffffU : (1U << (group % 32)) - 1U;
    const unsigned mine = failures >> (lane_index() / group * group) & group_lanes;
    if (lane_index() % group == 0 && mine != 0) {
      denied = true;
      simt::atomic_or(b.redo + i / 32, bit);
    } else if (lane_index() % group == 0 && level.redo_only && active) {
      simt::atomic_and(b.redo + i / 32, ~bit);
    }
  }
  return denied;
}

/// Tells the host where a launch ended and, if they are few, what it has left in the queue.
GSOFA_DEVICE void report_end(const batch_view& b, const level_view& level, std::uint32_t found,
                             bool combined) {
  const std::uint32_t thread = simt::block_index() * simt::block_size() + simt::thread_index();
  const std::uint32_t threads = simt::grid_size() * simt::block_size();
  if (thread < control_words) {
    b.report->control[thread] = thread == last_level ? level.number : b.control[thread];
  }
  if (!combined || found > launch_report::inline_entries) return;
  const std::uint32_t kept = found < b.capacity ? found : b.capacity;
  for (std::uint32_t i = thread; i < kept; i += threads) b.report->entries[i] = level.found[i];
}

/// Levels of one batch until no frontier is left or one could not be finished. `redo_only`: of the
/// first level only the frontiers marked in `redo`.
template <class Form>
GSOFA_KERNEL void traverse_kernel(batch_view b, std::uint32_t number, first_frontiers first,
                                  bool redo_only) {
  const std::uint32_t thread = simt::block_index() * simt::block_size() + simt::thread_index();
  if (redo_only || first.list != nullptr) {
    clear_queues<Form::separate_queues>(b, number, first.count, redo_only);
  }
  for (;; ++number) {
    const level_view level{number,    (number + 1) % level_slots, first,
                           redo_only, b.queue[number & 1U],       b.queue[(number + 1) & 1U]};
    if (thread == 0) b.control[tail_0 + (number + 2) % level_slots] = 0;
    bool denied = false;
    if constexpr (Form::separate_queues) {
      denied = expand_separate_queues<Form>(b, level);
    } else {
      denied = expand_combined_queue<Form>(b, level);
    }
    if (denied) b.control[incomplete] = 1;
    simt::sync_grid();
    if (thread == 0) {
      const std::uint32_t filled = b.control[tail_0 + level.next];
      count_level(b, filled < b.capacity ? filled : b.capacity);
    }
    const std::uint32_t found = simt::load_shared_state(b.control + tail_0 + level.next);
    if (simt::load_shared_state(b.control + incomplete) != 0 || found == 0) {
      report_end(b, level, found, !Form::separate_queues);
      return;
    }
    first = {0, nullptr};
    redo_only = false;
  }
}

/// The queues of all sources, one after the other: source s has offsets[s + 1] - offsets[s]
/// entries.
GSOFA_KERNEL void pack_queues_kernel(const std::uint64_t* queue, std::uint32_t capacity,
                                     index_t sources, const offset_t* offsets, std::uint64_t* out) {
  for (std::uint32_t s = simt::block_index(); s < static_cast<std::uint32_t>(sources);
       s += simt::grid_size()) {
    const offset_t begin = offsets[s];
    const offset_t count = offsets[s + 1] - begin;
    for (offset_t k = simt::thread_index(); k < count; k += simt::block_size()) {
      out[begin + k] = queue[static_cast<std::size_t>(s) * capacity + static_cast<std::size_t>(k)];
    }
  }
}

}  // namespace

#endif

}  // namespace gsofa::maxid
