#pragma once

/// Finds which rows of U and columns of L of a panel update the targets of a round: one target
/// panel per warp, in ascending order. README.md, "Factor and update" (Find routes), describes the
/// step. PROOFS.md, "No entry is lost", has the rules: keep_last() is rule (a), `unpruned` is (b).

#include "variants/panels/eliminate/current_panel.cuh"

#if defined(GSOFA_GPU)

namespace gsofa::panels::elimination {

/// Finds which rows of U and columns of L each target of a round takes, one target panel per warp,
/// and removes from `unpruned` the vertices that these targets prune.
///
/// Before: `m` holds the factored masks of the warp's targets in the round that begins with column
/// block `round`, zero if the warp has no column block; `unpruned` holds the vertices that no
/// target before this round prunes, the same in all warps. After: the barrier at the end makes the
/// routes of all warps valid for all threads with the same shared memory. The first barrier orders
/// `both` of all warps.
template <tier Tier>
GSOFA_DEVICE void find_routes(const current_panel& c, const lane_masks& m, offset_t round,
                              mask_t& unpruned) {
  using team = worker<Tier>;
  const bool has_targets = round + team::warp() < c.place.column_block_end;
  target_routes& mine = c.s.routes()[team::warp()];
  const unsigned lane = lane_index();
  const unsigned warp = team::warp();
  const row_pair both{m.low.upper & m.low.lower, m.high.upper & m.high.lower};
  const mask_t all_low = or_over_warp(both.low);
  const mask_t all_high = or_over_warp(both.high);
  if (lane == 0) mine.both = all_low | all_high;
  team::sync();
  const mask_t seen = lane < team::warps() ? c.s.routes()[lane].both : 0;
  const mask_t before = unpruned & ~or_over_warp(lane < warp ? seen : 0);
  unpruned &= ~or_over_warp(seen);
  if (before != 0 && has_targets) {
    const row_pair earlier = or_of_lower_lanes(both);
    const mask_t low = before & ~earlier.low;
    const mask_t high = before & ~all_low & ~earlier.high;
    // Row k updates target t if k is a member of L(t, :) that reaches no other member along L;
    // column k updates t if k is a member of U(:, t) that reaches no other member along U.
    mask_t last[] = {m.low.lower, m.high.lower, m.low.upper, m.high.upper};
    const reach* const by[] = {&c.block.l, &c.block.l, &c.block.u, &c.block.u};
    keep_last(last, by);
    set_routes(mine, {low & last[0], high & last[1]}, {low & last[2], high & last[3]});
    // Is the target one of the next ancestors?
    const bool there =
        lane < static_cast<unsigned>(most_steps) && c.head.above_begin[lane] == mine.first;
    const unsigned step = simt::ballot(there);
    if (lane == 0) {
      mine.steps = step == 0 ? 0 : static_cast<index_t>(simt::lowest_bit(step)) + 1;
      mine.exclusive = step != 0 && mine.steps <= c.head.single_child_steps;
      if constexpr (team::hands_over) mine.exclusive = mine.exclusive && !mine.helped;
    }
  } else if (lane == 0) {
    mine.upper.active = mine.lower.active = 0;
  }
  team::sync();
}

/// The warps, as bits, whose targets take any row or column in this round. Each warp computes all
/// bits.
///
/// Before: find_routes() has passed its last barrier.
template <tier Tier>
GSOFA_DEVICE std::uint32_t active_routes(const current_panel& c) {
  const unsigned lane = lane_index();
  const target_routes* const routes = c.s.routes();
  const bool takes =
      lane < worker<Tier>::warps() && (routes[lane].upper.active | routes[lane].lower.active) != 0;
  return simt::ballot(takes);
}

}  // namespace gsofa::panels::elimination

#endif
