#pragma once

/// Updates targets by a factored panel, with the pairs of a position and a target divided among
/// warps. Workers that hand over update all targets so, except the first target of a panel.

#include "variants/panels/eliminate/panel.cuh"

#if defined(GSOFA_GPU)

namespace gsofa::panels::elimination {

/// The closure by a table, unless the reach is a chain.
struct tabled_closure {
  const closure& by;
  const mask_table& table;

  GSOFA_DEVICE mask_t operator()(mask_t m) const {
    return by.is_chain ? by.behind_lowest(m) : table(m);
  }
};

/// Fills a table by `size` threads of rank `rank`, where of(k) is the image of vertex k. The caller
/// passes a barrier before the table is used.
template <class Of>
GSOFA_DEVICE void fill_table(mask_table& table, const Of& of, index_t rank, index_t size) {
  for (index_t at = rank; at < mask_bits / 4 * 16; at += size) {
    const index_t first = at / 16 * 4;
    mask_t found = 0;
    GSOFA_UNROLL for (index_t b = 0; b < 4; ++b) {
      if ((at >> b & 1) != 0) found |= of(first + b);
    }
    table.of[at / 16][at % 16] = found;
  }
}

/// The closures by the tables of a worker that hands over.
struct tabled_closures {
  tabled_closure by_l;
  tabled_closure by_u;

  GSOFA_DEVICE tabled_closures(const panel_closures& by, const far_state& far)
      : by_l{by.by_l, far.closures[0]}, by_u{by.by_u, far.closures[1]} {}
};

/// Fills the tables of the closures by the threads of a block. A chain needs no table, since its
/// closures take one step.
///
/// Before: all threads may read the diagonal block. The caller passes a barrier before it uses the
/// tables.
template <tier Tier>
GSOFA_DEVICE void fill_closures(const current_panel& panel) {
  using team = worker<Tier>;
  far_state& far = *panel.far;
  GSOFA_UNROLL for (int side = 0; side < 2; ++side) {
    const reach& r = side == 0 ? panel.diagonal.l : panel.diagonal.u;
    if (r.is_chain) continue;
    fill_table(
        far.closures[side], [&](index_t k) { return r.from[k] | bit(k); }, team::rank(),
        team::size());
  }
}

/// Lists column blocks first, first + 1, ... of a panel, as many as the list has room for, by the
/// threads of a block. The barriers of find_routes() order the list.
template <tier Tier>
GSOFA_DEVICE void list_blocks(const current_panel& panel, offset_t first) {
  using team = worker<Tier>;
  const panel_view& panels = panel.view.panels;
  far_state& far = *panel.far;
  const auto count = static_cast<index_t>(panel.place.column_block_end - first);
  const index_t known = count < known_blocks ? count : known_blocks;
  if (team::rank() == 0) {
    far.blocks = known;
    far.end = known < count ? panels.column_block_first[first + known] : panel.place.length;
  }
  for (index_t k = team::rank(); k < known; k += team::size()) {
    const index_t target = panels.column_block_panel[first + k];
    far.block_panel[k] = target;
    far.block_begin[k] = panels.column_block_first[first + k];
    far.block_vertices[k] = panels.begin[target];
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
GSOFA_DEVICE void find_places(const current_panel& panel) {
  constexpr int batch = 4;  // loads that overlap
  const panel_view& panels = panel.view.panels;
  far_state& far = *panel.far;
  target_blocks& there = far.there[worker<Tier>::warp()];
  for (auto k = static_cast<index_t>(lane_index()); k < there.count; k += 32 * batch) {
    index_t target[batch], first[batch];
    mask_t members[batch];
    GSOFA_UNROLL for (int b = 0; b < batch; ++b) {
      target[b] = -1;
      if (k + 32 * b >= there.count) continue;
      const offset_t block = there.begin + k + 32 * b;
      target[b] = panels.column_block_panel[block];
      first[b] = panels.column_block_first[block];
      members[b] = panels.column_block_mask[block];
    }
    GSOFA_UNROLL for (int b = 0; b < batch; ++b) {
      if (target[b] < 0) continue;
      const index_t at = first_from(far.block_panel, far.blocks, target[b]);
      if (at == far.blocks || far.block_panel[at] != target[b]) continue;
      there.first[at] = first[b];
      there.members[at] = members[b];
    }
  }
}

/// Updates the target of warp `warp` by `unroll` positions z, z + 32, ... of the current panel; z
/// differs between the lanes of a warp.
template <tier Tier>
GSOFA_DEVICE void update_target(const current_panel& panel, const far_state& far, unsigned warp,
                                index_t z) {
  constexpr int unroll = worker<Tier>::unroll;
  const panel_view& panels = panel.view.panels;
  const target_routes& routes = panel.routes[warp];
  const target_blocks& there = far.there[warp];
  mask_pair masks[unroll];
  index_t vertex[unroll];
  GSOFA_UNROLL for (int u = 0; u < unroll; ++u) {
    const index_t at = z + 32 * u;
    masks[u] = {0, 0};
    vertex[u] = 0;
    if (at >= panel.place.length) continue;
    masks[u] = panel.masks[at];
    vertex[u] = panels.columns[panel.place.first + at];
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
    out[u] = panels.masks;
    if ((add[u].upper | add[u].lower) == 0) continue;
    index_t to = 0;
    if (at < routes.end) {
      // Among the targets themselves: U(t, f) and L(f, t) with t < f only.
      to = vertex[u] - routes.vertices;
      add[u] = {add[u].upper & below(to), add[u].lower & below(to)};
    } else if (at >= far.end) {
      to = panels.position(routes.panel, vertex[u]);
    } else {
      const index_t k = block[u];
      to = there.first[k] + static_cast<index_t>(simt::population(
                                there.members[k] & below(vertex[u] - far.block_vertices[k])));
    }
    out[u] = panels.masks + routes.first + to;
  }
  or_into(routes.exclusive, add, out);
}

/// Updates the targets of the active warps by a factored panel. The warps of the worker divide the
/// pieces of 32 * unroll positions of one target.
///
/// Positions before the vertices of a target have nothing for the target. update_targets() divides
/// positions instead, and updates one target after another by each position: if the panel has fewer
/// positions than the worker has threads, most of its threads idle for one step per target.
///
/// Before: a wide barrier orders the stores of the masks, a barrier of the block the routes and the
/// places.
template <tier Tier>
GSOFA_DEVICE void sweep_pairs(const current_panel& panel, std::uint32_t active) {
  using team = worker<Tier>;
  constexpr index_t piece = 32 * team::unroll;
  far_state& far = *panel.far;
  index_t k = team::wide_warp();
  for (; active != 0; active &= active - 1) {
    const unsigned warp = simt::lowest_bit(active);
    const target_routes& routes = panel.routes[warp];
    const index_t positions = panel.place.length - routes.begin;
    const index_t pieces = (positions + piece - 1) / piece;
    for (; k < pieces; k += team::wide_warps()) {
      update_target<Tier>(panel, far, warp,
                          routes.begin + k * piece + static_cast<index_t>(lane_index()));
    }
    k -= pieces;
  }
}

}  // namespace gsofa::panels::elimination

#endif
