#pragma once

/// The threads that eliminate one panel together: a warp, a block, or a cluster of blocks; their
/// ranks and barriers, and what a warp computes on masks.

#include "variants/device/batch_rows.hpp"
#include "variants/panels/eliminate/eliminate.hpp"

#if defined(GSOFA_GPU)

namespace gsofa::panels::elimination {

/// The threads that work on one panel, and whether they hand over updates of far targets.
enum class tier { warp, block, cluster, sharing_block, sharing_cluster };

/// A worker of one tier. Every block of a cluster factors the diagonal block and finds the routes
/// for itself, in its own shared memory; the positions of a panel are divided among the blocks.
/// "Wide" means: of all threads of the worker.
template <tier Tier>
struct worker {
  static constexpr bool is_warp = Tier == tier::warp;
  static constexpr bool is_cluster = Tier == tier::cluster || Tier == tier::sharing_cluster;
  static constexpr bool hands_over = Tier == tier::sharing_block || Tier == tier::sharing_cluster;
  /// Rank and number of the threads that share memory.
  static GSOFA_DEVICE index_t rank() {
    return static_cast<index_t>(is_warp ? lane_index() : simt::thread_index());
  }
  static GSOFA_DEVICE index_t size() {
    return is_warp ? 32 : static_cast<index_t>(simt::block_size());
  }
  static GSOFA_DEVICE void sync() {
    if constexpr (is_warp) {
      simt::sync_warp();
    } else {
      simt::sync_block();
    }
  }
  /// Rank and number of all threads of the worker.
  static GSOFA_DEVICE index_t wide_rank() {
    if constexpr (is_cluster) {
      return static_cast<index_t>(simt::cluster_rank() * simt::block_size() + simt::thread_index());
    }
    return rank();
  }
  static GSOFA_DEVICE index_t wide_size() {
    if constexpr (is_cluster) {
      return static_cast<index_t>(simt::cluster_size() * simt::block_size());
    }
    return size();
  }
  static GSOFA_DEVICE void sync_wide() {
    if constexpr (is_cluster) {
      simt::sync_cluster();
    } else {
      sync();
    }
  }
  /// Positions that a thread works on at a time: their loads overlap.
  static constexpr int unroll = is_warp ? 2 : 4;
  /// Number of warps that share memory, and this thread's warp.
  static GSOFA_DEVICE unsigned warps() { return is_warp ? 1 : simt::block_size() / 32; }
  static GSOFA_DEVICE unsigned warp() { return is_warp ? 0 : simt::thread_index() / 32; }
  /// Rank and number among all warps of the worker.
  static GSOFA_DEVICE index_t wide_warp() { return wide_rank() / 32; }
  static GSOFA_DEVICE index_t wide_warps() { return wide_size() / 32; }
};

/// What the leader of a worker decides, in all threads of the worker. word: memory that they share.
/// A wide barrier separates the store from the loads. The caller passes another barrier before the
/// next decision with the same word.
template <tier Tier, class T, class Decide>
GSOFA_DEVICE T decided(T& word, const Decide& decide) {
  if (worker<Tier>::wide_rank() == 0) word = decide();
  worker<Tier>::sync_wide();
  return simt::load_shared_state(&word);
}

GSOFA_DEVICE std::uint32_t low_half(mask_t m) { return static_cast<std::uint32_t>(m); }
GSOFA_DEVICE std::uint32_t high_half(mask_t m) { return static_cast<std::uint32_t>(m >> 32); }
GSOFA_DEVICE mask_t joined(std::uint32_t low, std::uint32_t high) {
  return static_cast<mask_t>(high) << 32 | low;
}

/// Masks of the vertices of one panel, held by a warp: lane l has the masks of vertices l and l +
/// 32, zero if the panel has no such vertex.
struct lane_masks {
  mask_pair low, high;
};

/// The OR over the warp, in every lane.
GSOFA_DEVICE mask_t or_over_warp(mask_t m) {
  return joined(simt::or_of_warp(low_half(m)), simt::or_of_warp(high_half(m)));
}

/// The OR over the lanes before this lane, of each half by itself.
GSOFA_DEVICE row_pair or_of_lower_lanes(row_pair m) {
  for (unsigned step = 1; step < 32; step *= 2) {
    const row_pair before{simt::shuffle_up(m.low, step), simt::shuffle_up(m.high, step)};
    if (lane_index() >= step) m = {m.low | before.low, m.high | before.high};
  }
  const row_pair before{simt::shuffle_up(m.low, 1), simt::shuffle_up(m.high, 1)};
  return lane_index() == 0 ? row_pair{0, 0} : before;
}

}  // namespace gsofa::panels::elimination

#endif
