#pragma once

/// Factors the diagonal block of a panel, up to 64 x 64 entries, by one warp: Gaussian elimination
/// without cancellation on rows of bits. bits.hpp has the host form, eliminate().

#include "variants/panels/eliminate/reach.cuh"

#if defined(GSOFA_GPU)

namespace gsofa::panels::elimination {

/// A factored diagonal block.
struct diagonal_block {
  mask_t rows[mask_bits];  ///< [r]: columns of row r
  mask_t cols[mask_bits];  ///< its transpose
  reach l;                 ///< by edges k -> i with L(i, k) != 0
  reach u;                 ///< by edges k -> i with U(k, i) != 0
};

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

}  // namespace gsofa::panels::elimination

#endif
