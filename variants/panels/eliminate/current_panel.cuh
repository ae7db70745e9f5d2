#pragma once

/// What a worker keeps of the panel at hand: in shared memory, in the memory of its cluster, and in
/// each thread.

#include "variants/panels/eliminate/diagonal.cuh"
#include "variants/panels/eliminate/route.cuh"
#include "variants/panels/eliminate/schedule.cuh"
#include "variants/support/counting.hpp"

#if defined(GSOFA_GPU)

namespace gsofa::panels::elimination {

/// Where the position list and the column blocks of a panel lie.
struct panel_place {
  offset_t first;               ///< number of its first position
  offset_t column_block_begin;  ///< its column blocks: begin .. end - 1
  offset_t column_block_end;
  index_t width;
  index_t length;
};

GSOFA_DEVICE panel_place place_of(const panel_view& p, index_t j) {
  return {p.position_begin[j], p.column_block_begin[j], p.column_block_begin[j + 1], p.width(j),
          p.length(j)};
}

/// The parent of the current panel.
struct parent_panel {
  index_t panel;  ///< -1: none
  std::uint32_t children;
  panel_place place;
};

inline constexpr int warp_threads = 128;  ///< of a block of the first launch
inline constexpr int most_warps = 16;     ///< of a block of later launches

/// Where a column block of a panel lies, and its target panel.
struct column_block_head {
  mask_t members;
  index_t panel;  ///< the target panel; -1: there is no such column block
  index_t begin;  ///< position of the lowest member
};

/// Facts about a panel that do not depend on its masks.
struct panel_head {
  offset_t above_begin[most_steps];  ///< [s]: first position of the panel s + 1 steps above
  index_t single_child_steps;  ///< how many of these panels, from the first on, have one child
  parent_panel parent;
};

/// Most column blocks of a panel, counted from the first of a round, whose places in the targets a
/// worker looks up in advance.
inline constexpr index_t known_blocks = 128;

/// Where the column blocks of the current panel lie in the list of one target.
struct target_blocks {
  offset_t begin;                ///< first column block of the target
  index_t count;                 ///< number of them
  index_t first[known_blocks];   ///< position of the lowest member in the target
  mask_t members[known_blocks];  ///< in the target
};

/// Additional shared memory of a worker that hands over.
struct alignas(16) far_state {
  mask_table closures[2];  ///< of l and u: a mask and all vertices that its members reach
  index_t block_panel[known_blocks];     ///< [k]: the target panel of column block k of the round
  index_t block_begin[known_blocks];     ///< its first position
  index_t block_vertices[known_blocks];  ///< first vertex of its target panel
  index_t blocks;                        ///< number of listed column blocks
  index_t end;                           ///< first position after the listed column blocks
  target_blocks there[most_warps];       ///< [k]: for the target of warp k
};

/// What the leader of a worker decides for all of its threads; see decided().
struct decisions {
  index_t panel;        ///< the worker's next panel; -1: none
  index_t task;         ///< as in work_item
  index_t slot;         ///< the place of the worker's first task
  std::uint32_t stays;  ///< as in outcome
};

/// Shared memory of a worker, before the routes of its warps, which have the alignment of both.
struct alignas(16) worker_state {
  diagonal_block block;
  panel_head head;
  mask_t any_upper;  ///< k with an entry of U(k, :) in the boundary
  mask_t any_lower;  ///< k with an entry of L(:, k) in the boundary
  decisions told;
  std::int64_t excess;  ///< work of a warp's update rounds, less fair_work for each of its panels

  GSOFA_DEVICE target_routes* routes() { return reinterpret_cast<target_routes*>(this + 1); }
  /// Follows the routes of `warps` warps, if workers hand over.
  GSOFA_DEVICE far_state& far(unsigned warps) {
    return *reinterpret_cast<far_state*>(routes() + warps);
  }
};

/// Bytes of shared memory of a worker of `warps` warps.
constexpr std::size_t state_bytes(int warps, bool hands_over = false) {
  return sizeof(worker_state) + static_cast<std::size_t>(warps) * sizeof(target_routes) +
         (hands_over ? sizeof(far_state) : 0);
}

enum elimination_counter : int {
  count_block_panels,      ///< panels eliminated by a block
  count_rounds,            ///< rounds of one target panel per warp
  count_updates,           ///< (panel, target panel) pairs
  count_update_positions,  ///< positions read by updates
  elimination_counters
};

/// What the blocks of a cluster share besides the masks; in device memory.
struct cluster_state {
  mask_t any_upper;  ///< as in worker_state
  mask_t any_lower;
  decisions told;
};

/// The arguments of the kernels.
struct elimination_view {
  panel_view p;
  panel_schedule schedule;
  index_t most_near_steps;  ///< as in elimination_settings, of the launch
  cluster_state* clusters;
  std::uint32_t* zeros;  ///< set to zero by the first launch
  offset_t zero_count;
  unsigned long long* counters;  ///< counting build, by elimination_counter
};

/// The state of this block's cluster.
GSOFA_DEVICE cluster_state& state_of_cluster(const elimination_view& e) {
  return e.clusters[simt::block_index() / simt::cluster_size()];
}

/// Where the leader of this thread's worker writes its decisions.
template <tier Tier>
GSOFA_DEVICE decisions& decisions_of([[maybe_unused]] const elimination_view& e,
                                     [[maybe_unused]] worker_state& s) {
  if constexpr (worker<Tier>::is_cluster) {
    return state_of_cluster(e).told;
  } else {
    return s.told;
  }
}

/// The panel that a worker eliminates, as one thread of the worker sees it.
struct current_panel {
  const elimination_view& e;
  worker_state& s;
  index_t j;
  const panel_place& place;
  diagonal_block& block;
  panel_head& head;
  mask_pair* masks;   ///< of position 0
  index_t wide_rank;  ///< of this thread among all threads of the worker
  bool leads;         ///< wide_rank is 0
};

template <tier Tier>
GSOFA_DEVICE current_panel current_panel_of(const elimination_view& e, index_t j,
                                            const panel_place& place, worker_state& s) {
  const index_t rank = worker<Tier>::wide_rank();
  return {e, s, j, place, s.block, s.head, e.p.masks + place.first, rank, rank == 0};
}

/// Counts a round that updates the targets of the active warps, in the counting build.
GSOFA_DEVICE void count_round([[maybe_unused]] const current_panel& c,
                              [[maybe_unused]] std::uint32_t active) {
  if constexpr (detail::counting) {
    if (!c.leads) return;
    simt::atomic_add(c.e.counters + count_rounds, 1ULL);
    for (; active != 0; active &= active - 1) {
      simt::atomic_add(c.e.counters + count_updates, 1ULL);
      simt::atomic_add(c.e.counters + count_update_positions,
                       static_cast<unsigned long long>(
                           c.place.length - c.s.routes()[simt::lowest_bit(active)].begin));
    }
  }
}

/// How a worker leaves a panel.
struct outcome {
  bool stays;   ///< false: it leaves the parent to workers that hand over
  bool helped;  ///< the parent is a target of tasks; if workers hand over
  parent_panel parent;
};

/// Ends a panel whose update rounds have cost `update_work`, which workers that hand over do not
/// count.
///
/// After: a wide barrier has been passed. After it all threads of the worker see all masks of the
/// panel and all its updates, the leader may release these to other workers, and no thread reads
/// the panel's block or head any more. All threads return the same.
template <tier Tier>
GSOFA_DEVICE outcome finish_panel(const current_panel& c, unsigned long long update_work,
                                  bool helped = false) {
  using team = worker<Tier>;
  if constexpr (team::is_warp) {
    if (c.leads) c.s.excess += static_cast<std::int64_t>(update_work) - c.e.schedule.fair_work;
  }
  outcome out{true, helped, c.head.parent};
  if (team::is_warp || team::hands_over || update_work == 0) {
    team::sync_wide();
  } else {
    out.stays = decided<Tier>(decisions_of<Tier>(c.e, c.s).stays, [&]() -> std::uint32_t {
                  return c.e.schedule.goes_on_after(update_work) ? 1 : 0;
                }) != 0;
  }
  return out;
}

}  // namespace gsofa::panels::elimination

#endif
