#pragma once

/// The ablation without atomics on the queue: per level, a scan of the frontiers' degrees assigns a
/// place to every edge, and a selection packs the new frontiers.

#include "variants/maxid/traverse.cuh"

namespace gsofa::maxid {

#if defined(GSOFA_GPU)

namespace {

/// Frontiers of one level: of the queue, or the sources themselves.
struct scan_level {
  const std::uint64_t* queue;
  std::uint32_t first;  ///< of the part that is scanned at a time
  std::uint32_t count;
  bool seeds;
  std::uint32_t number;  ///< since the batch began

  GSOFA_DEVICE std::uint64_t entry(const batch_view& b, std::uint32_t k) const {
    return seeds ? b.seed(first + k) : queue[first + k];
  }
};

/// Step 1: how many edges each frontier has.
GSOFA_KERNEL void degree_kernel(batch_view b, scan_level level, std::uint32_t* degrees) {
  for (std::uint32_t k = simt::block_index() * simt::block_size() + simt::thread_index();
       k < level.count; k += simt::grid_size() * simt::block_size()) {
    const index_t v = vertex_of(level.entry(b, k));
    degrees[k] = static_cast<std::uint32_t>(b.row_ptr[v + 1] - b.row_ptr[v]);
  }
}

/// Step 3: every edge writes its new frontier, or `empty_entry`, to its own place. A warp per
/// frontier.
template <bool Line95>
GSOFA_KERNEL void scatter_kernel(batch_view b, scan_level level, const std::uint32_t* offsets,
                                 std::uint64_t* edges) {
  const std::uint32_t warp = (simt::block_index() * simt::block_size() + simt::thread_index()) / 32;
  const std::uint32_t warps = simt::grid_size() * simt::block_size() / 32;
  for (std::uint32_t k = warp; k < level.count; k += warps) {
    const std::uint64_t item = level.entry(b, k);
    const index_t slot = slot_of(item);
    const index_t v = vertex_of(item);
    const source_search s = b.search_of(slot);
    const std::uint32_t proposal = proposal_of(s, v);
    const offset_t row = b.row_ptr[v];
    const auto degree = static_cast<std::uint32_t>(b.row_ptr[v + 1] - row);
    std::uint32_t new_l = 0;
    std::uint32_t new_u = 0;
    std::uint32_t again = 0;
    for (std::uint32_t e = lane_index(); e < degree; e += 32) {
      const index_t w = b.col_idx[row + e];
      const edge_check edge = check_edge<Line95>(s, w, proposal);
      new_u += edge.new_u;
      const bool enqueue = edge.improves && relax<false>(s, w, proposal, edge, new_l);
      again += edge.improves && edge.filled(s) ? 1 : 0;
      edges[offsets[k] + e] = enqueue ? entry_of(slot, w) : empty_entry;
    }
    simt::sync_warp();
    add_counts<32>(b, s.source, new_l, new_u);
    count_again(b, again);
    if (lane_index() == 0) count_expansion(b, item, level.number, false);
  }
}

/// Counting build: a level has found `found` frontiers.
GSOFA_KERNEL void count_level_kernel(batch_view b, std::uint32_t found) {
  if (simt::thread_index() == 0) count_level(b, found);
}

}  // namespace

#endif

}  // namespace gsofa::maxid
