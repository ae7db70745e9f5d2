// Which masks are complete while panels are eliminated, as the host learns it: a count for each
// chunk of consecutive positions of the panels with positions there that are missing. Panels are
// told by the workers that have factored them (gpu_elimination.cu). A panel above some others is
// factored behind all of them. In nested dissection few chunks, those of the largest separators,
// are complete at the end alone; in other orders these may be many.
//
// Nothing changes the masks of a panel once it is factored, so that they may be copied from then
// on. Cost: an increment for each panel, and one for each chunk that a panel reaches into.

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include <atomic>

#include "variants/device/tile_scan.hpp"
#include "variants/panels/gpu_panels.hpp"

namespace gsofa::gpu {

namespace {

/// Takes 1 off the count of every chunk that a panel has positions in; a thread per panel.
GSOFA_KERNEL void count_missing_kernel(panel_view p, std::uint32_t* counts) {
  simt::after_earlier_launches();
  for (unsigned k = simt::block_index() * simt::block_size() + simt::thread_index();
       k < static_cast<unsigned>(p.panels); k += simt::grid_size() * simt::block_size()) {
    for_each_chunk(p, static_cast<index_t>(k),
                   [&](offset_t c) { simt::atomic_add(counts + c, ~std::uint32_t{0}); });
  }
}

}  // namespace

bool mask_completion::start(const panel_structure& structure, memory_budget& budget) {
  const offset_t chunks = ((structure.positions() - 1) >> chunk_shift) + 1;
  try {
    complete_.assign(static_cast<std::size_t>(chunks), 0);
    if (counts_.size() < chunks) {
      counts_ = {};
      counts_ = {budget, "completion", chunks};
    }
  } catch (const budget_error&) {
    counts_ = {};
    return false;
  }
  fill_bytes(counts_.data(), 0, chunks);
  const panel_view p = structure.view();
  launch_overlapping(count_missing_kernel, blocks_for(p.panels), threads_per_block, 0, p,
                     counts_.data());
  return true;
}

bool mask_completion::has(offset_t begin, offset_t end) const {
  for (offset_t c = begin >> chunk_shift; c <= (end - 1) >> chunk_shift; ++c) {
    std::uint32_t& word = complete_[static_cast<std::size_t>(c)];
    if (std::atomic_ref<std::uint32_t>(word).load(std::memory_order_acquire) == 0) return false;
  }
  return true;
}

}  // namespace gsofa::gpu

#endif
