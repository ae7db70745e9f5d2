#pragma once

/// One panel J of the elimination, by one worker. The masks of J hold A and the updates by all
/// panels below J. The steps, with the names of README.md:
///
///   factor the diagonal block   factor_diagonal(): Gaussian elimination without
///                               cancellation
///   factor the boundary         the mask of U(:, f) becomes the set of vertices
///                               that its members reach along edges of L inside J;
///                               the mask of L(f, :) uses edges of U
///   find routes                 find_routes(): which rows of J update which targets
///   update targets              sweep(): every position z of J ORs, into the mask of
///                               F_J[z] in each target panel, the set of targets that
///                               take a row in the mask of z
///
/// A worker takes targets in rounds, in ascending order, one target panel per warp. Whether a row
/// updates a target depends on earlier targets only through the mask `unpruned`. The sweep of the
/// first round factors the boundary, so it reads each mask once. Routes need factored masks, so
/// the first round factors the masks of its own targets before it finds routes. Later rounds
/// update targets by the rows that no earlier target has pruned. A symmetric structure has one
/// round.

#include "variants/panels/eliminate/tasks.cuh"

#if defined(GSOFA_GPU)

namespace gsofa::panels::elimination {

template <tier Tier>
GSOFA_DEVICE outcome update_in_rounds(const current_panel& c, const panel_closures& by,
                                      lane_masks targets);

/// Factors a panel and updates its ancestors.
///
/// Before: all panels below have been factored and have updated the panel. After: the masks of the
/// panel are those of L and U; the masks of its ancestors hold its updates, except those left to
/// tasks; the worker has passed a wide barrier.
template <tier Tier>
GSOFA_DEVICE outcome factor_and_update(const current_panel& c) {
  const panel_input in = read_panel<Tier>(c);
  factor_diagonal<Tier>(c, in.diagonal);
  store_diagonal<Tier>(c);
  if (c.place.length == c.place.width) {
    const outcome out{true, false, c.head.parent};
    worker<Tier>::sync_wide();
    return out;
  }
  const panel_closures by(c);
  if constexpr (worker<Tier>::hands_over) {
    return update_near_and_far<Tier>(c, by, in.targets);
  } else {
    return update_in_rounds<Tier>(c, by, in.targets);
  }
}

/// Factors the boundary and updates all targets, by a worker that does not hand over. `targets`:
/// the masks of the warp's targets of the first round, not factored.
template <tier Tier>
GSOFA_DEVICE outcome update_in_rounds(const current_panel& c, const panel_closures& by,
                                      lane_masks targets) {
  using team = worker<Tier>;
  const offset_t end = c.place.column_block_end;
  mask_t unpruned = unpruned_inside(c.block, c.place.width);
  bool is_first = true;
  unsigned long long update_work = 0;
  for (offset_t block = c.place.column_block_begin; block < end; block += team::warps()) {
    if (is_first) {
      factor_targets(by, targets);
    } else {
      targets = load_targets<Tier>(c, block);
    }
    find_routes<Tier>(c, targets, block, unpruned);
    const std::uint32_t active = active_routes<Tier>(c);
    count_round(c, active);
    index_t begin = c.place.width;
    if (!is_first) {
      // Positions before the first target have nothing for any target.
      begin = active == 0 ? c.place.length : c.s.routes()[simt::lowest_bit(active)].begin;
      update_work += work_of_update_round<Tier>(c.place.length - begin, active);
    }
    const mask_pair any = sweep<Tier>(c, by, begin, active, is_first);
    if (!is_first) {
      team::sync();
    } else {
      is_first = false;
      if (block + team::warps() >= end || unpruned == 0) break;
      // Row k gives U(k, :) to the targets in L(:, k), column k gives L(:, k) to the targets in
      // U(k, :): both must have entries in the boundary.
      unpruned &= vertices_with_boundary<Tier>(c, any);
    }
    if (unpruned == 0) break;
  }
  return finish_panel<Tier>(c, update_work);
}

}  // namespace gsofa::panels::elimination

#endif
