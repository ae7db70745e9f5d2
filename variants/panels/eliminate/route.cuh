#pragma once

/// Which rows of U, and which columns of L, of a factored panel update the vertices of one target
/// panel. elimination.cpp has the host form, find_routes().

#include "variants/panels/eliminate/worker.cuh"

#if defined(GSOFA_GPU)

namespace gsofa::panels::elimination {

/// Which rows of U (or columns of L) of the current panel the vertices of one target panel take.
struct route {
  mask_t targets[mask_bits];  ///< [r]: the targets that take row r; valid if r is active
  mask_t active;              ///< rows with targets
  mask_t all;                 ///< targets that take any row
  mask_t several;             ///< targets that take more than one row
};

/// The routes to one target panel; shared memory, one per warp.
struct alignas(16) target_routes {
  route upper;       ///< of rows of U, to columns
  route lower;       ///< of columns of L, to rows
  mask_t both;       ///< k with L(t, k) != 0 and U(k, t) != 0 for some target t
  offset_t first;    ///< the target's first position in the masks
  index_t panel;     ///< the target
  index_t vertices;  ///< its first vertex
  index_t begin;     ///< positions of the current panel that are vertices of the target
  index_t end;
  index_t
      steps;  ///< from the current panel up to the target, if these are at most most_steps; else 0
  bool exclusive;  ///< no other worker updates the target now
  bool helped;     ///< tasks update the target, or have updated it; if workers hand over
};

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

/// The union of the targets of the active members of m. Nearly all targets take only one
/// row. Then the targets of the members are all targets less the targets of the other active rows.
/// The loop visits the members or the other rows, whichever are fewer.
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

}  // namespace gsofa::panels::elimination

#endif
