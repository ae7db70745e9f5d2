#pragma once

/// Factors a panel: the diagonal block by Gaussian elimination without cancellation on rows of
/// bits, and the masks of the boundary as closures under that block. bits.hpp has the host forms,
/// eliminate() and closure().

#include "variants/panels/eliminate/current_panel.cuh"

#if defined(GSOFA_GPU)

namespace gsofa::panels::elimination {

/// A column block of a panel.
struct column_block_head {
  mask_t members;
  index_t panel;  ///< the target panel; -1: there is no such column block
  index_t begin;  ///< position of the lowest member
};

/// The warp's column block in the round that begins with column block `round`.
template <tier Tier>
GSOFA_DEVICE column_block_head target_of_warp(const current_panel& panel, offset_t round) {
  const panel_view& panels = panel.view.panels;
  const offset_t q = round + worker<Tier>::warp();
  if (q >= panel.place.column_block_end) return {0, -1, 0};
  return {panels.column_block_mask[q], panels.column_block_panel[q], panels.column_block_first[q]};
}

/// Loads the masks of a column block by one warp.
///
/// Before: no thread writes these masks. After: each lane holds two masks, zero where the vertex is
/// not in the boundary.
GSOFA_DEVICE lane_masks load_targets(const current_panel& panel, const column_block_head& block) {
  lane_masks m{{0, 0}, {0, 0}};
  if (block.panel < 0) return m;
  const std::uint32_t low = low_half(block.members);
  const std::uint32_t high = high_half(block.members);
  const std::uint32_t here = 1U << lane_index();
  if ((low & here) != 0) {
    m.low = panel.masks[block.begin + static_cast<index_t>(simt::population(low & lower_lanes()))];
  }
  if ((high & here) != 0) {
    m.high =
        panel.masks[block.begin + static_cast<index_t>(simt::population(low) +
                                                       simt::population(high & lower_lanes()))];
  }
  return m;
}

/// Notes in the routes of the warp where the target panel of its column block lies. The barriers of
/// find_routes() order these stores.
template <tier Tier>
GSOFA_DEVICE void set_target(const current_panel& panel, const column_block_head& block) {
  if (block.panel < 0 || lane_index() != 0) return;
  const panel_view& panels = panel.view.panels;
  target_routes& mine = panel.routes[worker<Tier>::warp()];
  mine.panel = block.panel;
  mine.vertices = panels.begin[block.panel];
  mine.first = panels.position_begin[block.panel];
  mine.begin = block.begin;
  mine.end = block.begin + static_cast<index_t>(simt::population(block.members));
  if constexpr (worker<Tier>::hands_over) {
    mine.helped = panel.view.schedule.is_helped(block.panel);
    target_blocks& there = panel.far->there[worker<Tier>::warp()];
    there.begin = panels.column_block_begin[block.panel];
    there.count = static_cast<index_t>(panels.column_block_begin[block.panel + 1] - there.begin);
  }
}

/// Whether this thread's warp factors diagonal blocks. The last two warps of a block do, since they
/// seldom have a column block.
template <tier Tier>
GSOFA_DEVICE bool has_diagonal() {
  return worker<Tier>::warp() + 2 >= worker<Tier>::warps();
}

/// Loads the masks of the panel's own vertices by the warps of has_diagonal(); zero in others.
template <tier Tier>
GSOFA_DEVICE lane_masks load_diagonal(const current_panel& panel) {
  lane_masks m{{0, 0}, {0, 0}};
  if (!has_diagonal<Tier>()) return m;
  const auto row = static_cast<index_t>(lane_index());
  if (row < panel.place.width) m.low = panel.masks[row];
  if (row + 32 < panel.place.width) m.high = panel.masks[row + 32];
  return m;
}

/// What a warp holds of a panel before the panel is factored.
struct panel_masks {
  lane_masks diagonal;  ///< of the panel's own vertices; in the warps of has_diagonal()
  lane_masks targets;   ///< of the warp's column block of the first round
};

/// Loads the masks that the first round needs, and prefetches the first positions of the boundary.
///
/// Before: all panels below have updated the panel, and the last barrier that the worker passed
/// orders their updates before these loads. After: no barrier has been passed.
template <tier Tier>
GSOFA_DEVICE panel_masks load_panel(const current_panel& panel, const column_block_head& target) {
  using team = worker<Tier>;
  const panel_view& panels = panel.view.panels;
  const panel_masks loaded{load_diagonal<Tier>(panel), load_targets(panel, target)};
  GSOFA_UNROLL for (int u = 0; u < team::unroll; ++u) {
    const index_t z = panel.place.width + panel.wide_rank + u * team::wide_size();
    if (z >= panel.place.length) break;
    simt::prefetch(panel.masks + z);
    simt::prefetch(panels.columns + panel.place.first + z);
    simt::prefetch(panels.in_parent + panel.place.first + z);
  }
  return loaded;
}

/// Reads the head of the panel, by one warp.
GSOFA_DEVICE void read_head(const current_panel& panel) {
  if (lane_index() >= static_cast<unsigned>(most_steps)) return;
  const panel_view& panels = panel.view.panels;
  panel_head& head = panel.head;
  const index_t above = panels.above[offset_t{panel.number} * most_steps + lane_index()];
  head.above_begin[lane_index()] = above < 0 ? -1 : panels.position_begin[above];
  if (lane_index() > 0) return;
  head.single_child_steps = panels.single_child_steps[panel.number];
  head.parent.panel = above;
  if (above < 0) return;
  head.parent.children = panel.view.schedule.children[above];
  head.parent.place = place_of(panels, above);
}

/// The closure of a panel's masks under a reach.
struct closure {
  const reach& r;
  mask_t all;  ///< vertices of the panel
  bool is_chain;

  GSOFA_DEVICE closure(const reach& by, mask_t vertices)
      : r(by), all(vertices), is_chain(by.is_chain) {}

  /// m and all vertices that its members reach.
  GSOFA_DEVICE mask_t operator()(mask_t m) const {
    return is_chain ? behind_lowest(m) : searched(m);
  }
  /// In a chain: the lowest member and all later vertices.
  GSOFA_DEVICE mask_t behind_lowest(mask_t m) const {
    return (mask_t{0} - (m & (mask_t{0} - m))) & all;
  }
  /// By halves of 32 bits: a member reaches only later vertices.
  GSOFA_DEVICE mask_t searched(mask_t m) const {
    std::uint32_t low = low_half(m);
    std::uint32_t high = high_half(m);
    for (std::uint32_t todo = low; todo != 0;) {
      const mask_t reached = r.from[simt::lowest_bit(todo)];
      low |= low_half(reached);
      high |= high_half(reached);
      todo &= (todo - 1) & ~low_half(reached);
    }
    for (std::uint32_t todo = high; todo != 0;) {
      const std::uint32_t reached = high_half(r.from[32 + simt::lowest_bit(todo)]);
      high |= reached;
      todo &= (todo - 1) & ~reached;
    }
    return joined(low, high);
  }
};

/// Replaces every m[q] by its closure under by[q]; the searches overlap.
template <int Count>
GSOFA_DEVICE void apply_closures(mask_t (&m)[Count], const closure* const (&by)[Count]) {
  mask_t todo[Count];
  GSOFA_UNROLL for (int q = 0; q < Count; ++q) {
    todo[q] = by[q]->is_chain ? 0 : m[q];
    if (by[q]->is_chain) m[q] = by[q]->behind_lowest(m[q]);
  }
  GSOFA_KEEP_LOOP for (mask_t left = 1; left != 0;) {
    left = 0;
    GSOFA_UNROLL for (int q = 0; q < Count; ++q) {
      if (todo[q] != 0) {
        const mask_t reached = by[q]->r.from[simt::lowest_bit(todo[q])];
        m[q] |= reached;
        todo[q] &= (todo[q] - 1) & ~reached;
      }
      left |= todo[q];
    }
  }
}

/// All vertices of a panel of width w.
GSOFA_DEVICE mask_t all_of(index_t w) { return w < mask_bits ? below(w) : ~mask_t{0}; }

/// Gaussian elimination without cancellation on the leading w x w block, by one warp. Step k: rows
/// i > k with bit k take in the bits > k of row k. Returns `to` of the reach by edges k -> i with
/// bit k in row i, k < i: bit k of row i is final at step k, and so is to[k]. The same steps on the
/// transpose give the transposed result. The steps of Count blocks overlap.
///
/// Works in halves of 32 bits: rows up to 31 take nothing from later rows, and only rows up to 31
/// reach them. The loop is unrolled by eight: fully unrolled, the steps do not fit the instruction
/// cache.
template <int Count>
GSOFA_DEVICE void eliminate_blocks(row_pair (&rows)[Count], row_pair (&to)[Count], index_t w) {
  const std::uint32_t left = lower_lanes();  // of the diagonal, in row lane and, shifted, lane + 32
  struct state {
    std::uint32_t low[2], high[2], to_low, to_high[2];
  };
  state b[Count];
  GSOFA_UNROLL for (int q = 0; q < Count; ++q) {
    b[q] = {{low_half(rows[q].low), high_half(rows[q].low)},
            {low_half(rows[q].high), high_half(rows[q].high)},
            0,
            {0, 0}};
  }
  constexpr index_t piece = 8;
  std::uint32_t here = 1;
  GSOFA_KEEP_LOOP for (index_t begin = 0; begin < 32 && begin + 1 < w; begin += piece) {
    GSOFA_UNROLL for (index_t step = 0; step < piece; ++step, here <<= 1) {
      const auto source = static_cast<unsigned>(begin + step);
      const std::uint32_t behind = ~(here | (here - 1));
      GSOFA_UNROLL for (int q = 0; q < Count; ++q) {
        state& m = b[q];
        const std::uint32_t add_low = simt::shuffle(m.low[0], source) & behind;
        const std::uint32_t add_high = simt::shuffle(m.low[1], source);
        const std::uint32_t from = simt::shuffle(m.to_low, source) | here;
        if ((m.low[0] & left & here) != 0) {
          m.low[0] |= add_low;
          m.low[1] |= add_high;
          m.to_low |= from;
        }
        if ((m.high[0] & here) != 0) {
          m.high[0] |= add_low;
          m.high[1] |= add_high;
          m.to_high[0] |= from;
        }
      }
    }
  }
  here = 1;
  GSOFA_KEEP_LOOP for (index_t begin = 0; begin < 32 && begin + 33 < w; begin += piece) {
    GSOFA_UNROLL for (index_t step = 0; step < piece; ++step, here <<= 1) {
      const auto source = static_cast<unsigned>(begin + step);
      const std::uint32_t behind = ~(here | (here - 1));
      GSOFA_UNROLL for (int q = 0; q < Count; ++q) {
        state& m = b[q];
        const std::uint32_t add = simt::shuffle(m.high[1], source) & behind;
        const std::uint32_t from_low = simt::shuffle(m.to_high[0], source);
        const std::uint32_t from_high = simt::shuffle(m.to_high[1], source) | here;
        if ((m.high[1] & left & here) != 0) {
          m.high[1] |= add;
          m.to_high[0] |= from_low;
          m.to_high[1] |= from_high;
        }
      }
    }
  }
  GSOFA_UNROLL for (int q = 0; q < Count; ++q) {
    rows[q] = {joined(b[q].low[0], b[q].low[1]), joined(b[q].high[0], b[q].high[1])};
    to[q] = {b[q].to_low, joined(b[q].to_high[0], b[q].to_high[1])};
  }
}

/// Factors the diagonal block of a panel of width w by one warp. Count = 1: sets rows and l, or,
/// with `of_columns`, cols and u; Count = 2: sets all four. The caller passes a barrier afterwards.
template <int Count>
GSOFA_DEVICE void factor_block(const lane_masks& m, index_t w, diagonal_block& factored,
                               bool of_columns) {
  const auto lane = static_cast<index_t>(lane_index());
  const row_pair upper{m.low.upper, m.high.upper};  // of column z, the rows above the diagonal
  const row_pair lower{m.low.lower, m.high.lower};  // of row z, the columns left of it
  row_pair block[Count];
  row_pair to[Count];
  GSOFA_UNROLL for (int q = 0; q < Count; ++q) block[q] = of_columns || q > 0 ? lower : upper;
  transpose(block);
  GSOFA_UNROLL for (int q = 0; q < Count; ++q) {
    const bool columns = of_columns || q > 0;
    block[q].low |= columns ? upper.low : lower.low;
    block[q].high |= columns ? upper.high : lower.high;
  }
  eliminate_blocks(block, to, w);
  row_pair from[Count];
  GSOFA_UNROLL for (int q = 0; q < Count; ++q) from[q] = to[q];
  transpose(from);
  const mask_t all = all_of(w);
  GSOFA_UNROLL for (int q = 0; q < Count; ++q) {
    const bool columns = of_columns || q > 0;
    mask_t* const out = columns ? factored.cols : factored.rows;
    reach& r = columns ? factored.u : factored.l;
    out[lane] = block[q].low;
    out[lane + 32] = block[q].high;
    r.to[lane] = to[q].low;
    r.to[lane + 32] = to[q].high;
    r.from[lane] = from[q].low;
    r.from[lane + 32] = from[q].high;
    const bool reaches_all = (from[q].low == (above(lane) & all) || lane >= w) &&
                             (from[q].high == (above(lane + 32) & all) || lane + 32 >= w);
    const bool is_chain = simt::ballot(!reaches_all) == 0;
    if (lane == 0) r.is_chain = is_chain;
  }
}

/// factor_block<1>. A kernel has one copy of this long code.
GSOFA_SHARED_CODE void factor_block_side(lane_masks m, index_t w, diagonal_block& factored,
                                         bool of_columns) {
  factor_block<1>(m, w, factored, of_columns);
}

/// The vertices k of a panel of width w that the panel itself does not prune: no s in the panel has
/// L(s, k) != 0 and U(k, s) != 0. Each warp computes all of them.
GSOFA_DEVICE mask_t unpruned_inside(const diagonal_block& block, index_t w) {
  const auto k = static_cast<index_t>(lane_index());
  const unsigned low = simt::ballot((block.rows[k] & block.cols[k] & above(k)) != 0);
  const unsigned high =
      simt::ballot((block.rows[k + 32] & block.cols[k + 32] & above(k + 32)) != 0);
  return ~joined(low, high) & all_of(w);
}

/// Factors the diagonal block in shared memory, reads the head, and clears what
/// vertices_with_boundary() adds up.
///
/// After: the worker has passed a wide barrier. All threads may read block and head of the panel in
/// shared memory. All threads have loaded their masks of the panel, so masks may be stored.
template <tier Tier>
GSOFA_DEVICE void factor_diagonal_block(const current_panel& panel, const lane_masks& diagonal) {
  using team = worker<Tier>;
  const index_t w = panel.place.width;
  const unsigned warp = team::warp();
  const unsigned warps = team::warps();
  if constexpr (team::is_warp) {
    factor_block<2>(diagonal, w, panel.diagonal, false);
  } else if (has_diagonal<Tier>()) {
    if (warp + 1 == warps) factor_block_side(diagonal, w, panel.diagonal, true);
    if (warp + 2 == warps || warps == 1) factor_block_side(diagonal, w, panel.diagonal, false);
  }
  if (warp == warps / 4) {
    read_head(panel);
    if (lane_index() == 0) panel.state.any_upper = panel.state.any_lower = 0;
  }
  if constexpr (team::is_cluster) {
    cluster_state& shared = state_of_cluster(panel.view);
    if (panel.leads) shared.any_upper = shared.any_lower = 0;
  }
  team::sync_wide();
}

/// Factors the diagonal block: the masks of the panel's own vertices become those of L and U.
///
/// Before: `diagonal` holds these masks, as load_diagonal() returns them. After: as for
/// factor_diagonal_block().
template <tier Tier>
GSOFA_DEVICE void factor_diagonal(const current_panel& panel, const lane_masks& diagonal) {
  factor_diagonal_block<Tier>(panel, diagonal);
  const diagonal_block& block = panel.diagonal;
  for (index_t k = panel.wide_rank; k < panel.place.width; k += worker<Tier>::wide_size()) {
    panel.masks[k] = {block.cols[k] & below(k), block.rows[k] & below(k)};
  }
}

/// The closures that factor a panel's boundary.
struct panel_closures {
  closure by_l;  ///< of `upper` masks
  closure by_u;  ///< of `lower` masks

  GSOFA_DEVICE explicit panel_closures(const current_panel& panel)
      : by_l(panel.diagonal.l, all_of(panel.place.width)),
        by_u(panel.diagonal.u, all_of(panel.place.width)) {}
};

/// Factors the masks of a warp's targets of the first round for the warp itself. The masks in
/// device memory stay as they are until factor_boundary() stores the same positions.
GSOFA_DEVICE void factor_targets(const panel_closures& by, lane_masks& m) {
  mask_t masks[] = {m.low.upper, m.high.upper, m.low.lower, m.high.lower};
  const closure* const closures[] = {&by.by_l, &by.by_l, &by.by_u, &by.by_u};
  apply_closures(masks, closures);
  m.low = {masks[0], masks[2]};
  m.high = {masks[1], masks[3]};
}

/// One position of the current panel.
struct position {
  mask_pair masks;
  index_t z;
  index_t vertex;
  index_t place;  ///< its position in the list of the panel one step above, then further up
};

/// Factors some positions of the boundary and stores their masks. Returns the OR of the masks.
template <class Closures, int unroll>
GSOFA_DEVICE mask_pair factor_boundary(const current_panel& panel, const Closures& by,
                                       position (&here)[unroll]) {
  mask_pair any{0, 0};
  GSOFA_UNROLL for (int u = 0; u < unroll; ++u) {
    mask_pair& m = here[u].masks;
    m = {by.by_l(m.upper), by.by_u(m.lower)};
    if (here[u].z < panel.place.length) panel.masks[here[u].z] = m;
    any = {any.upper | m.upper, any.lower | m.lower};
  }
  return any;
}

}  // namespace gsofa::panels::elimination

#endif
