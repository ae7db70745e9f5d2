// Position lists. A column block of a panel lies in the list of the parent panel as well, with all
// of its members (PROOFS.md): one search for each block gives the places of all of its positions.

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include <algorithm>

#include "variants/device/tile_scan.hpp"
#include "variants/panels/stages_device.hpp"

namespace gsofa::panels {

namespace {

/// The column block of a panel's parent with a target of the panel.
struct parent_block {
  mask_t members;  ///< all, if the target is the parent itself
  index_t first;   ///< position of the lowest member
};

GSOFA_DEVICE parent_block block_in_parent(const panel_view& p, index_t j, index_t target) {
  // A panel with a boundary has a parent.
  const index_t parent = p.parent[j];
  if (target == parent) return {~mask_t{0}, 0};
  offset_t low = p.column_block_begin[parent];
  for (offset_t high = p.column_block_begin[parent + 1]; low < high;) {
    const offset_t middle = low + (high - low) / 2;
    if (p.column_block_panel[middle] < target) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return {p.column_block_mask[low], p.column_block_first[low]};
}

/// A column block as the positions that it stands for.
struct block_positions {
  mask_t members;
  parent_block there;  ///< the same block in the parent
  index_t vertices;    ///< the first of the target
  offset_t to;         ///< place of the lowest member
};

/// Writes the positions of `count` column blocks, one in each of the first lanes of a warp, one
/// block after another.
GSOFA_DEVICE void write_column_blocks(const block_positions& mine, unsigned count, index_t* columns,
                                      index_t* in_parent, mask_pair* masks) {
  for (unsigned block = 0; block < count; ++block) {
    const mask_t m = simt::shuffle(mine.members, block);
    const mask_t t = simt::shuffle(mine.there.members, block);
    const index_t begin = simt::shuffle(mine.vertices, block);
    const index_t above = simt::shuffle(mine.there.first, block);
    const offset_t out = simt::shuffle(mine.to, block);
    for (unsigned half = 0; half < 2; ++half) {
      const auto inside = static_cast<index_t>(half * 32 + lane_index());
      if ((m >> inside & 1U) == 0) continue;
      const offset_t at = out + static_cast<offset_t>(simt::population(m & below(inside)));
      columns[at] = begin + inside;
      in_parent[at] = above + static_cast<index_t>(simt::population(t & below(inside)));
      masks[at] = {0, 0};
    }
  }
}

/// Writes the position lists, the places in the parents' lists, and empty masks. A warp finds the
/// place of up to 32 column blocks in the parents of their panels, then writes the positions of one
/// after another; then a thread per vertex writes the position in its own panel.
GSOFA_KERNEL void positions_kernel(panel_view p, offset_t column_blocks, unsigned per_warp,
                                   loose_column_blocks loose, index_t* columns, index_t* in_parent,
                                   mask_pair* masks) {
  simt::after_earlier_launches();
  const unsigned lane = lane_index();
  const offset_t threads = offset_t{simt::grid_size()} * simt::block_size();
  const offset_t thread = offset_t{simt::block_index()} * simt::block_size() + simt::thread_index();
  for (offset_t base = thread / 32 * per_warp; base < column_blocks;
       base += threads / 32 * per_warp) {
    const offset_t k = base + lane;
    block_positions mine{0, {~mask_t{0}, 0}, 0, 0};
    if (lane < per_warp && k < column_blocks) {
      const column_block block = loose.column_blocks[k];
      const index_t j = block.panel();
      const index_t target = block.target();
      mine = {block.mask, block_in_parent(p, j, target), p.begin[target],
              p.position_begin[j] + loose.first[k]};
    }
    write_column_blocks(mine, per_warp, columns, in_parent, masks);
  }
  for (offset_t k = thread; k < p.n; k += threads) {
    const auto v = static_cast<index_t>(k);
    const index_t j = p.panel_of[v];
    const offset_t to = p.position_begin[j] + (v - p.begin[j]);
    columns[to] = v;
    in_parent[to] = -1;
    masks[to] = {0, 0};
  }
}

/// Assigns places to panels and writes their position lists, places in the parents' lists, and
/// empty masks. A block takes a panel, a warp 32 of its column blocks at a time.
GSOFA_KERNEL void wave_positions_kernel(panel_view p, fresh_panels fresh, offset_t* position_begin,
                                        index_t* columns, index_t* in_parent, mask_pair* masks) {
  simt::after_earlier_launches();
  const unsigned thread = simt::thread_index();
  for (unsigned k = simt::block_index(); k < static_cast<unsigned>(fresh.count);
       k += simt::grid_size()) {
    const index_t j = fresh.panel[k];
    const offset_t first = fresh.begin[k];
    if (thread == 0) position_begin[j] = first;
    for (auto v = static_cast<index_t>(thread); v < p.width(j);
         v += static_cast<index_t>(simt::block_size())) {
      columns[first + v] = p.begin[j] + v;
      in_parent[first + v] = -1;
      masks[first + v] = {0, 0};
    }
    const offset_t begin = p.column_block_begin[j];
    const auto count = static_cast<index_t>(p.column_block_begin[j + 1] - begin);
    const unsigned lane = lane_index();
    for (auto base = static_cast<index_t>(thread - lane); base < count;
         base += static_cast<index_t>(simt::block_size())) {
      // A lane finds the place of a column block in the parent; the warp writes one after another.
      const offset_t q = begin + base + static_cast<index_t>(lane);
      block_positions mine{0, {~mask_t{0}, 0}, 0, 0};
      if (base + static_cast<index_t>(lane) < count) {
        const index_t target = p.column_block_panel[q];
        mine = {p.column_block_mask[q], block_in_parent(p, j, target), p.begin[target],
                first + p.column_block_first[q]};
      }
      const index_t left = count - base;
      write_column_blocks(mine, left < 32 ? static_cast<unsigned>(left) : 32U, columns, in_parent,
                          masks);
    }
  }
}

}  // namespace

void write_positions(const panel_arrays& p) {
  // A warp writes as few column blocks one after another as leave some for every warp.
  const offset_t warps = offset_t{multiprocessors()} * 64;
  const auto per_warp = static_cast<unsigned>(std::clamp<offset_t>(p.column_blocks / warps, 4, 32));
  launch_overlapping(positions_kernel, blocks_for(p.column_blocks / per_warp * 32 + p.n),
                     threads_per_block, 0, p.view(), p.column_blocks, per_warp, p.loose(),
                     p.columns(), p.in_parent(), p.masks.data());
}

void write_positions(const panel_arrays& p, const fresh_panels& fresh) {
  launch_overlapping(wave_positions_kernel, std::min(fresh.count, multiprocessors() * 32),
                     threads_per_block, 0, p.view(), fresh, p.position_begin.data(), p.columns(),
                     p.in_parent(), p.masks.data());
}

}  // namespace gsofa::panels

#endif
