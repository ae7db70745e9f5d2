#pragma once

/// Factors a panel: the diagonal block, and the masks of its boundary as closures under that block.
/// sweep() factors every boundary position. The warps that find the routes of the first round
/// factor the masks of their targets for themselves, before the sweep.

#include "variants/panels/eliminate/current_panel.cuh"

#if defined(GSOFA_GPU)

namespace gsofa::panels::elimination {

/// Whether this thread's warp factors diagonal blocks. The last two warps of a block do, since they
/// seldom have a column block.
template <tier Tier>
GSOFA_DEVICE bool has_diagonal() {
  return worker<Tier>::warp() + 2 >= worker<Tier>::warps();
}

/// Column block q of a panel whose last column block is end - 1.
GSOFA_DEVICE column_block_head head_of_column_block(const panel_view& p, offset_t q, offset_t end) {
  if (q >= end) return {0, -1, 0};
  return {p.column_block_mask[q], p.column_block_panel[q], p.column_block_first[q]};
}

/// Reads the head of panel j, by one warp.
GSOFA_DEVICE void read_head(const elimination_view& e, index_t j, panel_head& head) {
  const panel_view& p = e.p;
  if (lane_index() >= static_cast<unsigned>(most_steps)) return;
  const index_t above = p.above[offset_t{j} * most_steps + lane_index()];
  head.above_begin[lane_index()] = above < 0 ? -1 : p.position_begin[above];
  if (lane_index() > 0) return;
  head.single_child_steps = p.single_child_steps[j];
  head.parent.panel = above;
  if (above < 0) return;
  head.parent.children = e.schedule.children[above];
  head.parent.place = place_of(p, above);
}

/// Loads the masks of the warp's targets in the round that begins with column block `round`, and
/// notes in the routes of the warp where the target panel lies.
///
/// Before: no thread writes these masks. After: each lane holds two masks, zero where the vertex is
/// not in the boundary; lane 0 has written the place, which the barriers of find_routes() order.
template <tier Tier>
GSOFA_DEVICE lane_masks load_targets(const current_panel& c, offset_t round) {
  const column_block_head block =
      head_of_column_block(c.e.p, round + worker<Tier>::warp(), c.place.column_block_end);
  target_routes& mine = c.s.routes()[worker<Tier>::warp()];
  lane_masks m{{0, 0}, {0, 0}};
  if (block.panel < 0) return m;
  const panel_view& p = c.e.p;
  const unsigned lane = lane_index();
  const std::uint32_t before = low_half(block.members);
  const std::uint32_t behind = high_half(block.members);
  const std::uint32_t here = 1U << lane;
  if ((before & here) != 0) {
    m.low = c.masks[block.begin + static_cast<index_t>(simt::population(before & lower_lanes()))];
  }
  if ((behind & here) != 0) {
    m.high = c.masks[block.begin + static_cast<index_t>(simt::population(before) +
                                                        simt::population(behind & lower_lanes()))];
  }
  if (lane == 0) {
    mine.panel = block.panel;
    mine.vertices = p.begin[block.panel];
    mine.first = p.position_begin[block.panel];
    mine.begin = block.begin;
    mine.end = block.begin + static_cast<index_t>(simt::population(block.members));
    if constexpr (worker<Tier>::hands_over) {
      mine.helped = c.e.schedule.is_helped(block.panel);
      target_blocks& there = c.s.far(worker<Tier>::warps()).there[worker<Tier>::warp()];
      there.begin = p.column_block_begin[block.panel];
      there.count = static_cast<index_t>(p.column_block_begin[block.panel + 1] - there.begin);
    }
  }
  return m;
}

/// Loads the masks of the panel's own vertices by one warp.
GSOFA_DEVICE lane_masks load_diagonal(const current_panel& c) {
  lane_masks m{{0, 0}, {0, 0}};
  const auto row = static_cast<index_t>(lane_index());
  if (row < c.place.width) m.low = c.masks[row];
  if (row + 32 < c.place.width) m.high = c.masks[row + 32];
  return m;
}

/// What a warp holds of a panel before the panel is factored.
struct panel_input {
  lane_masks diagonal;  ///< of the panel's own vertices; in the warps of has_diagonal()
  lane_masks targets;   ///< of the warp's column block of the first round
};

/// Reads the masks that the first round needs, and prefetches the first positions of the sweep.
///
/// Before: all panels below have updated the panel, and the last barrier that the worker passed
/// orders their updates before these loads. After: only the places of the targets have been
/// written, and no barrier has been passed.
template <tier Tier>
GSOFA_DEVICE panel_input read_panel(const current_panel& c) {
  using team = worker<Tier>;
  const panel_view& p = c.e.p;
  const index_t w = c.place.width;
  panel_input in{{{0, 0}, {0, 0}}, {}};
  if (has_diagonal<Tier>()) in.diagonal = load_diagonal(c);
  in.targets = load_targets<Tier>(c, c.place.column_block_begin);
  GSOFA_UNROLL for (int u = 0; u < team::unroll; ++u) {
    const index_t z = w + c.wide_rank + u * team::wide_size();
    if (z >= c.place.length) break;
    simt::prefetch(c.masks + z);
    simt::prefetch(p.columns + c.place.first + z);
    simt::prefetch(p.in_parent + c.place.first + z);
  }
  return in;
}

/// Factors the diagonal block, reads the head, and clears what vertices_with_boundary() adds up.
///
/// After: the worker has passed a wide barrier. All threads may read block and head of the panel in
/// shared memory. All threads have loaded their masks of the panel, so masks may be stored.
template <tier Tier>
GSOFA_DEVICE void factor_diagonal(const current_panel& c, const lane_masks& diagonal) {
  using team = worker<Tier>;
  const index_t w = c.place.width;
  const unsigned warp = team::warp();
  const unsigned warps = team::warps();
  if constexpr (team::is_warp) {
    factor_block<2>(diagonal, w, c.block, false);
  } else if (has_diagonal<Tier>()) {
    if (warp + 1 == warps) factor_block_side(diagonal, w, c.block, true);
    if (warp + 2 == warps || warps == 1) factor_block_side(diagonal, w, c.block, false);
  }
  if (warp == warps / 4) {
    read_head(c.e, c.j, c.head);
    if (lane_index() == 0) c.s.any_upper = c.s.any_lower = 0;
  }
  if constexpr (team::is_cluster) {
    cluster_state& shared = state_of_cluster(c.e);
    if (c.leads) shared.any_upper = shared.any_lower = 0;
  }
  team::sync_wide();
}

/// Writes the factored diagonal block to the masks of the panel's own vertices.
///
/// Before: all threads may read the block, and the warps that loaded these masks have passed a
/// barrier since. After: the masks are those of L and U.
template <tier Tier>
GSOFA_DEVICE void store_diagonal(const current_panel& c) {
  for (index_t k = c.wide_rank; k < c.place.width; k += worker<Tier>::wide_size()) {
    c.masks[k] = {c.block.cols[k] & below(k), c.block.rows[k] & below(k)};
  }
}

/// The closures that factor a panel's boundary.
struct panel_closures {
  closure by_l;  ///< of `upper` masks
  closure by_u;  ///< of `lower` masks

  GSOFA_DEVICE explicit panel_closures(const current_panel& c)
      : by_l(c.block.l, all_of(c.place.width)), by_u(c.block.u, all_of(c.place.width)) {}
};

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
GSOFA_DEVICE void fill_closures(const current_panel& c) {
  using team = worker<Tier>;
  far_state& far = c.s.far(team::warps());
  GSOFA_UNROLL for (int side = 0; side < 2; ++side) {
    const reach& r = side == 0 ? c.block.l : c.block.u;
    if (r.is_chain) continue;
    fill_table(
        far.closures[side], [&](index_t k) { return r.from[k] | bit(k); }, team::rank(),
        team::size());
  }
}

/// Factors the masks of a warp's targets of the first round for the warp itself. The masks in
/// device memory stay as they are until the sweep factors and stores the same positions.
GSOFA_DEVICE void factor_targets(const panel_closures& by, lane_masks& m) {
  mask_t masks[] = {m.low.upper, m.high.upper, m.low.lower, m.high.lower};
  const closure* const closures[] = {&by.by_l, &by.by_l, &by.by_u, &by.by_u};
  apply_closures(masks, closures);
  m.low = {masks[0], masks[2]};
  m.high = {masks[1], masks[3]};
}

}  // namespace gsofa::panels::elimination

#endif
