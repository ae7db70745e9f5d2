#pragma once

// The search of gpu_fill2_bitparallel: fill2 on a group of consecutive sources, a bit each.

#include "variants/device/runtime.hpp"
#include "variants/support/counting.hpp"

namespace gsofa::gpu::fill2 {

struct bitparallel_view {
  const offset_t* row_ptr;
  const index_t* col_idx;
  index_t n;
  index_t begin;
  index_t sources;
  std::uint32_t queue_entries;
  void* global_reach;   // by block, or null: in shared memory
  std::uint32_t* late;  // by block: n masks, all zero between searches
  void* masks;          // result, by group of sources
  std::uint32_t* ticket;
  unsigned long long* counters;  // counting build: edges, expanded vertices
};

/// Words that the threads of a block share in addition to reach and the queues.
enum shared_word : unsigned {
  ticket_word,
  overflow_word,
  tail_0,  ///< this and the next two: places taken in the queue of level k, at k mod 3
  candidate_0 =
      tail_0 + 3,  ///< this and the next two: least thread of round r with a search, at r mod 3
  shared_words = candidate_0 + 3
};

constexpr std::uint32_t no_choice = 0xffffffffU;

/// reach[v] |= mask; returns the bits that were not there before.
template <class Mask>
GSOFA_DEVICE std::uint32_t set_bits(Mask* reach, index_t v, std::uint32_t mask) {
  if constexpr (sizeof(Mask) == 4) {
    return mask & ~simt::atomic_or(reach + v, mask);
  } else {
    constexpr index_t per_word = 4 / static_cast<index_t>(sizeof(Mask));
    auto* const word = reinterpret_cast<std::uint32_t*>(reach) + v / per_word;
    const auto shift = static_cast<unsigned>(v % per_word * 8 * static_cast<index_t>(sizeof(Mask)));
    return mask & ~(simt::atomic_or(word, mask << shift) >> shift);
  }
}

/// What a block keeps for its current group of sources; the encoding stands at bitparallel_kernel.
template <class Mask>
struct block_state {
  std::uint32_t* shared;  ///< by shared_word
  std::uint64_t* queues;  ///< two, of queue_entries each
  Mask* reach;            ///< by vertex
  std::uint32_t* late;    ///< by vertex
};

template <class Mask>
GSOFA_DEVICE block_state<Mask> state_of_block(const bitparallel_view& b) {
  auto* const shared = simt::shared_memory<std::uint32_t>();
  auto* const queues = reinterpret_cast<std::uint64_t*>(shared + shared_words);
  const auto n = static_cast<std::size_t>(b.n);
  Mask* const reach =
      b.global_reach != nullptr
          ? static_cast<Mask*>(b.global_reach) + simt::block_index() * ((n + 3) / 4 * 4)
          : reinterpret_cast<Mask*>(queues + 2 * b.queue_entries);
  return {shared, queues, reach, b.late + simt::block_index() * n};
}

/// What a thread has done, in the counting build.
struct work_done {
  unsigned long long edges = 0;
  unsigned long long expanded = 0;
};

/// The position of a group in its sequences of three words each.
struct sequence {
  unsigned round = 0;  ///< of the candidates, mod 3
  unsigned level = 0;  ///< of the queues, mod 3
};
GSOFA_DEVICE unsigned following(unsigned k) { return k == 2 ? 0 : k + 1; }

/// Consecutive sources that a block searches together.
template <class Mask>
struct source_group {
  static constexpr index_t size = 8 * static_cast<index_t>(sizeof(Mask));
  index_t first;
  index_t members;
  index_t last;  ///< first + members - 1, the end of the thresholds: no source is larger
  Mask* out;     ///< the result, by vertex

  /// Bits of sources > t.
  GSOFA_DEVICE std::uint32_t larger(index_t t) const {
    const index_t drop = t - first + 1;  // sources first .. t
    return drop <= 0 ? 0xffffffffU : (drop >= 32 ? 0U : 0xffffffffU << drop);
  }
};

/// A thread's threshold in a tile of consecutive thresholds, one per thread.
struct threshold_view {
  index_t base;  ///< the tile is [base, end)
  index_t end;
  index_t t;    ///< of this thread
  bool exists;  ///< t is a threshold
  offset_t row_begin;
  offset_t row_end;
  std::uint32_t mine = 0;  ///< bits of reach[t] when t was last examined
  bool dirty;              ///< reach[t] has bits that t was not examined with
  bool downward = false;   ///< t has fresh bits for a smaller vertex
  index_t done;            ///< thresholds up to here are passed
};

/// Draws the number of the block's next group, the last one first; false once none is left. All
/// threads get the same number: the barrier here orders their load after the store of thread 0, and
/// the barriers of the search order it before the next draw.
GSOFA_DEVICE bool take_group(const bitparallel_view& b, std::uint32_t* shared, std::uint32_t groups,
                             std::uint32_t& group) {
  if (simt::thread_index() == 0) {
    shared[ticket_word] = simt::atomic_add(b.ticket, std::uint32_t{1});
  }
  simt::sync_block();
  const std::uint32_t ticket = shared[ticket_word];
  if (ticket >= groups) return false;
  group = groups - 1 - ticket;
  return true;
}

/// Makes reach the rows of A of the group, a warp per source. Afterwards bit k of reach[v] is set
/// iff (first + k, v) is in A, the queues are empty and no round has a candidate. A barrier
/// separates the clearing from the marking; the last barrier shows the state to all threads.
template <class Mask>
GSOFA_DEVICE void load_rows(const bitparallel_view& b, const block_state<Mask>& s,
                            const source_group<Mask>& group, work_done& work) {
  const unsigned threads = simt::block_size();
  const unsigned thread = simt::thread_index();
  for (std::size_t k = thread; k < (static_cast<std::size_t>(b.n) * sizeof(Mask) + 3) / 4;
       k += threads) {
    reinterpret_cast<std::uint32_t*>(s.reach)[k] = 0;
  }
  if (thread == 0) {
    s.shared[overflow_word] = 0;
    for (unsigned k = 0; k < 3; ++k) {
      s.shared[tail_0 + k] = 0;
      s.shared[candidate_0 + k] = no_choice;
    }
  }
  simt::sync_block();
  for (index_t k = static_cast<index_t>(thread / 32); k < group.members;
       k += static_cast<index_t>(threads / 32)) {
    const offset_t end = b.row_ptr[group.first + k + 1];
    for (offset_t e = b.row_ptr[group.first + k] + lane_index(); e < end; e += 32) {
      set_bits(s.reach, b.col_idx[e], std::uint32_t{1} << k);
      if constexpr (detail::counting) ++work.edges;
    }
  }
  simt::sync_block();
}

/// The threshold of this thread in the tile from `base` on; nothing of the tile is passed yet.
template <class Mask>
GSOFA_DEVICE threshold_view threshold_of_thread(const bitparallel_view& b,
                                                const source_group<Mask>& group, index_t base) {
  const index_t t = base + static_cast<index_t>(simt::thread_index());
  const bool exists = t < group.last;
  return {.base = base,
          .end = base + static_cast<index_t>(simt::block_size()),
          .t = t,
          .exists = exists,
          .row_begin = exists ? simt::load_constant(b.row_ptr + t) : 0,
          .row_end = exists ? simt::load_constant(b.row_ptr + t + 1) : 0,
          .dirty = exists,
          .done = base - 1};
}

/// Examines threshold t of this thread: sets its active bits at all larger neighbours. Afterwards
/// `mine` is what t was examined with, those neighbours have the active bits among it, and
/// `downward` tells whether a smaller neighbour lacks one. Returns whether a threshold of the tile
/// got a new bit. Other threads may set bits of reach[t] meanwhile; t is examined again then.
template <class Mask>
GSOFA_DEVICE bool push_upward(const bitparallel_view& b, const block_state<Mask>& s,
                              const source_group<Mask>& group, threshold_view& own,
                              work_done& work) {
  bool raised = false;
  own.mine = simt::load_shared_state(s.reach + own.t);
  const std::uint32_t active = own.mine & group.larger(own.t);
  own.downward = false;
  if (active == 0) return false;
  for (offset_t e = own.row_begin; e < own.row_end; e += 4) {
    index_t to[4];
    for (int k = 0; k < 4; ++k) {
      to[k] = e + k < own.row_end ? simt::load_constant(b.col_idx + e + k) : own.t;
    }
    for (int k = 0; k < 4; ++k) {
      const std::uint32_t fresh =
          active & ~static_cast<std::uint32_t>(simt::load_shared_state(s.reach + to[k]));
      if (fresh == 0) continue;
      if (to[k] > own.t) {
        if (set_bits(s.reach, to[k], fresh) != 0 && to[k] < own.end) raised = true;
      } else {
        own.downward = true;
      }
    }
  }
  if constexpr (detail::counting) {
    work.edges += static_cast<unsigned long long>(own.row_end - own.row_begin);
  }
  return raised;
}

/// Whether the sweep has to examine t (again): the sweep is not past t, and t has bits that it
/// lacked when it was last examined.
template <class Mask>
GSOFA_DEVICE bool needs_sweep(const block_state<Mask>& s, const threshold_view& own) {
  return own.exists && own.t > own.done && simt::load_shared_state(s.reach + own.t) != own.mine;
}

/// Follows the upward edges of the tile, all thresholds at once, until none of them gets a new bit.
/// Returns the least threshold of the tile, relative to its base, that is not passed and has a
/// fresh bit for a smaller vertex, or no_choice; all threads return the same. The barrier that
/// ends a round orders the bits and the candidates of the round before what is read of them; the
/// word of the next round was last read before the barrier of the round before this, so that thread
/// 0 may clear it. A thread that misses a bit that is being set meanwhile sees it after the next
/// barrier.
template <class Mask>
GSOFA_DEVICE std::uint32_t sweep_thresholds(const bitparallel_view& b, const block_state<Mask>& s,
                                            const source_group<Mask>& group, threshold_view& own,
                                            sequence& at, work_done& work) {
  std::uint32_t chosen = no_choice;
  for (bool moved = true; moved;) {
    bool raised = false;
    if (own.dirty) raised = push_upward(b, s, group, own, work);
    const unsigned candidates = simt::ballot(own.downward && own.t > own.done);
    if (candidates != 0 && lane_index() == 0) {
      simt::atomic_min(s.shared + candidate_0 + at.round,
                       simt::thread_index() + simt::lowest_bit(candidates));
    }
    const unsigned next_round = following(at.round);
    if (simt::thread_index() == 0) s.shared[candidate_0 + next_round] = no_choice;
    moved = simt::sync_block_or(raised);
    chosen = s.shared[candidate_0 + at.round];
    at.round = next_round;
    own.dirty = needs_sweep(s, own);
  }
  return chosen;
}

/// A search from a threshold, and where a level of it leaves the vertices of the next level.
struct search_view {
  index_t threshold;
  std::uint64_t* next;
  std::uint32_t* next_tail;
};

/// Spreads `bits` from v to its neighbours in a search; a warp per vertex.
/// Afterwards all neighbours have the bits. For each bit that is new at a vertex below the
/// threshold exactly one lane, the one that set it, enqueues it in `next`, or leaves it in `late`
/// where the queue is full.
template <class Mask>
GSOFA_DEVICE void expand(const bitparallel_view& b, const block_state<Mask>& s,
                         const search_view& search, index_t v, std::uint32_t bits,
                         work_done& work) {
  const offset_t end = simt::load_constant(b.row_ptr + v + 1);
  for (offset_t e = simt::load_constant(b.row_ptr + v) + lane_index(); e < end; e += 32) {
    const index_t w = simt::load_constant(b.col_idx + e);
    if constexpr (detail::counting) ++work.edges;
    std::uint32_t fresh = bits & ~static_cast<std::uint32_t>(simt::load_shared_state(s.reach + w));
    if (fresh == 0) continue;
    fresh = set_bits(s.reach, w, fresh);
    if (fresh == 0 || w > search.threshold) continue;
    const std::uint32_t place = simt::atomic_add(search.next_tail, std::uint32_t{1});
    if (place < b.queue_entries) {
      search.next[place] =
          (static_cast<std::uint64_t>(fresh) << 32) | static_cast<std::uint32_t>(w);
    } else {
      simt::atomic_or(s.late + w, fresh);
      s.shared[overflow_word] = 1;
    }
  }
  if constexpr (detail::counting) work.expanded += lane_index() == 0 ? 1 : 0;
}

/// Expands the first `count` entries of the queue `now` of a level, a warp each.
template <class Mask>
GSOFA_DEVICE void expand_queue(const bitparallel_view& b, const block_state<Mask>& s,
                               const search_view& search, const std::uint64_t* now,
                               std::uint32_t count, work_done& work) {
  for (std::uint32_t i = simt::thread_index() / 32; i < count; i += simt::block_size() / 32) {
    const std::uint64_t entry = now[i];
    expand(b, s, search, static_cast<index_t>(entry & 0xffffffffU),
           static_cast<std::uint32_t>(entry >> 32), work);
  }
}

/// Expands what earlier levels left in `late`, a warp per vertex, as a level of its own. The
/// overflow word is cleared between two barriers: all threads have read it before the first, and
/// none sets it again before the second. A bit that is left behind meanwhile is either taken by the
/// exchange or still in `late`, with the word set, at the end of the level.
template <class Mask>
GSOFA_DEVICE void expand_late(const bitparallel_view& b, const block_state<Mask>& s,
                              const search_view& search, work_done& work) {
  simt::sync_block();
  if (simt::thread_index() == 0) s.shared[overflow_word] = 0;
  simt::sync_block();
  for (index_t v = static_cast<index_t>(simt::thread_index() / 32); v < search.threshold;
       v += static_cast<index_t>(simt::block_size() / 32)) {
    std::uint32_t bits = 0;
    if (lane_index() == 0 && simt::load_shared_state(s.late + v) != 0) {
      bits = simt::atomic_exchange(s.late + v, std::uint32_t{0});
    }
    bits = simt::shuffle(bits, 0);
    if (bits != 0) expand(b, s, search, v, bits, work);
  }
}

/// Searches from a threshold through the vertices below it, level by level, the whole block.
/// Afterwards every vertex that the active bits of the threshold reach so has them, `late` is zero,
/// and the tails of the current level and of the next are zero, as they were before. The barrier
/// after each level orders its stores before the next level; it also separates the last reading of
/// a tail from its clearing, a level later.
template <class Mask>
GSOFA_DEVICE void search_from(const bitparallel_view& b, const block_state<Mask>& s,
                              const source_group<Mask>& group, index_t threshold, sequence& at,
                              work_done& work) {
  if (simt::thread_index() / 32 == 0) {
    const std::uint32_t active =
        static_cast<std::uint32_t>(simt::load_shared_state(s.reach + threshold)) &
        group.larger(threshold);
    expand(b, s, {threshold, s.queues, s.shared + tail_0 + at.level}, threshold, active, work);
  }
  simt::sync_block();
  for (unsigned side = 0;; side ^= 1U) {
    const unsigned after = following(at.level);
    const search_view search{threshold, s.queues + (side ^ 1U) * b.queue_entries,
                             s.shared + tail_0 + after};
    const std::uint32_t tail = s.shared[tail_0 + at.level];
    const std::uint32_t count = tail < b.queue_entries ? tail : b.queue_entries;
    if (count == 0) {
      if (s.shared[overflow_word] == 0) break;
      expand_late(b, s, search, work);
    } else {
      expand_queue(b, s, search, s.queues + side * b.queue_entries, count, work);
    }
    if (simt::thread_index() == 0) s.shared[tail_0 + following(after)] = 0;
    simt::sync_block();
    at.level = after;
  }
}

/// Passes all thresholds of the tile from `base` on and writes out their row bits. Before the call
/// all smaller thresholds are passed. A sweep makes the upward edges of the tile quiet; then all
/// thresholds below the first one with a fresh bit for a smaller vertex are passed, and the block
/// searches from that one; and so on until there is none. `mine` is final then: no later threshold
/// creates a fill-in at or below t.
template <class Mask>
GSOFA_DEVICE void pass_tile(const bitparallel_view& b, const block_state<Mask>& s,
                            const source_group<Mask>& group, index_t base, sequence& at,
                            work_done& work) {
  threshold_view own = threshold_of_thread(b, group, base);
  for (;;) {
    const std::uint32_t chosen = sweep_thresholds(b, s, group, own, at, work);
    if (chosen == no_choice) break;
    const index_t threshold = base + static_cast<index_t>(chosen);
    search_from(b, s, group, threshold, at, work);
    own.done = threshold;
    own.dirty = needs_sweep(s, own);
  }
  if (own.exists) group.out[own.t] = static_cast<Mask>(own.mine);
}

/// Writes out the row bits of the vertices that are no threshold. The first barrier orders the last
/// sweep before the loads, the second orders these before the state of the next group.
template <class Mask>
GSOFA_DEVICE void emit_rest(const bitparallel_view& b, const block_state<Mask>& s,
                            const source_group<Mask>& group) {
  simt::sync_block();
  for (index_t v = group.last + static_cast<index_t>(simt::thread_index()); v < b.n;
       v += static_cast<index_t>(simt::block_size())) {
    group.out[v] = simt::load_shared_state(s.reach + v);
  }
  simt::sync_block();
}

/// A block takes groups of B = 8, 16 or 32 consecutive sources, last group first; reach[v] has a
/// bit per source that reached v. Thresholds ascend over all vertices. At threshold t the bits of t
/// that belong to sources > t are active; every one of them found t as a fill-in (or in A), since
/// it was reached from a smaller threshold, and reach[t] is final as far as the fill goes: no later
/// threshold can create a fill-in at or below t. So the row bits of t are written out here. Then
/// a search runs from t through vertices below t: a bit that is new at w > t is a fill-in; a bit
/// that is new at w < t propagates further (Rose & Tarjan's fill2 for B sources at once).
///
/// Order matters for searches downwards only: a bit that t > q brings to w between q and t, from
/// where it propagates, must not come before the fill-in that q < w would find there. A bit brought
/// upwards, from t to w > t, is a fill-in whenever it is brought. So a tile of thresholds, one per
/// thread, first passes its bits upwards, all at once, until nothing changes; then the block
/// searches from the first threshold with a fresh bit for a smaller vertex; and so on. All
/// thresholds below it are quiet then: their own bits are final and all their neighbours have them.
///
/// Queue entries are bits << 32 | vertex. A lane that finds the queue full leaves the bits of v in
/// late[v] (global memory), and the search goes over all of late when the queue has run dry.
template <class Mask>
GSOFA_KERNEL void bitparallel_kernel(bitparallel_view b) {
  constexpr index_t group_size = source_group<Mask>::size;
  const block_state<Mask> s = state_of_block<Mask>(b);
  work_done work;
  const auto groups = static_cast<std::uint32_t>((b.sources - 1) / group_size + 1);
  for (std::uint32_t number = 0; take_group(b, s.shared, groups, number);) {
    const index_t first = b.begin + static_cast<index_t>(number) * group_size;
    const index_t rest = b.begin + b.sources - first;
    const index_t members = rest < group_size ? rest : group_size;
    Mask* const out = static_cast<Mask*>(b.masks) + number * static_cast<std::size_t>(b.n);
    const source_group<Mask> group{first, members, first + members - 1, out};
    load_rows(b, s, group, work);
    sequence at;
    for (index_t base = 0; base < group.last; base += static_cast<index_t>(simt::block_size())) {
      pass_tile(b, s, group, base, at, work);
    }
    emit_rest(b, s, group);
  }
  if constexpr (detail::counting) {
    simt::atomic_add(b.counters, work.edges);
    simt::atomic_add(b.counters + 1, work.expanded);
  }
}

}  // namespace gsofa::gpu::fill2
