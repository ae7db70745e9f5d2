#pragma once

/// Finds which rows of U and columns of L of a panel update the targets of a round: one target
/// panel per warp, in ascending order. README.md, "Factor and update", describes the step.
/// PROOFS.md, "No entry is lost", has the rules: keep_last() is rule (a), `unpruned` is (b).
/// elimination.cpp has the host form, find_routes().

#include "variants/panels/eliminate/current_panel.cuh"

#if defined(GSOFA_GPU)

namespace gsofa::panels::elimination {

/// Removes from every m[q] the members that reach another member; the searches overlap.
template <int Count>
GSOFA_DEVICE void keep_last(mask_t (&m)[Count], const reach* const (&r)[Count]) {
  mask_t last[Count];
  GSOFA_UNROLL for (int q = 0; q < Count; ++q) last[q] = 0;
  GSOFA_KEEP_LOOP for (mask_t left = 1; left != 0;) {
    left = 0;
    GSOFA_UNROLL for (int q = 0; q < Count; ++q) {
      if (m[q] != 0) {
        const unsigned k = simt::highest_bit(m[q]);
        const mask_t here = bit(static_cast<index_t>(k));
        last[q] |= here;
        m[q] &= ~(here | r[q]->to[k]);
      }
      left |= m[q];
    }
  }
  GSOFA_UNROLL for (int q = 0; q < Count; ++q) m[q] = last[q];
}

/// The union of the targets of the members of m.
GSOFA_DEVICE mask_t targets_of(mask_t m, const route& r) {
  mask_t found = 0;
  for (std::uint32_t todo = low_half(m); todo != 0; todo &= todo - 1) {
    found |= r.targets[simt::lowest_bit(todo)];
  }
  for (std::uint32_t todo = high_half(m); todo != 0; todo &= todo - 1) {
    found |= r.targets[32 + simt::lowest_bit(todo)];
  }
  return found;
}

/// The union of the targets of the active members of m. Nearly all targets take only one row. Then
/// the targets of the members are all targets less the targets of the other active rows. The loop
/// visits the members or the other rows, whichever are fewer.
GSOFA_DEVICE mask_t routed(mask_t m, const route& r) {
  const mask_t active = r.active;
  const mask_t members = m & active;
  if ((active & (active - 1)) == 0) return members != 0 ? r.all : 0;
  const mask_t others = active & ~m;
  const bool by_others = simt::population(others) < simt::population(members);
  mask_t found = targets_of(by_others ? others : members, r);
  if (!by_others) return found;
  mask_t unclear = r.several;
  found = r.all & ~unclear & ~found;
  for (mask_t todo = members; unclear != 0 && todo != 0; todo &= todo - 1) {
    const mask_t taken = r.targets[simt::lowest_bit(todo)] & unclear;
    found |= taken;
    unclear &= ~taken;
  }
  return found;
}

/// The targets that take a row of U in m.upper, and the targets that take a column of L in m.lower.
GSOFA_DEVICE mask_pair routed(mask_pair m, const target_routes& r) {
  return {routed(m.upper, r.upper), routed(m.lower, r.lower)};
}

/// Sets both routes by one warp. Lane l holds the rows, and the columns, that targets l and l + 32
/// take.
GSOFA_DEVICE void set_routes(target_routes& out, const row_pair& upper, const row_pair& lower) {
  const unsigned lane = lane_index();
  const row_pair taken[] = {upper, lower};
  row_pair by_source[] = {upper, lower};
  transpose(by_source);
  GSOFA_UNROLL for (int side = 0; side < 2; ++side) {
    route& r = side == 0 ? out.upper : out.lower;
    const mask_t low = taken[side].low;
    const mask_t high = taken[side].high;
    r.targets[lane] = by_source[side].low;
    r.targets[lane + 32] = by_source[side].high;
    const unsigned active_low = simt::ballot(by_source[side].low != 0);
    const unsigned active_high = simt::ballot(by_source[side].high != 0);
    const unsigned all_low = simt::ballot(low != 0);
    const unsigned all_high = simt::ballot(high != 0);
    const unsigned several_low = simt::ballot((low & (low - 1)) != 0);
    const unsigned several_high = simt::ballot((high & (high - 1)) != 0);
    if (lane == 0) {
      r.active = joined(active_low, active_high);
      r.all = joined(all_low, all_high);
      r.several = joined(several_low, several_high);
    }
  }
}

/// Finds which rows of U and columns of L each target of a round takes, one target panel per warp,
/// and removes from `unpruned` the vertices that these targets prune. Returns the warps, as bits,
/// whose targets take any row or column.
///
/// Before: `m` holds the factored masks of the warp's targets in the round that begins with column
/// block `round`, zero if the warp has no column block; `unpruned` holds the vertices that no
/// target before this round prunes, the same in all warps. After: the last barrier makes the routes
/// of all warps valid for all threads with the same shared memory. The first barrier orders `both`
/// of all warps.
template <tier Tier>
GSOFA_DEVICE std::uint32_t find_routes(const current_panel& panel, const lane_masks& m,
                                       offset_t round, mask_t& unpruned) {
  using team = worker<Tier>;
  const bool has_targets = round + team::warp() < panel.place.column_block_end;
  target_routes& mine = panel.routes[team::warp()];
  const unsigned lane = lane_index();
  const unsigned warp = team::warp();
  const row_pair both{m.low.upper & m.low.lower, m.high.upper & m.high.lower};
  const mask_t all_low = or_over_warp(both.low);
  const mask_t all_high = or_over_warp(both.high);
  if (lane == 0) mine.both = all_low | all_high;
  team::sync();
  const mask_t seen = lane < team::warps() ? panel.routes[lane].both : 0;
  const mask_t before = unpruned & ~or_over_warp(lane < warp ? seen : 0);
  unpruned &= ~or_over_warp(seen);
  if (before != 0 && has_targets) {
    const row_pair earlier = or_of_lower_lanes(both);
    const mask_t low = before & ~earlier.low;
    const mask_t high = before & ~all_low & ~earlier.high;
    // Row k updates target t if k is a member of L(t, :) that reaches no other member along L;
    // column k updates t if k is a member of U(:, t) that reaches no other member along U.
    mask_t last[] = {m.low.lower, m.high.lower, m.low.upper, m.high.upper};
    const reach* const by[] = {&panel.diagonal.l, &panel.diagonal.l, &panel.diagonal.u,
                               &panel.diagonal.u};
    keep_last(last, by);
    set_routes(mine, {low & last[0], high & last[1]}, {low & last[2], high & last[3]});
    // Is the target one of the next ancestors?
    const bool there =
        lane < static_cast<unsigned>(most_steps) && panel.head.above_begin[lane] == mine.first;
    const unsigned step = simt::ballot(there);
    if (lane == 0) {
      mine.steps = step == 0 ? 0 : static_cast<index_t>(simt::lowest_bit(step)) + 1;
      mine.exclusive = step != 0 && mine.steps <= panel.head.single_child_steps;
      if constexpr (team::hands_over) mine.exclusive = mine.exclusive && !mine.helped;
    }
  } else if (lane == 0) {
    mine.upper.active = mine.lower.active = 0;
  }
  team::sync();
  const bool takes = lane < team::warps() &&
                     (panel.routes[lane].upper.active | panel.routes[lane].lower.active) != 0;
  return simt::ballot(takes);
}

}  // namespace gsofa::panels::elimination

#endif
