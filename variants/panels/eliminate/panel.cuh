#pragma once

/// One panel J of the elimination, by one worker. The masks of J hold A and the updates by all
/// panels below J. README.md names the functions in their order.
///
/// A worker takes targets in rounds, in ascending order, one target panel per warp. Whether a row
/// updates a target depends on earlier targets only through the mask `unpruned`. The first round
/// factors the boundary and updates in one sweep, so that each mask is read once. Later rounds only
/// update, by the rows that no earlier target has pruned. A symmetric structure has one round.

#include "variants/panels/eliminate/factor.cuh"
#include "variants/panels/eliminate/find_routes.cuh"

#if defined(GSOFA_GPU)

namespace gsofa::panels::elimination {

template <tier Tier, class Closures>
GSOFA_DEVICE mask_pair factor_boundary_and_update(const current_panel& panel, const Closures& by,
                                                  std::uint32_t active);
template <tier Tier>
GSOFA_DEVICE unsigned long long update_targets(const current_panel& panel, std::uint32_t active);
template <tier Tier>
GSOFA_DEVICE mask_t vertices_with_boundary(const current_panel& panel, mask_pair any);

// Of workers that hand over; tasks.cuh.
template <tier Tier>
GSOFA_DEVICE void prepare_hand_over(const current_panel& panel);
template <tier Tier>
GSOFA_DEVICE outcome hand_over_far_targets(const current_panel& panel, const panel_closures& by,
                                           std::uint32_t taking, mask_t unpruned);

/// Factors a panel and updates its ancestors.
///
/// Before: all panels below have been factored and have updated the panel. After: the masks of the
/// panel are those of L and U; the masks of its ancestors hold its updates, except those left to
/// tasks; the worker has passed a wide barrier.
template <tier Tier>
GSOFA_DEVICE outcome factor_and_update(const current_panel& panel) {
  using team = worker<Tier>;
  const offset_t end = panel.place.column_block_end;
  offset_t round = panel.place.column_block_begin;
  column_block_head target = target_of_warp<Tier>(panel, round);
  panel_masks loaded = load_panel<Tier>(panel, target);
  set_target<Tier>(panel, target);
  factor_diagonal<Tier>(panel, loaded.diagonal);
  if (!panel.has_boundary()) return finish_root<Tier>(panel);

  // Routes need factored masks: each warp factors the masks of its own targets beforehand.
  const panel_closures closures(panel);
  mask_t unpruned = unpruned_inside(panel.diagonal, panel.place.width);
  if constexpr (team::hands_over) prepare_hand_over<Tier>(panel);
  factor_targets(closures, loaded.targets);
  std::uint32_t active = find_routes<Tier>(panel, loaded.targets, round, unpruned);
  if constexpr (team::hands_over) {
    return hand_over_far_targets<Tier>(panel, closures, active, unpruned);
  }
  count_round(panel, active);
  const mask_pair any = factor_boundary_and_update<Tier>(panel, closures, active);
  round += team::warps();
  if (round < end && unpruned != 0) unpruned &= vertices_with_boundary<Tier>(panel, any);

  unsigned long long update_work = 0;
  for (; round < end && unpruned != 0; round += team::warps()) {
    target = target_of_warp<Tier>(panel, round);
    const lane_masks targets = load_targets(panel, target);
    set_target<Tier>(panel, target);
    active = find_routes<Tier>(panel, targets, round, unpruned);
    count_round(panel, active);
    update_work += update_targets<Tier>(panel, active);
    team::sync();
  }
  return finish_panel<Tier>(panel, update_work);
}

/// ORs every add[u] that is not zero into the masks at out[u].
template <int unroll>
GSOFA_DEVICE void or_into(bool exclusive, const mask_pair (&add)[unroll],
                          mask_pair* const (&out)[unroll]) {
  mask_pair old[unroll];
  GSOFA_UNROLL for (int u = 0; u < unroll; ++u) old[u] = {0, 0};
  if (exclusive) {
    GSOFA_UNROLL for (int u = 0; u < unroll; ++u) {
      if ((add[u].upper | add[u].lower) != 0) old[u] = *out[u];
    }
    GSOFA_UNROLL for (int u = 0; u < unroll; ++u) {
      if ((add[u].upper | add[u].lower) == 0) continue;
      *out[u] = {old[u].upper | add[u].upper, old[u].lower | add[u].lower};
    }
    return;
  }
  // Bits are never cleared, so a bit that is already set needs no atomic.
  GSOFA_UNROLL for (int u = 0; u < unroll; ++u) {
    if ((add[u].upper | add[u].lower) == 0) continue;
    old[u] = {simt::load_shared_state(&out[u]->upper), simt::load_shared_state(&out[u]->lower)};
  }
  GSOFA_UNROLL for (int u = 0; u < unroll; ++u) {
    if ((add[u].upper | add[u].lower) == 0) continue;
    if ((add[u].upper & ~old[u].upper) != 0) simt::atomic_or(&out[u]->upper, add[u].upper);
    if ((add[u].lower & ~old[u].lower) != 0) simt::atomic_or(&out[u]->lower, add[u].lower);
  }
}

/// Reads `unroll` positions z, z + step, z + 2 step, ... of the current panel.
template <int unroll>
GSOFA_DEVICE void load_positions(const current_panel& panel, index_t z, index_t step,
                                 position (&here)[unroll]) {
  const panel_view& panels = panel.view.panels;
  const offset_t first = panel.place.first;
  GSOFA_UNROLL for (int u = 0; u < unroll; ++u) {
    const index_t at = z + u * step;
    here[u] = {{0, 0}, at, 0, 0};
    if (at < panel.place.length) {
      here[u] = {panel.masks[at], at, panels.columns[first + at], panels.in_parent[first + at]};
    }
  }
}

/// Updates the targets of the active warps by some positions of the current panel.
///
/// Before: the masks in `here` are factored, and a barrier orders the routes of the active warps.
/// After: this thread sees the updates in the masks of the targets. Other workers see them after
/// the barrier that ends the panel and the release of its parent's counter.
template <int unroll>
GSOFA_DEVICE void update_by_positions(const current_panel& panel, position (&here)[unroll],
                                      std::uint32_t active) {
  const panel_view& panels = panel.view.panels;
  const index_t length = panel.place.length;
  index_t steps = 1;
  for (; active != 0; active &= active - 1) {
    const target_routes& routes = panel.routes[simt::lowest_bit(active)];
    // Targets ascend, so a position before the end of one target has nothing for later targets.
    for (; steps < routes.steps; ++steps) {
      const offset_t base = panel.head.above_begin[steps - 1];
      GSOFA_UNROLL for (int u = 0; u < unroll; ++u) {
        position& at = here[u];
        if (at.z >= routes.end && at.z < length) at.place = panels.in_parent[base + at.place];
      }
    }
    mask_pair add[unroll];
    mask_pair* out[unroll];
    GSOFA_UNROLL for (int u = 0; u < unroll; ++u) {
      const position& at = here[u];
      add[u] = {0, 0};
      out[u] = panels.masks;
      if (at.z < routes.begin || at.z >= length) continue;
      add[u] = routed(at.masks, routes);
      if ((add[u].upper | add[u].lower) == 0) continue;
      index_t to = at.place;
      if (at.z < routes.end) {
        // Among the targets themselves: U(t, f) and L(f, t) with t < f only.
        to = at.vertex - routes.vertices;
        add[u] = {add[u].upper & below(to), add[u].lower & below(to)};
      } else if (routes.steps == 0) {
        to = panels.position(routes.panel, at.vertex);
      }
      out[u] = panels.masks + routes.first + to;
    }
    or_into(routes.exclusive, add, out);
  }
}

/// Factors the boundary, and updates the targets of the active warps by it, in one sweep over the
/// positions. Returns the OR of the masks that this thread has factored.
///
/// Before: find_routes() has passed its last barrier; a wide barrier separates the sweep from the
/// loads of the targets, so that only one thread reads and writes each boundary position. After: as
/// for update_by_positions().
template <tier Tier, class Closures>
GSOFA_DEVICE mask_pair factor_boundary_and_update(const current_panel& panel, const Closures& by,
                                                  std::uint32_t active) {
  constexpr int unroll = worker<Tier>::unroll;
  const index_t size = worker<Tier>::wide_size();
  mask_pair any{0, 0};
  for (index_t z = panel.place.width + panel.wide_rank; z < panel.place.length;
       z += unroll * size) {
    position here[unroll];
    load_positions(panel, z, size, here);
    const mask_pair factored = factor_boundary(panel, by, here);
    any = {any.upper | factored.upper, any.lower | factored.lower};
    update_by_positions(panel, here, active);
  }
  return any;
}

/// Updates the targets of the active warps by a panel whose boundary is factored. Returns the work.
///
/// Before: find_routes() has passed its last barrier. After: as for update_by_positions().
template <tier Tier>
GSOFA_DEVICE unsigned long long update_targets(const current_panel& panel, std::uint32_t active) {
  constexpr int unroll = worker<Tier>::unroll;
  const index_t size = worker<Tier>::wide_size();
  const index_t length = panel.place.length;
  // Positions before the first target have nothing for any target.
  const index_t begin = active == 0 ? length : panel.routes[simt::lowest_bit(active)].begin;
  for (index_t z = begin + panel.wide_rank; z < length; z += unroll * size) {
    position here[unroll];
    load_positions(panel, z, size, here);
    update_by_positions(panel, here, active);
  }
  return work_of_update_round<Tier>(length - begin, active);
}

/// The vertices k of the panel with entries of both U(k, :) and L(:, k) in the boundary. `any`: the
/// vertices that this thread has met in factor_boundary_and_update().
///
/// The last barrier of this step, which is wide, also ends the first round: after it all threads
/// see all factored masks, which later rounds load.
template <tier Tier>
GSOFA_DEVICE mask_t vertices_with_boundary(const current_panel& panel, mask_pair any) {
  using team = worker<Tier>;
  any = {or_over_warp(any.upper), or_over_warp(any.lower)};
  if (lane_index() == 0) {
    simt::atomic_or(&panel.state.any_upper, any.upper);
    simt::atomic_or(&panel.state.any_lower, any.lower);
  }
  team::sync();
  any = {panel.state.any_upper, panel.state.any_lower};
  if constexpr (team::is_cluster) {
    cluster_state& shared = state_of_cluster(panel.view);
    if (team::rank() == 0) {
      simt::atomic_or(&shared.any_upper, any.upper);
      simt::atomic_or(&shared.any_lower, any.lower);
    }
    team::sync_wide();
    any = {simt::load_shared_state(&shared.any_upper), simt::load_shared_state(&shared.any_lower)};
  }
  return any.upper & any.lower;
}

}  // namespace gsofa::panels::elimination

#endif
