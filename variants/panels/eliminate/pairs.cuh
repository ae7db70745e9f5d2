#pragma once

/// Updates targets by a factored panel, with the pairs of a position and a target divided among
/// warps. Workers that hand over update all targets so, except the first target of a panel.

#include "variants/panels/eliminate/sweep.cuh"

#if defined(GSOFA_GPU)

namespace gsofa::panels::elimination {

/// Lists column blocks first, first + 1, ... of a panel, as many as the list has room for, by the
/// threads of a block. The barriers of find_routes() order the list.
template <tier Tier>
GSOFA_DEVICE void list_blocks(const current_panel& c, offset_t first) {
  using team = worker<Tier>;
  const panel_view& p = c.e.p;
  far_state& far = c.s.far(team::warps());
  const auto count = static_cast<index_t>(c.place.column_block_end - first);
  const index_t known = count < known_blocks ? count : known_blocks;
  if (team::rank() == 0) {
    far.blocks = known;
    far.end = known < count ? p.column_block_first[first + known] : c.place.length;
  }
  for (index_t k = team::rank(); k < known; k += team::size()) {
    const index_t panel = p.column_block_panel[first + k];
    far.block_panel[k] = panel;
    far.block_begin[k] = p.column_block_first[first + k];
    far.block_vertices[k] = p.begin[panel];
  }
}

/// The index of the first of `count` ascending values that is not less than `value`; `count` if all
/// are less.
GSOFA_DEVICE index_t first_from(const index_t* values, index_t count, index_t value) {
  index_t low = 0;
  for (index_t high = count; low < high;) {
    const index_t middle = low + (high - low) / 2;
    if (values[middle] < value) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/// Finds the listed column blocks of the current panel among the column blocks of the warp's
/// target. The caller passes a barrier of the block before it uses the places.
///
/// The list of an ancestor contains the boundary of the panel beyond the ancestor (README.md). So
/// the target has every column block of the current panel beyond the target, with all of its
/// members.
template <tier Tier>
GSOFA_DEVICE void find_places(const current_panel& c) {
  constexpr int batch = 4;  // loads that overlap
  const panel_view& p = c.e.p;
  far_state& far = c.s.far(worker<Tier>::warps());
  target_blocks& there = far.there[worker<Tier>::warp()];
  for (auto k = static_cast<index_t>(lane_index()); k < there.count; k += 32 * batch) {
    index_t panel[batch], first[batch];
    mask_t members[batch];
    GSOFA_UNROLL for (int b = 0; b < batch; ++b) {
      panel[b] = -1;
      if (k + 32 * b >= there.count) continue;
      const offset_t block = there.begin + k + 32 * b;
      panel[b] = p.column_block_panel[block];
      first[b] = p.column_block_first[block];
      members[b] = p.column_block_mask[block];
    }
    GSOFA_UNROLL for (int b = 0; b < batch; ++b) {
      if (panel[b] < 0) continue;
      const index_t at = first_from(far.block_panel, far.blocks, panel[b]);
      if (at == far.blocks || far.block_panel[at] != panel[b]) continue;
      there.first[at] = first[b];
      there.members[at] = members[b];
    }
  }
}

/// Updates the target of warp `warp` by `unroll` positions z, z + 32, ... of the current panel; z
/// differs between the lanes of a warp.
template <tier Tier>
GSOFA_DEVICE void update_target(const current_panel& c, const far_state& far, unsigned warp,
                                index_t z) {
  constexpr int unroll = worker<Tier>::unroll;
  const panel_view& p = c.e.p;
  const target_routes& routes = c.s.routes()[warp];
  const target_blocks& there = far.there[warp];
  mask_pair masks[unroll];
  index_t vertex[unroll];
  GSOFA_UNROLL for (int u = 0; u < unroll; ++u) {
    const index_t at = z + 32 * u;
    masks[u] = {0, 0};
    vertex[u] = 0;
    if (at >= c.place.length) continue;
    masks[u] = c.masks[at];
    vertex[u] = p.columns[c.place.first + at];
  }
  // The last listed column block that begins at the position or before it. The search overlaps the
  // loads.
  index_t block[unroll];
  GSOFA_UNROLL for (int u = 0; u < unroll; ++u) {
    block[u] = first_from(far.block_begin, far.blocks, z + 32 * u + 1) - 1;
  }
  mask_pair add[unroll];
  mask_pair* out[unroll];
  GSOFA_UNROLL for (int u = 0; u < unroll; ++u) {
    const index_t at = z + 32 * u;
    add[u] = routed(masks[u], routes);
    out[u] = p.masks;
    if ((add[u].upper | add[u].lower) == 0) continue;
    index_t to = 0;
    if (at < routes.end) {
      // Among the targets themselves: U(t, f) and L(f, t) with t < f only.
      to = vertex[u] - routes.vertices;
      add[u] = {add[u].upper & below(to), add[u].lower & below(to)};
    } else if (at >= far.end) {
      to = p.position(routes.panel, vertex[u]);
    } else {
      const index_t k = block[u];
      to = there.first[k] + static_cast<index_t>(simt::population(
                                there.members[k] & below(vertex[u] - far.block_vertices[k])));
    }
    out[u] = p.masks + routes.first + to;
  }
  or_into(routes.exclusive, add, out);
}

/// Updates the targets of the active warps by a factored panel. The warps of the worker divide the
/// pieces of 32 * unroll positions of one target.
///
/// Positions before the vertices of a target have nothing for the target. sweep() divides positions
/// instead, and updates one target after another by each position: if the panel has fewer positions
/// than the worker has threads, most threads of sweep() idle for one step per target.
///
/// Before: a wide barrier orders the stores of the masks, a barrier of the block the routes and the
/// places.
template <tier Tier>
GSOFA_DEVICE void sweep_pairs(const current_panel& c, std::uint32_t active) {
  using team = worker<Tier>;
  constexpr index_t piece = 32 * team::unroll;
  far_state& far = c.s.far(team::warps());
  index_t k = team::wide_warp();
  for (; active != 0; active &= active - 1) {
    const unsigned warp = simt::lowest_bit(active);
    const target_routes& routes = c.s.routes()[warp];
    const index_t positions = c.place.length - routes.begin;
    const index_t pieces = (positions + piece - 1) / piece;
    for (; k < pieces; k += team::wide_warps()) {
      update_target<Tier>(c, far, warp,
                          routes.begin + k * piece + static_cast<index_t>(lane_index()));
    }
    k -= pieces;
  }
}

}  // namespace gsofa::panels::elimination

#endif
