// The relaxed algorithm of the paper (Sections 4 to 6) on one GPU; every gpu_maxid* variant is a
// configuration of what stands here.
//
// maxId(v) of source s: least value, over the paths s -> v seen so far whose intermediates are all
// < s, of the largest intermediate; 0 for direct neighbours. It only falls. w is a fill-in of s as
// soon as maxId(w) < w; then it propagates w itself, so that a vertex that is a fill-in already is
// not enqueued again. A frontier is expanded with proposal max(v, maxId(v)), read when it is
// expanded; expanding a frontier twice is harmless (every step is monotone).
//
// Encoding.
//  maxid   window w holds base + m, m in [0, |V|), base = 2^32 - 1 - w(|V| + 1), w = 1, 2, ...;
//          everything >= base + |V| reads as infinity, so that a new window needs no reset.
//          A slot of a batch owns |V| entries, or with bubble removal as many as its source number,
//          one slot after the other: k * begin + k(k - 1)/2 where sources are consecutive.
//  fill    |V| entries per slot: source + 1 that last marked the vertex.
//  queue   64-bit entries, slot << 32 | vertex; `empty_entry` where a reserved place stayed unused.
//          The slot index is the paper's tracker. A batch begins with the sources themselves as
//          virtual frontiers (no memory) that mark all their neighbours as direct.
//  tails   number of places reserved in the queue of level k, at k mod 3: while level k reads
//          [k], it writes [k + 1] and clears [k + 2].
//
// External frontier management. A place in the queue is reserved before maxId is lowered. Where
// none is left the edge is not relaxed and its frontier is marked incomplete; the launch ends with
// the level. The host takes the full queue over into page-locked memory and launches the level
// again for the incomplete frontiers; once the queue has run dry a launch reads what was spilled
// from there. With a queue of one entry every launch still relaxes at least one edge for good, so
// that it ends.
//
// Ordering. Levels are separated by grid barriers (cooperative launch: all blocks are resident).
// Within a level maxid and fill are changed by relaxed atomics and read by volatile loads; both are
// monotone, so a stale value only leads to work that an atomic then refuses or to a revisit.

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include <array>
#include <limits>
#include <numeric>

#include "variants/device/batch_rows.hpp"
#include "variants/device/scan.hpp"
#include "variants/maxid/maxid_search.hpp"
#include "variants/support/counting.hpp"

namespace gsofa::gpu {

// Named, since maxid_search::engine has a member of it.
namespace maxid_launch {

/// Words at the head of the control block.
enum control_word : unsigned {
  tail_0,
  tail_1,
  tail_2,
  incomplete,  ///< a frontier of the level could not be finished
  last_level,  ///< level at which the launch ended
  control_words
};

/// What a launch leaves in page-locked host memory: the control words and, if they are few, the
/// frontiers of the level after its last.
struct launch_report {
  static constexpr std::uint32_t inline_entries = 60;
  std::uint32_t control[control_words];
  std::uint64_t entries[inline_entries];
};

}  // namespace maxid_launch

using namespace maxid_launch;

namespace {

constexpr std::uint64_t empty_entry = ~std::uint64_t{0};
constexpr int level_slots = 3;

/// The frontiers of a launch's first level where they are not in the queue: `count` > 0 of the
/// list, or of the sources themselves (no memory) if there is none.
struct first_frontiers {
  std::uint32_t count;
  const std::uint64_t* list;  // page-locked host memory
};

/// Work of the counting build, 64-bit.
enum counter_word : unsigned {
  edges_word,
  again_word,
  revisits_word,
  frontiers_word,
  levels_word,
  occupancy_word,
  peak_word,
  counter_words
};

struct batch_view {
  const offset_t* row_ptr;
  const index_t* col_idx;
  index_t n;
  index_t begin;
  const index_t* list;            // source by slot, or null: begin + slot
  const offset_t* maxid_offsets;  // by slot, where there is a list and bubbles are removed
  index_t sources;
  std::uint32_t base;
  bool bubble_removal;
  std::uint32_t* maxid;
  std::uint32_t* fill;
  std::uint64_t* queue[2];
  std::uint32_t capacity;  // places of a queue (of one source's part with separate queues)
  std::uint32_t* redo;     // one bit per frontier of the level: incomplete
  std::uint32_t* control;
  launch_report* report;
  std::uint32_t* slot_tails;  // separate queues: level_slots x sources
  std::uint32_t* l_counts;    // by source
  std::uint32_t* u_counts;
  unsigned long long* counters;          // counting build
  std::uint32_t* visits;                 // counting build: by (slot, vertex), or null
  unsigned long long* source_frontiers;  // counting build: by source
  unsigned long long* source_edges;
  std::uint32_t* source_levels;
  std::uint32_t* source_seen;  // counting build: last level + 1 in which the source took part

  GSOFA_DEVICE index_t source(index_t slot) const {
    return list == nullptr ? begin + slot : simt::load_constant(list + slot);
  }
  GSOFA_DEVICE std::uint32_t* maxid_of(index_t slot) const {
    if (maxid_offsets != nullptr) return maxid + simt::load_constant(maxid_offsets + slot);
    const auto k = static_cast<std::size_t>(slot);
    return maxid + (bubble_removal ? k * static_cast<std::size_t>(begin) + k * (k - 1) / 2
                                   : k * static_cast<std::size_t>(n));
  }
  GSOFA_DEVICE std::uint32_t* fill_of(index_t slot) const {
    return fill + static_cast<std::size_t>(slot) * static_cast<std::size_t>(n);
  }
};

template <bool Lossy>
GSOFA_DEVICE std::uint32_t lower(std::uint32_t* cell, std::uint32_t value) {
  if constexpr (Lossy) {
    // Planted fault: another thread's minimum may be overwritten between load and store.
    const std::uint32_t old = simt::load_shared_state(cell);
    simt::pause();
    if (value < old) *static_cast<volatile std::uint32_t*>(cell) = value;
    return old;
  } else {
    return simt::atomic_min(cell, value);
  }
}

/// Where a lane's new frontiers go: the place reserved by one atomic of the warp, per queue.
struct reservation {
  std::uint64_t* queue;
  std::uint32_t* tail;
  std::uint32_t capacity;
};

/// Expands one frontier per group of Group lanes: 32 is a warp per frontier, 1 a thread. `active`
/// is false for lanes without a frontier. Returns true if this lane found no place for a new
/// frontier. All lanes of the warp call it together.
template <bool Line95, unsigned Group, bool Lossy>
GSOFA_DEVICE bool expand(const batch_view& b, bool active, index_t v, index_t slot,
                         const reservation& to) {
  const index_t src = b.source(slot);
  const std::uint32_t stamp = static_cast<std::uint32_t>(src) + 1;
  std::uint32_t* const maxid = b.maxid_of(slot);
  std::uint32_t* const fill = b.fill_of(slot);
  const bool direct = active && v == src;
  std::uint32_t proposal = b.base;
  offset_t e = 0;
  offset_t end = 0;
  if (active) {
    e = simt::load_constant(b.row_ptr + v) + lane_index() % Group;
    end = simt::load_constant(b.row_ptr + v + 1);
    if (!direct) {
      const std::uint32_t own = b.base + static_cast<std::uint32_t>(v);
      const std::uint32_t seen = simt::load_shared_state(maxid + v);
      proposal = seen > own ? seen : own;
    }
  }
  std::uint32_t new_l = 0;
  std::uint32_t new_u = 0;
  std::uint32_t again = 0;
  bool denied = false;
  while (simt::ballot(e < end) != 0) {
    const bool has = e < end;
    const index_t w = has ? simt::load_constant(b.col_idx + e) : 0;
    e += Group;
    bool improves = false;
    bool filled = false;
    if (has) {
      if (w >= src) {
        if (simt::load_shared_state(fill + w) != stamp) {
          new_u += simt::atomic_exchange(fill + w, stamp) != stamp ? 1 : 0;
        }
      } else if (Line95) {
        filled = simt::load_shared_state(fill + w) == stamp;
        improves = !filled && proposal < simt::load_shared_state(maxid + w);
      } else {
        improves = proposal < simt::load_shared_state(maxid + w);
        filled = improves && simt::load_shared_state(fill + w) == stamp;
      }
    }
    const bool wants_place = improves && !filled;
    const unsigned takers = simt::ballot(wants_place);
    std::uint32_t place = 0;
    if (takers != 0) {
      // One atomic per warp, whatever frontiers its lanes expand.
      const unsigned leader = simt::lowest_bit(takers);
      if (lane_index() == leader) place = simt::atomic_add(to.tail, simt::population(takers));
      place = simt::shuffle(place, leader) + simt::population(takers & lower_lanes());
    }
    if (improves && filled) {
      lower<Lossy>(maxid + w, proposal);
      if constexpr (detail::counting) ++again;
    } else if (wants_place && place >= to.capacity) {
      denied = true;
    } else if (wants_place) {
      std::uint64_t entry = empty_entry;
      if (lower<Lossy>(maxid + w, proposal) > proposal) {
        bool enqueue = true;
        if (direct || b.base + static_cast<std::uint32_t>(w) > proposal) {
          enqueue = simt::atomic_exchange(fill + w, stamp) != stamp;
          new_l += enqueue ? 1 : 0;
        }
        if (enqueue) {
          entry = (static_cast<std::uint64_t>(static_cast<std::uint32_t>(slot)) << 32) |
                  static_cast<std::uint32_t>(w);
        }
      }
      to.queue[place] = entry;
    }
  }
  for (unsigned step = Group / 2; step > 0; step /= 2) {
    new_l += simt::shuffle_xor(new_l, step);
    new_u += simt::shuffle_xor(new_u, step);
  }
  if (lane_index() % Group != 0) new_l = new_u = 0;
  if (new_l != 0) simt::atomic_add(b.l_counts + src, new_l);
  if (new_u != 0) simt::atomic_add(b.u_counts + src, new_u);
  if constexpr (detail::counting) {
    if (again != 0) {
      simt::atomic_add(b.counters + again_word, static_cast<unsigned long long>(again));
    }
    if (active && lane_index() % Group == 0) {
      const auto degree = static_cast<unsigned long long>(b.row_ptr[v + 1] - b.row_ptr[v]);
      simt::atomic_add(b.counters + edges_word, degree);
      simt::atomic_add(b.source_edges + src, degree);
      if (!direct) {
        simt::atomic_add(b.counters + frontiers_word, 1ULL);
        const std::size_t cell = static_cast<std::size_t>(slot) * static_cast<std::size_t>(b.n) +
                                 static_cast<std::size_t>(v);
        if (simt::atomic_add(b.visits + cell, std::uint32_t{1}) != 0) {
          simt::atomic_add(b.counters + revisits_word, 1ULL);
        }
      }
    }
  }
  return denied;
}

/// Counting build: the source of a frontier takes part in level `level`.
GSOFA_DEVICE void count_frontier(const batch_view& b, index_t slot, std::uint32_t level) {
  if constexpr (detail::counting) {
    const index_t src = b.source(slot);
    simt::atomic_add(b.source_frontiers + src, 1ULL);
    if (simt::atomic_max(b.source_seen + slot, level + 1) < level + 1) {
      simt::atomic_add(b.source_levels + src, std::uint32_t{1});
    }
  } else {
    (void)b;
    (void)slot;
    (void)level;
  }
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

/// Levels of one batch until no frontier is left or one could not be finished. `redo_only`: of the
/// first level only the frontiers marked in `redo`.
template <bool Line95, unsigned Group, bool Separate, bool Lossy>
GSOFA_KERNEL void traverse_kernel(batch_view b, std::uint32_t level, first_frontiers first,
                                  bool redo_only) {
  const unsigned warps_per_block = simt::block_size() / 32;
  const unsigned warp_in_block = simt::thread_index() / 32;
  const std::uint32_t thread = simt::block_index() * simt::block_size() + simt::thread_index();
  const std::uint32_t threads = simt::grid_size() * simt::block_size();
  if (redo_only || first.list != nullptr) {
    clear_queues<Separate>(b, level, first.count, redo_only);
  }
  for (;; ++level) {
    const std::uint64_t* const now = b.queue[level & 1U];
    const unsigned next = (level + 1) % level_slots;
    const unsigned clear = (level + 2) % level_slots;
    const bool listed = first.list != nullptr;
    const bool seeds = first.count > 0 && !listed;
    if (thread == 0) b.control[tail_0 + clear] = 0;
    bool denied = false;
    if constexpr (Separate) {
      const auto sources = static_cast<std::uint32_t>(b.sources);
      for (std::uint32_t s = thread; s < sources; s += threads) {
        b.slot_tails[clear * sources + s] = 0;
      }
      // One redo bit per frontier: by place in the list, by source, or by place in the queues.
      auto search = [&](std::uint64_t entry, std::size_t mark) {
        const std::uint32_t bit = std::uint32_t{1} << (mark % 32);
        if (redo_only && (simt::load_shared_state(b.redo + mark / 32) & bit) == 0) return;
        if (entry == empty_entry) return;
        const auto slot = static_cast<std::uint32_t>(entry >> 32);
        const reservation to{
            b.queue[(level + 1) & 1U] + static_cast<std::size_t>(slot) * b.capacity,
            b.slot_tails + next * sources + slot, b.capacity};
        if (lane_index() == 0 && !seeds) count_frontier(b, static_cast<index_t>(slot), level);
        const bool failed = expand<Line95, 32, Lossy>(
            b, true, static_cast<index_t>(entry & 0xffffffffU), static_cast<index_t>(slot), to);
        simt::sync_warp();
        if (simt::ballot(failed) != 0) {
          denied = true;
          if (lane_index() == 0) simt::atomic_or(b.redo + mark / 32, bit);
        } else if (redo_only && lane_index() == 0) {
          simt::atomic_and(b.redo + mark / 32, ~bit);
        }
      };
      if (listed) {
        for (std::uint32_t i = thread / 32; i < first.count; i += threads / 32) {
          search(first.list[i], i);
        }
        if (thread == 0) simt::atomic_max(b.control + tail_0 + next, std::uint32_t{1});
      } else {
        // A block per source: its warps share that source's queue.
        for (std::uint32_t s = simt::block_index(); s < sources; s += simt::grid_size()) {
          const std::uint32_t tail = b.slot_tails[(level % level_slots) * sources + s];
          const std::uint32_t count = seeds ? 1 : (tail < b.capacity ? tail : b.capacity);
          const std::size_t part = static_cast<std::size_t>(s) * b.capacity;
          for (std::uint32_t i = warp_in_block; i < count; i += warps_per_block) {
            search(seeds ? (static_cast<std::uint64_t>(s) << 32) |
                               static_cast<std::uint32_t>(b.source(static_cast<index_t>(s)))
                         : now[part + i],
                   seeds ? s : part + i);
          }
          if (simt::thread_index() == 0 && count != 0) {
            // Any source with frontiers keeps the level alive; a number is not needed.
            simt::atomic_max(b.control + tail_0 + next, std::uint32_t{1});
          }
        }
      }
    } else {
      const std::uint32_t tail = b.control[tail_0 + level % level_slots];
      const std::uint32_t count =
          first.count > 0 ? first.count : (tail < b.capacity ? tail : b.capacity);
      const reservation to{b.queue[(level + 1) & 1U], b.control + tail_0 + next, b.capacity};
      const std::uint32_t begin = thread / Group;
      const std::uint32_t stride = threads / Group;
      // All groups of a warp make the same number of turns.
      for (std::uint32_t i = begin; i - lane_index() / Group < count; i += stride) {
        bool active = i < count;
        const std::uint32_t bit = std::uint32_t{1} << (i % 32);
        if (active && redo_only) {
          active = (simt::load_shared_state(b.redo + i / 32) & bit) != 0;
        }
        std::uint64_t entry = empty_entry;
        if (active) {
          entry = seeds ? (static_cast<std::uint64_t>(i) << 32) |
                              static_cast<std::uint32_t>(b.source(static_cast<index_t>(i)))
                        : (listed ? first.list[i] : now[i]);
        }
        active = entry != empty_entry;
        const auto slot = active ? static_cast<index_t>(entry >> 32) : 0;
        if (active && !seeds && lane_index() % Group == 0) count_frontier(b, slot, level);
        const bool failed = expand<Line95, Group, Lossy>(
            b, active, active ? static_cast<index_t>(entry & 0xffffffffU) : 0, slot, to);
        const unsigned failures = simt::ballot(failed);
        const unsigned group_lanes = Group == 32 ? 0xffffffffU : (1U << (Group % 32)) - 1U;
        const unsigned mine = failures >> (lane_index() / Group * Group) & group_lanes;
        if (lane_index() % Group == 0 && mine != 0) {
          denied = true;
          simt::atomic_or(b.redo + i / 32, bit);
        } else if (lane_index() % Group == 0 && redo_only && active) {
          simt::atomic_and(b.redo + i / 32, ~bit);
        }
      }
    }
    if (denied) b.control[incomplete] = 1;
    simt::sync_grid();
    if constexpr (detail::counting) {
      if (thread == 0) {
        const std::uint32_t filled = b.control[tail_0 + next];
        const std::uint32_t most = filled < b.capacity ? filled : b.capacity;
        b.counters[levels_word] += 1;
        b.counters[occupancy_word] += most;
        if (most > b.counters[peak_word]) b.counters[peak_word] = most;
      }
    }
    const std::uint32_t found = simt::load_shared_state(b.control + tail_0 + next);
    if (simt::load_shared_state(b.control + incomplete) != 0 || found == 0) {
      if (thread < control_words) {
        b.report->control[thread] = thread == last_level ? level : b.control[thread];
      }
      if (!Separate && found <= launch_report::inline_entries) {
        const std::uint32_t kept = found < b.capacity ? found : b.capacity;
        for (std::uint32_t i = thread; i < kept; i += threads) {
          b.report->entries[i] = b.queue[(level + 1) & 1U][i];
        }
      }
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

/// Scan enqueue, step 1: how many edges each frontier of [first, first + count) has.
GSOFA_KERNEL void degree_kernel(batch_view b, const std::uint64_t* queue, std::uint32_t first,
                                std::uint32_t count, std::uint32_t seeds, std::uint32_t* degrees) {
  for (std::uint32_t k = simt::block_index() * simt::block_size() + simt::thread_index(); k < count;
       k += simt::grid_size() * simt::block_size()) {
    const index_t v = seeds > 0 ? b.source(static_cast<index_t>(first + k))
                                : static_cast<index_t>(queue[first + k] & 0xffffffffU);
    degrees[k] = static_cast<std::uint32_t>(b.row_ptr[v + 1] - b.row_ptr[v]);
  }
}

/// Scan enqueue, step 3: every edge writes its new frontier, or `empty_entry`, to its own place.
template <bool Line95>
GSOFA_KERNEL void scatter_kernel(batch_view b, const std::uint64_t* queue, std::uint32_t first,
                                 std::uint32_t count, std::uint32_t seeds,
                                 const std::uint32_t* offsets, std::uint64_t* edges) {
  const std::uint32_t warp = (simt::block_index() * simt::block_size() + simt::thread_index()) / 32;
  const std::uint32_t warps = simt::grid_size() * simt::block_size() / 32;
  for (std::uint32_t k = warp; k < count; k += warps) {
    const std::uint64_t item =
        seeds > 0 ? (static_cast<std::uint64_t>(first + k) << 32) |
                        static_cast<std::uint32_t>(b.source(static_cast<index_t>(first + k)))
                  : queue[first + k];
    const auto slot = static_cast<index_t>(item >> 32);
    const auto v = static_cast<index_t>(item & 0xffffffffU);
    const index_t src = b.source(slot);
    const std::uint32_t stamp = static_cast<std::uint32_t>(src) + 1;
    std::uint32_t* const maxid = b.maxid_of(slot);
    std::uint32_t* const fill = b.fill_of(slot);
    const bool direct = v == src;
    std::uint32_t proposal = b.base;
    if (!direct) {
      const std::uint32_t own = b.base + static_cast<std::uint32_t>(v);
      const std::uint32_t seen = simt::load_shared_state(maxid + v);
      proposal = seen > own ? seen : own;
      if (lane_index() == 0) count_frontier(b, slot, first);
    }
    const offset_t row = b.row_ptr[v];
    const auto degree = static_cast<std::uint32_t>(b.row_ptr[v + 1] - row);
    std::uint32_t new_l = 0;
    std::uint32_t new_u = 0;
    for (std::uint32_t e = lane_index(); e < degree; e += 32) {
      const index_t w = b.col_idx[row + e];
      std::uint64_t entry = empty_entry;
      if (w >= src) {
        if (simt::load_shared_state(fill + w) != stamp) {
          new_u += simt::atomic_exchange(fill + w, stamp) != stamp ? 1 : 0;
        }
      } else {
        bool filled = Line95 && simt::load_shared_state(fill + w) == stamp;
        bool improves = !filled && proposal < simt::load_shared_state(maxid + w);
        if (improves) {
          filled = simt::load_shared_state(fill + w) == stamp;
          improves = simt::atomic_min(maxid + w, proposal) > proposal;
        }
        bool enqueue = improves && !filled;
        if (enqueue && (direct || b.base + static_cast<std::uint32_t>(w) > proposal)) {
          enqueue = simt::atomic_exchange(fill + w, stamp) != stamp;
          new_l += enqueue ? 1 : 0;
        }
        if (enqueue) {
          entry = (static_cast<std::uint64_t>(static_cast<std::uint32_t>(slot)) << 32) |
                  static_cast<std::uint32_t>(w);
        }
      }
      edges[offsets[k] + e] = entry;
    }
    simt::sync_warp();
    for (unsigned step = 16; step > 0; step /= 2) {
      new_l += simt::shuffle_xor(new_l, step);
      new_u += simt::shuffle_xor(new_u, step);
    }
    if (lane_index() == 0) {
      if (new_l != 0) simt::atomic_add(b.l_counts + src, new_l);
      if (new_u != 0) simt::atomic_add(b.u_counts + src, new_u);
      if constexpr (detail::counting) {
        simt::atomic_add(b.counters + edges_word, static_cast<unsigned long long>(degree));
        simt::atomic_add(b.source_edges + src, static_cast<unsigned long long>(degree));
        if (!direct) simt::atomic_add(b.counters + frontiers_word, 1ULL);
      }
    }
  }
}

}  // namespace

class maxid_search::engine {
 public:
  explicit engine(const maxid_config& config) : config_(config) {}

  void prepare(const pattern_view& a, const device_matrix& matrix, const option_set& o,
               memory_budget& budget, index_t most_sources, const fill_memory& own_fill) {
    n_ = a.n_rows;
    matrix_ = &matrix;
    budget_ = &budget;
    queue_option_ = o.integer("queue_entries");
    threads_ = static_cast<int>(o.integer("warps_per_block")) * 32;
    // The paper gives every frontier a warp; rows of five entries leave most of it idle.
    const std::string& lanes = o.choice("lanes_per_frontier");
    const double degree = static_cast<double>(a.nnz()) / n_;
    lanes_ = lanes != "auto" ? std::stoi(lanes)
             : degree <= 6   ? 4
             : degree <= 12  ? 8
             : degree <= 24  ? 16
                             : 32;
    plan(o, most_sources, own_fill);
    control_ = {budget, "control", control_words};
    report_.resize(1);
    if constexpr (detail::counting) {
      counters_ = {budget, "counters", counter_words};
      visits_ = {budget, "counters", offset_t{concurrent_} * n_};
      source_frontiers_ = {budget, "counters", n_};
      source_edges_ = {budget, "counters", n_};
      source_levels_ = {budget, "counters", n_};
      source_seen_ = {budget, "counters", concurrent_};
    }
    max_degree_ = 1;
    for (index_t i = 0; i < n_; ++i) {
      max_degree_ = std::max<offset_t>(max_degree_, static_cast<offset_t>(a.row(i).size()));
    }
    if (config_.scan_enqueue) {
      // At most an eighth of what the arena left, and room for the longest row.
      edge_capacity_ = std::clamp<offset_t>((budget.limit() - budget.used()) / 128, max_degree_,
                                            std::max(max_degree_, offset_t{1} << 24));
      segment_ = std::min<offset_t>(edge_capacity_, offset_t{1} << 20);
      edges_ = {budget, "scan_buffer", edge_capacity_};
      selected_ = {budget, "scan_buffer", edge_capacity_};
      degrees_ = {budget, "scan_buffer", segment_ + 1};
      offsets_ = {budget, "scan_buffer", segment_ + 1};
      scan_.prepare(std::max<offset_t>(edge_capacity_, segment_ + 1), budget);
    }
    windows_ = std::numeric_limits<std::uint32_t>::max() / (static_cast<std::uint32_t>(n_) + 1);
  }

  void start() {
    fill_bytes(fill_, 0, offset_t{concurrent_} * n_);
    fill_bytes(redo_.data(), 0, redo_.size());
    spilled_.clear();
    initialised_ = 0;
    window_ = 0;
    reinitialisations_ = 0;
    spills_ = 0;
    spilled_bytes_ = 0;
    if constexpr (detail::counting) {
      fill_bytes(counters_.data(), 0, counters_.size());
      fill_bytes(source_frontiers_.data(), 0, n_);
      fill_bytes(source_edges_.data(), 0, n_);
      fill_bytes(source_levels_.data(), 0, n_);
    }
  }

  void run(const source_batch& sources, std::uint32_t* l_counts, std::uint32_t* u_counts,
           execution& exec) {
    exec.check_deadline();
    batch_view b = begin_batch(sources, exec);
    b.l_counts = l_counts;
    b.u_counts = u_counts;
    config_.scan_enqueue ? traverse_by_scans(b, exec) : traverse(b, exec);
    synchronize();
  }

  [[nodiscard]] const std::map<std::string, std::int64_t>& predicted() const { return predicted_; }
  [[nodiscard]] index_t concurrent() const { return concurrent_; }
  [[nodiscard]] const std::uint32_t* fill() const { return fill_; }
  [[nodiscard]] const std::uint64_t* source_edges() const {
    return reinterpret_cast<const std::uint64_t*>(source_edges_.data());
  }

  void report(execution& exec) const;

 private:
  // Divides the budget: fill and maxId of as many sources as wanted or fit, the rest to the queues.
  void plan(const option_set& o, index_t most_sources, const fill_memory& own_fill) {
    const offset_t row = 4 * offset_t{n_};
    const std::int64_t wanted = o.integer("concurrent_sources");
    const offset_t left = budget_->limit() - budget_->used();
    auto maxid_entries = [&](offset_t c) {
      return config_.bubble_removal ? c * n_ - c * (c + 1) / 2 : c * n_;
    };
    // All sources at once where fill and maxId take less than a quarter of what is left.
    offset_t c = wanted > 0 ? wanted : std::max<offset_t>(256, left / 4 / (2 * row));
    c = std::min<offset_t>(c, most_sources > 0 ? std::min(most_sources, n_) : n_);
    auto queue_entries = [&](offset_t sources) -> offset_t {
      if (queue_option_ > 0)
        return config_.separate_queues ? queue_option_ * sources : queue_option_;
      // Without external frontiers the queues must hold every vertex of every source.
      const offset_t whole = sources * n_;
      if (!config_.external_frontier) return whole;
      const offset_t usual = std::max(std::min(whole, offset_t{1} << 20), whole / 4);
      // What one source's queue lacks no other can lend.
      return config_.separate_queues ? std::max(whole, 64 * sources) : usual;
    };
    auto redo_words = [&](offset_t sources, offset_t q) {
      return (std::max(sources, q) + 31) / 32;
    };
    auto bytes_without_queues = [&](offset_t sources) {
      return sources * row + 4 * maxid_entries(sources) +
             (config_.separate_queues ? 20 * sources + 8 : 0) + 64;
    };
    // A budget first takes from the queues, then from the number of concurrent sources.
    offset_t q = 0;
    for (;; c = (c + 1) / 2) {
      q = queue_entries(c);
      const offset_t fixed = bytes_without_queues(c) + counting_bytes(c);
      // With dynamic allocation a queue may take over all but fill: a redo bit for each place.
      const offset_t rest = left - fixed - fixed / 128 - 4 * redo_words(c, 0) - 64;
      const offset_t fits = rest / 17;  // two entries of 8 bytes and a redo bit each, rounded up
      const offset_t least = queue_option_ > 0 || !config_.external_frontier
                                 ? q
                                 : std::min<offset_t>(q, std::max<offset_t>(c, 1024));
      if (rest > 0 && fits >= least) {
        q = std::min(q, fits);
        break;
      }
      if (c == 1) {
        throw budget_error("memory budget: " + std::to_string(left) +
                           " bytes are too few for one source of order " + std::to_string(n_));
      }
    }
    concurrent_ = static_cast<index_t>(c);
    per_source_ = config_.separate_queues ? std::max<offset_t>(1, q / c) : 0;
    if (config_.separate_queues) q = per_source_ * c;
    q = std::min<offset_t>(q, offset_t{1} << 31);
    queue_entries_ = q;
    // Queues that hold every vertex of every source rarely overflow; smaller ones will.
    if (q < c * n_) spilled_.reserve(static_cast<std::size_t>(std::min<offset_t>(2 * q, 1 << 16)));
    // One arena: fill first, then maxId growing upwards, then the two queues.
    maxid_limit_ = maxid_entries(c);
    if (own_fill) fill_ = own_fill(c * n_);
    fill_words_ = own_fill ? 0 : c * n_;
    arena_words_ = fill_words_ + maxid_limit_ + 4 * q + 2;
    arena_ = {*budget_, "arena", arena_words_};
    if (!own_fill) fill_ = arena_.data();
    maxid_ = arena_.data() + fill_words_;
    redo_ = {*budget_, "redo",
             redo_words(c, config_.dynamic_allocation ? std::max(q, arena_words_ / 4) : q)};
    if (config_.separate_queues) {
      slot_tails_ = {*budget_, "control", level_slots * c};
      pack_offsets_ = {*budget_, "control", c + 1};
    }
    predicted_["fill"] = c * row;
    predicted_["maxid"] = 4 * maxid_limit_;
    predicted_["queues_and_trackers"] = 16 * q;
    predicted_["paper_6VC"] = 6 * row * c;
  }
  // Per-vertex visit counts of the counting build.
  [[nodiscard]] offset_t counting_bytes([[maybe_unused]] offset_t c) const {
    if constexpr (detail::counting) return 4 * c * n_ + 4 * c + 32 * offset_t{n_};
    return 0;
  }
  batch_view begin_batch(const source_batch& sources, execution& exec) {
    const phase timed(exec, phase_id::init);
    const auto c = static_cast<offset_t>(sources.count);
    const offset_t entries =
        !config_.bubble_removal ? c * n_
        : sources.list.empty()
            ? c * sources.begin + c * (c - 1) / 2
            : std::accumulate(sources.list.begin(), sources.list.end(), offset_t{0});
    if (!config_.stale_windows || window_ == 0) ++window_;
    if (!config_.range_reuse || window_ > windows_) {
      window_ = 1;
      initialised_ = 0;
      ++reinitialisations_;
    }
    // The part of the arena that maxId reaches for the first time since the last initialisation.
    const offset_t upto =
        config_.dynamic_allocation ? std::max(entries, initialised_) : maxid_limit_;
    if (upto > initialised_) fill_bytes(maxid_ + initialised_, 0xff, upto - initialised_);
    initialised_ = upto;

    batch_view b{};
    b.row_ptr = matrix_->row_ptr();
    b.col_idx = matrix_->col_idx();
    b.n = n_;
    b.begin = sources.begin;
    b.sources = sources.count;
    if (!sources.list.empty()) list_sources(sources, b);
    b.base =
        std::numeric_limits<std::uint32_t>::max() - window_ * (static_cast<std::uint32_t>(n_) + 1);
    b.bubble_removal = config_.bubble_removal;
    b.maxid = maxid_;
    b.fill = fill_;
    // What maxId does not need yet goes to the queues, aligned to 8 bytes.
    offset_t first = fill_words_ + upto;
    first += first % 2;
    offset_t capacity = (arena_words_ - first) / 4;
    if (!config_.dynamic_allocation) capacity = std::min(capacity, queue_entries_);
    if (queue_option_ > 0) {
      capacity = std::min(capacity, queue_entries_);
    }
    capacity = std::min<offset_t>(capacity, offset_t{1} << 31);
    if (config_.separate_queues) {
      capacity = std::max<offset_t>(1, capacity / concurrent_);
      if (queue_option_ > 0) {
        capacity = std::min(capacity, per_source_);
      }
    }
    b.capacity = static_cast<std::uint32_t>(capacity);
    const offset_t places = config_.separate_queues ? capacity * concurrent_ : capacity;
    b.queue[0] = reinterpret_cast<std::uint64_t*>(arena_.data() + first);
    b.queue[1] = b.queue[0] + places;
    b.redo = redo_.data();
    b.control = control_.data();
    b.report = report_.data();
    b.slot_tails = slot_tails_.data();
    if constexpr (detail::counting) {
      b.counters = counters_.data();
      b.visits = visits_.data();
      b.source_frontiers = source_frontiers_.data();
      b.source_edges = source_edges_.data();
      b.source_levels = source_levels_.data();
      b.source_seen = source_seen_.data();
      fill_bytes(visits_.data(), 0, visits_.size());
      fill_bytes(source_seen_.data(), 0, source_seen_.size());
    }
    fill_bytes(control_.data(), 0, control_words);
    if (config_.separate_queues) fill_bytes(slot_tails_.data(), 0, slot_tails_.size());
    synchronize();
    return b;
  }

  // Sources that are not consecutive, and where the maxId of each begins, on the device.
  void list_sources(const source_batch& sources, batch_view& b) {
    if (list_.size() == 0) {
      list_ = {*budget_, "control", concurrent_};
      maxid_offsets_ = {*budget_, "control", concurrent_};
    }
    copy_to_device(list_.data(), sources.list.data(), sources.count);
    b.list = list_.data();
    if (!config_.bubble_removal) return;
    std::vector<offset_t> offsets(sources.list.size());
    std::exclusive_scan(sources.list.begin(), sources.list.end(), offsets.begin(), offset_t{0});
    copy_to_device(maxid_offsets_.data(), offsets.data(), sources.count);
    b.maxid_offsets = maxid_offsets_.data();
  }

  using kernel = void (*)(batch_view, std::uint32_t, first_frontiers, bool);
  [[nodiscard]] kernel chosen() const {
    if (config_.lose_updates) return traverse_kernel<false, 32, false, true>;
    if (config_.separate_queues) return traverse_kernel<false, 32, true, false>;
    if (config_.thread_centric) return traverse_kernel<false, 1, false, false>;
    return config_.line_9_5 ? by_lanes<true>() : by_lanes<false>();
  }
  template <bool Line95>
  [[nodiscard]] kernel by_lanes() const {
    switch (lanes_) {
      case 4:
        return traverse_kernel<Line95, 4, false, false>;
      case 8:
        return traverse_kernel<Line95, 8, false, false>;
      case 16:
        return traverse_kernel<Line95, 16, false, false>;
      default:
        return traverse_kernel<Line95, 32, false, false>;
    }
  }

  void traverse(batch_view& b, execution& exec) {
    if (blocks_ == 0) {
      // A small matrix never has work for the whole device, and every level waits for all blocks.
      const offset_t lanes = offset_t{concurrent_} * n_ / 8 * lanes_;
      blocks_ = static_cast<int>(std::clamp<offset_t>(
          lanes / threads_, 1, std::max(1, resident_blocks(chosen(), threads_, 0))));
    }
    std::uint32_t level = 0;
    first_frontiers first{static_cast<std::uint32_t>(b.sources), nullptr};
    bool redo = false;
    loading_.clear();
    std::size_t taken = 0;  // from the end of loading_, by the launches since
    for (;;) {
      exec.check_deadline();
      launch_cooperative(chosen(), blocks_, threads_, 0, b, level, first, redo);
      synchronize();
      const launch_report& report = report_.front();
      level = report.control[last_level];
      const bool unfinished = report.control[incomplete] != 0;
      if (!unfinished && loading_.size() == taken && spilled_.empty()) break;
      const phase timed(exec, phase_id::spill);
      if (unfinished) {
        // The level goes on with an empty queue for what it finds.
        if (level != 0) first = {0, nullptr};
        spill(b, level + 1);
        redo = true;
        continue;
      }
      loading_.resize(loading_.size() - taken);
      if (loading_.empty()) loading_.swap(spilled_);
      taken = static_cast<std::size_t>(
          std::min({static_cast<offset_t>(loading_.size()), 32 * redo_.size(), offset_t{1} << 31}));
      spilled_bytes_ += 8 * static_cast<offset_t>(taken);
      first = {static_cast<std::uint32_t>(taken), loading_.data() + (loading_.size() - taken)};
      level = 0;
      redo = false;
    }
  }

  // Takes the frontiers found for `level` over into host memory.
  void spill(const batch_view& b, std::uint32_t level) {
    const std::uint64_t* const queue = b.queue[level & 1U];
    const std::size_t before = spilled_.size();
    if (config_.separate_queues) {
      const auto sources = static_cast<std::size_t>(b.sources);
      std::vector<std::uint32_t> tails(sources);
      copy_to_host(tails.data(), b.slot_tails + offset_t{level % level_slots} * b.sources,
                   b.sources);
      std::vector<offset_t> offsets(sources + 1, 0);
      for (std::size_t s = 0; s < sources; ++s) {
        offsets[s + 1] = offsets[s] + std::min(tails[s], b.capacity);
      }
      copy_to_device(pack_offsets_.data(), offsets.data(), static_cast<offset_t>(offsets.size()));
      spilled_.resize(before + static_cast<std::size_t>(offsets.back()));
      launch(pack_queues_kernel, std::min(b.sources, 4096), 128, 0, queue, b.capacity, b.sources,
             static_cast<const offset_t*>(pack_offsets_.data()), spilled_.data() + before);
      synchronize();
      spilled_bytes_ += 8 * offsets.back();
    } else {
      const launch_report& report = report_.front();
      const std::uint32_t found = report.control[tail_0 + level % level_slots];
      const std::uint32_t count = std::min(found, b.capacity);
      if (found <= launch_report::inline_entries) {
        spilled_.insert(spilled_.end(), report.entries, report.entries + count);
        spilled_bytes_ += 8 * offset_t{count};
      } else {
        take(queue, count);
      }
    }
    spilled_.erase(std::remove(spilled_.begin() + static_cast<std::ptrdiff_t>(before),
                               spilled_.end(), empty_entry),
                   spilled_.end());
    if (config_.drop_spills) spilled_.clear();
    ++spills_;
  }
  void take(const std::uint64_t* from, std::uint32_t count) {
    const std::size_t size = spilled_.size();
    spilled_.resize(size + count);
    copy_to_host(spilled_.data() + size, from, count);
    spilled_bytes_ += 8 * offset_t{count};
  }

  // The ablation without atomics on the queue: per level a scan of the frontiers' degrees gives
  // every edge a place, and a selection packs what the edges found.
  void traverse_by_scans(batch_view& b, execution& exec) {
    std::uint32_t count = static_cast<std::uint32_t>(b.sources);
    std::uint32_t seeds = count;
    unsigned parity = 0;
    const auto segment = static_cast<std::uint32_t>(
        std::max<offset_t>(1, std::min<offset_t>(segment_, edge_capacity_ / max_degree_)));
    constexpr int threads = 256;
    const int blocks = current_limits().multiprocessors * 8;
    while (count > 0 || !spilled_.empty()) {
      exec.check_deadline();
      if (count == 0) {
        const phase timed(exec, phase_id::spill);
        count = static_cast<std::uint32_t>(std::min<std::size_t>(spilled_.size(), b.capacity));
        copy_to_device(b.queue[parity], spilled_.data() + (spilled_.size() - count), count);
        spilled_.resize(spilled_.size() - count);
      }
      std::uint32_t filled = 0;
      std::uint64_t* const next = b.queue[parity ^ 1U];
      for (std::uint32_t first = 0; first < count; first += segment) {
        const std::uint32_t part = std::min(segment, count - first);
        launch(degree_kernel, blocks, threads, 0, b, b.queue[parity], first, part, seeds,
               degrees_.data());
        const std::uint32_t edges = scan_.exclusive_sum(degrees_.data(), offsets_.data(), part);
        launch(config_.line_9_5 ? scatter_kernel<true> : scatter_kernel<false>, blocks, threads, 0,
               b, b.queue[parity], first, part, seeds,
               static_cast<const std::uint32_t*>(offsets_.data()), edges_.data());
        const std::uint32_t found =
            scan_.select_other_than(empty_entry, edges_.data(), selected_.data(), edges);
        if (found > b.capacity - filled) {
          const phase timed(exec, phase_id::spill);
          take(next, filled);
          take(selected_.data(), found);
          filled = 0;
          ++spills_;
        } else {
          scan_.append(next + filled, selected_.data(), found);
          filled += found;
        }
      }
      seeds = 0;
      count = filled;
      parity ^= 1U;
    }
  }

  maxid_config config_;
  index_t n_ = 0;
  index_t concurrent_ = 0;  // #C
  std::int64_t queue_option_ = 0;
  offset_t fill_words_ = 0;  // of the arena
  offset_t queue_entries_ = 0, per_source_ = 0, maxid_limit_ = 0, arena_words_ = 0;
  offset_t initialised_ = 0;  // maxId entries of the arena that hold values of some window
  offset_t max_degree_ = 1, edge_capacity_ = 0;
  offset_t segment_ = 0;  // frontiers scanned at a time
  std::uint32_t windows_ = 0, window_ = 0;
  std::int64_t reinitialisations_ = 0, spills_ = 0, spilled_bytes_ = 0;
  int threads_ = 256, blocks_ = 0, lanes_ = 32;
  std::map<std::string, std::int64_t> predicted_;
  memory_budget* budget_ = nullptr;
  const device_matrix* matrix_ = nullptr;
  device_array<std::uint32_t> arena_, redo_, control_, slot_tails_, degrees_, offsets_;
  device_array<std::uint64_t> edges_, selected_;
  device_array<index_t> list_;
  device_array<offset_t> maxid_offsets_, pack_offsets_;
  std::uint32_t* fill_ = nullptr;
  std::uint32_t* maxid_ = nullptr;
  scanner scan_;
  pinned_vector<std::uint64_t> spilled_;  // frontiers in host memory
  pinned_vector<std::uint64_t> loading_;  // those that launches read again
  pinned_vector<launch_report> report_;
  device_array<unsigned long long> counters_, source_frontiers_, source_edges_;
  device_array<std::uint32_t> visits_, source_levels_, source_seen_;
};

void maxid_search::engine::report([[maybe_unused]] execution& exec) const {
  if constexpr (detail::counting) {
    std::array<std::uint64_t, counter_words> c{};
    copy_to_host(c.data(), reinterpret_cast<const std::uint64_t*>(counters_.data()), counter_words);
    auto& t = exec.counters.totals;
    auto value = [&](counter_word w) { return static_cast<std::int64_t>(c[w]); };
    t["edges_traversed"] = value(edges_word);
    t["fills_found_again"] = value(again_word);
    t["revisits"] = value(revisits_word);
    t["frontiers"] = value(frontiers_word);
    t["levels"] = value(levels_word);
    t["queue_entries_sum"] = value(occupancy_word);
    t["queue_peak"] = value(peak_word);
    t["queue_capacity_VC"] = offset_t{concurrent_} * n_;
    std::vector<std::uint64_t> frontiers(static_cast<std::size_t>(n_));
    std::vector<std::uint32_t> levels(static_cast<std::size_t>(n_));
    copy_to_host(frontiers.data(), reinterpret_cast<const std::uint64_t*>(source_frontiers_.data()),
                 n_);
    copy_to_host(levels.data(), source_levels_.data(), n_);
    auto& series = exec.counters.series["frontier_size"];
    for (std::size_t i = 0; i < frontiers.size(); ++i) {
      series.push_back(levels[i] == 0
                           ? 0.0
                           : static_cast<double>(frontiers[i]) / static_cast<double>(levels[i]));
    }
    t["spills"] = spills_;
    t["spilled_bytes"] = spilled_bytes_;
    t["reinitialisations"] = reinitialisations_;
    t["concurrent_sources"] = concurrent_;
  }
}

maxid_search::maxid_search(const maxid_config& config)
    : engine_(std::make_unique<engine>(config)) {}
maxid_search::~maxid_search() = default;

void maxid_search::prepare(const pattern_view& a, const device_matrix& matrix,
                           const option_set& options, memory_budget& budget, index_t most_sources,
                           const fill_memory& own_fill) {
  engine_->prepare(a, matrix, options, budget, most_sources, own_fill);
}
const std::map<std::string, std::int64_t>& maxid_search::predicted_bytes() const {
  return engine_->predicted();
}
index_t maxid_search::concurrent_sources() const { return engine_->concurrent(); }
void maxid_search::start() { engine_->start(); }
void maxid_search::run(const source_batch& sources, std::uint32_t* l_counts,
                       std::uint32_t* u_counts, execution& exec) {
  engine_->run(sources, l_counts, u_counts, exec);
}
const std::uint32_t* maxid_search::fill() const { return engine_->fill(); }
const std::uint64_t* maxid_search::source_edges() const { return engine_->source_edges(); }
void maxid_search::report(execution& exec) const { engine_->report(exec); }

}  // namespace gsofa::gpu

#endif
