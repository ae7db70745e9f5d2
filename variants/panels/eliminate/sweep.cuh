#pragma once

/// Updates target panels: ORs into their masks, position by position, the targets that take a row
/// or column of the factored panel.

#include "variants/panels/eliminate/factor.cuh"
#include "variants/panels/eliminate/find_routes.cuh"

#if defined(GSOFA_GPU)

namespace gsofa::panels::elimination {

/// One position of the current panel.
struct position {
  mask_pair masks;
  index_t z;
  index_t vertex;
  index_t place;  ///< its position in the list of the panel one step above, then further up
};

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

/// Updates the targets of the active warps by some positions of the current panel.
///
/// Before: the masks in `here` are factored, and a barrier orders the routes of the active warps.
/// After: this thread sees the updates in the masks of the targets. Other workers see them after
/// the barrier that ends the panel and the release of its parent's counter.
template <int unroll>
GSOFA_DEVICE void update_targets(const panel_view& p, position (&here)[unroll], index_t length,
                                 std::uint32_t active, worker_state& s, const panel_head& head) {
  index_t steps = 1;
  for (; active != 0; active &= active - 1) {
    const unsigned warp = simt::lowest_bit(active);
    const target_routes& routes = s.routes()[warp];
    // Targets ascend, so a position before the end of one target has nothing for later targets.
    for (; steps < routes.steps; ++steps) {
      const offset_t base = head.above_begin[steps - 1];
      GSOFA_UNROLL for (int u = 0; u < unroll; ++u) {
        position& at = here[u];
        if (at.z >= routes.end && at.z < length) at.place = p.in_parent[base + at.place];
      }
    }
    mask_pair add[unroll];
    mask_pair* out[unroll];
    GSOFA_UNROLL for (int u = 0; u < unroll; ++u) {
      const position& at = here[u];
      add[u] = {0, 0};
      out[u] = p.masks;
      if (at.z < routes.begin || at.z >= length) continue;
      add[u] = routed(at.masks, routes);
      if ((add[u].upper | add[u].lower) == 0) continue;
      index_t to = at.place;
      if (at.z < routes.end) {
        // Among the targets themselves: U(t, f) and L(f, t) with t < f only.
        to = at.vertex - routes.vertices;
        add[u] = {add[u].upper & below(to), add[u].lower & below(to)};
      } else if (routes.steps == 0) {
        to = p.position(routes.panel, at.vertex);
      }
      out[u] = p.masks + routes.first + to;
    }
    or_into(routes.exclusive, add, out);
  }
}

/// Updates the targets of one round by the positions begin, begin + 1, ... of the panel. In the
/// first round, the sweep also factors and stores every boundary position, so that masks are read
/// once.
///
/// Before: find_routes() has passed its last barrier; in the first round, a wide barrier separates
/// the sweep from the loads of the targets, so that only one thread reads and writes each boundary
/// position. After: as for update_targets(). Returns the OR of the masks that this thread has
/// factored, zero in update rounds.
template <tier Tier, class Closures>
GSOFA_DEVICE mask_pair sweep(const current_panel& c, const Closures& by, index_t begin,
                             std::uint32_t active, bool is_first) {
  constexpr int unroll = worker<Tier>::unroll;
  const panel_view& p = c.e.p;
  const index_t length = c.place.length;
  const offset_t first = c.place.first;
  const index_t size = worker<Tier>::wide_size();
  mask_pair any{0, 0};
  for (index_t z = begin + c.wide_rank; z < length; z += unroll * size) {
    position here[unroll];
    GSOFA_UNROLL for (int u = 0; u < unroll; ++u) {
      const index_t at = z + u * size;
      here[u] = {{0, 0}, at, 0, 0};
      if (at < length) {
        here[u] = {c.masks[at], at, p.columns[first + at], p.in_parent[first + at]};
      }
    }
    if (is_first) {
      GSOFA_UNROLL for (int u = 0; u < unroll; ++u) {
        mask_pair& m_here = here[u].masks;
        m_here = {by.by_l(m_here.upper), by.by_u(m_here.lower)};
        if (here[u].z < length) c.masks[here[u].z] = m_here;
        any = {any.upper | m_here.upper, any.lower | m_here.lower};
      }
    }
    update_targets(p, here, length, active, c.s, c.head);
  }
  return any;
}

/// The vertices k of the panel with entries of both U(k, :) and L(:, k) in the boundary. `any`: the
/// vertices that this thread has met in the sweep of the first round.
///
/// The last barrier of this step, which is wide, also ends the first round: after it all threads
/// see all factored masks, which later rounds load.
template <tier Tier>
GSOFA_DEVICE mask_t vertices_with_boundary(const current_panel& c, mask_pair any) {
  using team = worker<Tier>;
  any = {or_over_warp(any.upper), or_over_warp(any.lower)};
  if (lane_index() == 0) {
    simt::atomic_or(&c.s.any_upper, any.upper);
    simt::atomic_or(&c.s.any_lower, any.lower);
  }
  team::sync();
  any = {c.s.any_upper, c.s.any_lower};
  if constexpr (team::is_cluster) {
    cluster_state& shared = state_of_cluster(c.e);
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
