#pragma once

/// A batch of sources on the device: the place of each structure.
///
/// Encoding.
/// maxid   window w holds base + m, m in [0, |V|), base = 2^32 - 1 - w(|V| + 1), w = 1, 2, ...;
///          everything >= base + |V| reads as infinity, so that a new window needs no reset.
///          A slot of a batch owns |V| entries, or with bubble removal as many as its source
///          number, one slot after the other: k * begin + k(k - 1)/2 where sources are consecutive.
/// fill    |V| entries per slot: source + 1 that last marked the vertex.
/// queue   64-bit entries, slot << 32 | vertex; `empty_entry` where a reserved place stayed
/// unused.
///          The slot index is the paper's tracker. A batch begins with the sources themselves as
///          virtual frontiers (no memory) that mark all their neighbours as direct.
/// tails   number of places reserved in the queue of level k, at k mod 3: while level k reads
///          [k], it writes [k + 1] and clears [k + 2].

#include <cstddef>

#include "variants/maxid/relax.cuh"
#include "variants/support/counting.hpp"

namespace gsofa::maxid {

using namespace gpu;  // NOLINT: the runtime of kernels

#if defined(GSOFA_GPU)

// What a launch reads and writes.
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

/// A frontier in a queue.
GSOFA_DEVICE std::uint64_t entry_of(index_t slot, index_t v) {
  return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(slot)) << 32) |
         static_cast<std::uint32_t>(v);
}
GSOFA_DEVICE index_t slot_of(std::uint64_t entry) { return static_cast<index_t>(entry >> 32); }
GSOFA_DEVICE index_t vertex_of(std::uint64_t entry) {
  return static_cast<index_t>(entry & 0xffffffffU);
}

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
  std::uint32_t* source_seen;   // counting build: last level + 1 in which the source took part
  std::uint32_t levels_before;  // counting build: levels of the launches before those since a spill

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
  GSOFA_DEVICE source_search search_of(index_t slot) const {
    return {source(slot), base, maxid_of(slot), fill_of(slot)};
  }
  /// The virtual frontier with which the search from a slot begins.
  GSOFA_DEVICE std::uint64_t seed(std::uint32_t slot) const {
    return entry_of(static_cast<index_t>(slot), source(static_cast<index_t>(slot)));
  }
};

/// Counting build: a frontier, or a source, has been expanded in a level of the launches since a
/// spill. `again`: to finish what the queue had no place for, which is more edges, but no other
/// frontier.
GSOFA_DEVICE void count_expansion([[maybe_unused]] const batch_view& b,
                                  [[maybe_unused]] std::uint64_t entry,
                                  [[maybe_unused]] std::uint32_t level,
                                  [[maybe_unused]] bool again) {
  if constexpr (detail::counting) {
    const index_t slot = slot_of(entry);
    const index_t v = vertex_of(entry);
    const index_t src = b.source(slot);
    const auto degree = static_cast<unsigned long long>(b.row_ptr[v + 1] - b.row_ptr[v]);
    simt::atomic_add(b.counters + edges_word, degree);
    simt::atomic_add(b.source_edges + src, degree);
    if (v == src || again) return;
    simt::atomic_add(b.counters + frontiers_word, 1ULL);
    const std::size_t cell = static_cast<std::size_t>(slot) * static_cast<std::size_t>(b.n) +
                             static_cast<std::size_t>(v);
    if (simt::atomic_add(b.visits + cell, std::uint32_t{1}) != 0) {
      simt::atomic_add(b.counters + revisits_word, 1ULL);
    }
    const std::uint32_t number = b.levels_before + level + 1;
    simt::atomic_add(b.source_frontiers + src, 1ULL);
    if (simt::atomic_max(b.source_seen + slot, number) < number) {
      simt::atomic_add(b.source_levels + src, std::uint32_t{1});
    }
  }
}

/// Counting build: `again` edges of this lane lowered the maxId of fill-ins found before.
GSOFA_DEVICE void count_again([[maybe_unused]] const batch_view& b,
                              [[maybe_unused]] std::uint32_t again) {
  if constexpr (detail::counting) {
    if (again != 0) {
      simt::atomic_add(b.counters + again_word, static_cast<unsigned long long>(again));
    }
  }
}

/// Counting build, one thread: a level has found `found` frontiers.
GSOFA_DEVICE void count_level([[maybe_unused]] const batch_view& b,
                              [[maybe_unused]] std::uint32_t found) {
  if constexpr (detail::counting) {
    b.counters[levels_word] += 1;
    b.counters[occupancy_word] += found;
    if (found > b.counters[peak_word]) b.counters[peak_word] = found;
  }
}

}  // namespace

#endif

}  // namespace gsofa::maxid
