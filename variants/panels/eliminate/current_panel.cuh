#pragma once

/// What a worker keeps of the panel at hand: in shared memory, in the memory of its cluster, and in
/// each thread.

#include <type_traits>

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

/// Facts about a panel that do not depend on its masks.
struct panel_head {
  offset_t above_begin[most_steps];  ///< [s]: first position of the panel s + 1 steps above
  index_t single_child_steps;  ///< how many of these panels, from the first on, have one child
  parent_panel parent;
};

/// The vertices that each vertex of a panel reaches inside it; transitively closed.
struct reach {
  mask_t from[mask_bits];  ///< [k]: those > k that k reaches
  mask_t to[mask_bits];    ///< [k]: those < k that reach k
  bool is_chain;           ///< every vertex reaches all later vertices
};

/// A factored diagonal block.
struct diagonal_block {
  mask_t rows[mask_bits];  ///< [r]: columns of row r
  mask_t cols[mask_bits];  ///< its transpose
  reach l;                 ///< by edges k -> i with L(i, k) != 0
  reach u;                 ///< by edges k -> i with U(k, i) != 0
};

/// Which rows of U (or columns of L) of the current panel the vertices of one target panel take.
struct route {
  mask_t targets[mask_bits];  ///< [r]: the targets that take row r; valid if r is active
  mask_t active;              ///< rows with targets
  mask_t all;                 ///< targets that take any row
  mask_t several;             ///< targets that take more than one row
};

/// The routes to one target panel; shared memory, one per warp.
struct alignas(16) target_routes {
  route upper;       ///< of rows of U, to columns
  route lower;       ///< of columns of L, to rows
  mask_t both;       ///< k with L(t, k) != 0 and U(k, t) != 0 for some target t
  offset_t first;    ///< the target's first position in the masks
  index_t panel;     ///< the target
  index_t vertices;  ///< its first vertex
  index_t begin;     ///< positions of the current panel that are vertices of the target
  index_t end;
  index_t
      steps;  ///< from the current panel up to the target, if these are at most most_steps; else 0
  bool exclusive;  ///< no other worker updates the target now
  bool helped;     ///< tasks update the target, or have updated it; if workers hand over
};

/// What the leader of a worker decides for all of its threads; see decided().
struct decisions {
  index_t panel;        ///< the worker's next panel; -1: none
  index_t task;         ///< as in work_item
  index_t slot;         ///< the place of the worker's first task
  std::uint32_t stays;  ///< as in outcome
};

/// Shared memory of a worker that does not depend on the number of its warps.
struct alignas(16) worker_state {
  diagonal_block diagonal;
  panel_head head;
  mask_t any_upper;  ///< k with an entry of U(k, :) in the boundary
  mask_t any_lower;  ///< k with an entry of L(:, k) in the boundary
  decisions told;
  std::int64_t excess;  ///< work of a warp's update rounds, less fair_work for each of its panels
};

/// A map of masks that maps unions to unions, tabulated for four consecutive vertices at a time:
/// entry [k][m] is the image of m << 4 k.
struct mask_table {
  mask_t of[mask_bits / 4][16];

  /// No load depends on another, and lanes that read different entries of one row read different
  /// banks.
  GSOFA_DEVICE mask_t operator()(mask_t m) const {
    mask_t found = 0;
    if (m == 0) return found;
    GSOFA_UNROLL for (unsigned k = 0; k < mask_bits / 4; ++k) found |= of[k][m >> 4 * k & 15U];
    return found;
  }
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

/// Shared memory of a worker that does not hand over.
template <tier Tier>
struct plain_memory {
  worker_state state;
  target_routes routes[worker<Tier>::is_warp ? 1 : most_warps];  ///< one per warp
};

/// Shared memory of a worker that hands over.
template <tier Tier>
struct sharing_memory {
  worker_state state;
  target_routes routes[most_warps];  ///< one per warp
  far_state far;
};

/// Shared memory of a worker.
template <tier Tier>
using worker_memory =
    std::conditional_t<worker<Tier>::hands_over, sharing_memory<Tier>, plain_memory<Tier>>;

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
  panel_view panels;
  panel_schedule schedule;
  index_t most_near_steps;  ///< as in elimination_settings, of the launch
  cluster_state* clusters;
  std::uint32_t* zeros;  ///< set to zero by the first launch
  offset_t zero_count;
  unsigned long long* counters;  ///< counting build, by elimination_counter
};

/// The state of this block's cluster.
GSOFA_DEVICE cluster_state& state_of_cluster(const elimination_view& view) {
  return view.clusters[simt::block_index() / simt::cluster_size()];
}

/// Where the leader of this thread's worker writes its decisions.
template <tier Tier>
GSOFA_DEVICE decisions& decisions_of([[maybe_unused]] const elimination_view& view,
                                     [[maybe_unused]] worker_state& state) {
  if constexpr (worker<Tier>::is_cluster) {
    return state_of_cluster(view).told;
  } else {
    return state.told;
  }
}

/// The panel that a worker eliminates, as one thread of the worker sees it.
struct current_panel {
  const elimination_view& view;
  index_t number;
  const panel_place& place;
  worker_state& state;
  diagonal_block& diagonal;  ///< of state
  panel_head& head;          ///< of state
  target_routes* routes;     ///< [k]: of warp k
  far_state* far;            ///< null if the worker does not hand over
  mask_pair* masks;          ///< of position 0
  index_t wide_rank;         ///< of this thread among all threads of the worker
  bool leads;                ///< wide_rank is 0

  GSOFA_DEVICE bool has_boundary() const { return place.length > place.width; }
};

template <tier Tier>
GSOFA_DEVICE current_panel current_panel_of(const elimination_view& view, index_t number,
                                            const panel_place& place, worker_memory<Tier>& memory) {
  const index_t rank = worker<Tier>::wide_rank();
  far_state* far = nullptr;
  if constexpr (worker<Tier>::hands_over) far = &memory.far;
  worker_state& state = memory.state;
  return {view,
          number,
          place,
          state,
          state.diagonal,
          state.head,
          memory.routes,
          far,
          view.panels.masks + place.first,
          rank,
          rank == 0};
}

/// Counts a round that updates the targets of the active warps, in the counting build.
GSOFA_DEVICE void count_round([[maybe_unused]] const current_panel& panel,
                              [[maybe_unused]] std::uint32_t active) {
  if constexpr (detail::counting) {
    if (!panel.leads) return;
    unsigned long long* const counters = panel.view.counters;
    simt::atomic_add(counters + count_rounds, 1ULL);
    for (; active != 0; active &= active - 1) {
      simt::atomic_add(counters + count_updates, 1ULL);
      simt::atomic_add(counters + count_update_positions,
                       static_cast<unsigned long long>(
                           panel.place.length - panel.routes[simt::lowest_bit(active)].begin));
    }
  }
}

/// How a worker leaves a panel.
struct outcome {
  bool stays;   ///< false: it leaves the parent to workers that hand over
  bool helped;  ///< the parent is a target of tasks; if workers hand over
  parent_panel parent;
};

/// Ends a panel that has updated nothing.
///
/// After: as for finish_panel().
template <tier Tier>
GSOFA_DEVICE outcome finish_root(const current_panel& panel) {
  const outcome out{true, false, panel.head.parent};
  worker<Tier>::sync_wide();
  return out;
}

/// Ends a panel whose update rounds have cost `update_work`, which workers that hand over do not
/// count.
///
/// After: a wide barrier has been passed. After it all threads of the worker see all masks of the
/// panel and all its updates, the leader may release these to other workers, and no thread reads
/// the panel's block or head any more. All threads return the same.
template <tier Tier>
GSOFA_DEVICE outcome finish_panel(const current_panel& panel, unsigned long long update_work,
                                  bool helped = false) {
  using team = worker<Tier>;
  const panel_schedule& schedule = panel.view.schedule;
  if constexpr (team::is_warp) {
    if (panel.leads) {
      panel.state.excess += static_cast<std::int64_t>(update_work) - schedule.fair_work;
    }
  }
  outcome out{true, helped, panel.head.parent};
  if (team::is_warp || team::hands_over || update_work == 0) {
    team::sync_wide();
  } else {
    out.stays =
        decided<Tier>(decisions_of<Tier>(panel.view, panel.state).stays, [&]() -> std::uint32_t {
          return schedule.goes_on_after(update_work) ? 1 : 0;
        }) != 0;
  }
  return out;
}

}  // namespace gsofa::panels::elimination

#endif
