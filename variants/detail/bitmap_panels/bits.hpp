#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace gsofa::detail {

/// A set of columns (or rows) of one panel: bit c is column panel_begin + c.
using mask_t = std::uint64_t;
inline constexpr int mask_bits = 64;

/// A 64 x 64 bit matrix: bit j of word i is the entry (i, j).
using bit_matrix = std::array<mask_t, mask_bits>;

constexpr mask_t bit(int c) { return mask_t{1} << c; }
/// Bits 0 .. c-1, for 0 <= c <= 63.
constexpr mask_t below(int c) { return bit(c) - 1; }
/// Bits c+1 .. 63, for 0 <= c <= 63.
constexpr mask_t above(int c) { return ~mask_t{0} << 1 << c; }
inline int lowest(mask_t m) { return std::countr_zero(m); }
inline int highest(mask_t m) { return mask_bits - 1 - std::countl_zero(m); }

namespace bits_impl {
// Exchanges the off-diagonal Block x Block blocks of each 2 Block x 2 Block diagonal block.
template <int Block>
inline void swap_blocks(mask_t* m, mask_t low_halves) {
  for (int base = 0; base < mask_bits; base += 2 * Block) {
    for (int i = base; i < base + Block; ++i) {
      const mask_t t = ((m[i] >> Block) ^ m[i + Block]) & low_halves;
      m[i] ^= t << Block;
      m[i + Block] ^= t;
    }
  }
}
}  // namespace bits_impl

/// m = m^T. Warren, Hacker's Delight (2nd ed.), section 7-3: 6 rounds of block exchanges.
inline void transpose(bit_matrix& m) {
  bits_impl::swap_blocks<32>(m.data(), 0x00000000ffffffffULL);
  bits_impl::swap_blocks<16>(m.data(), 0x0000ffff0000ffffULL);
  bits_impl::swap_blocks<8>(m.data(), 0x00ff00ff00ff00ffULL);
  bits_impl::swap_blocks<4>(m.data(), 0x0f0f0f0f0f0f0f0fULL);
  bits_impl::swap_blocks<2>(m.data(), 0x3333333333333333ULL);
  bits_impl::swap_blocks<1>(m.data(), 0x5555555555555555ULL);
}

/// Rows i in [begin, end) that have bit k take in the bits of `add`: one step of elimination.
inline void or_where(bit_matrix& m, int begin, int end, int k, mask_t add) {
  for (int i = begin; i < end; ++i) {
    auto& row = m[static_cast<std::size_t>(i)];
    row |= (mask_t{0} - (row >> k & 1U)) & add;
  }
}

/// Gaussian elimination without cancellation on the leading w x w block.
inline void eliminate(bit_matrix& m, int w) {
  for (int k = 0; k + 1 < w; ++k) {
    or_where(m, k + 1, w, k, m[static_cast<std::size_t>(k)] & above(k));
  }
}

/// Rows of a graph whose edges ascend (row k has bits > k only) become what each vertex reaches.
/// Descending k: row k is complete when the rows below it in number take it in.
inline void close_ascending(bit_matrix& m, int w) {
  for (int k = w - 1; k > 0; --k) or_where(m, 0, k, k, m[static_cast<std::size_t>(k)]);
}

/// m with all that its members reach; reach[k] holds bits > k only and is closed. A member found
/// in an earlier member's set adds nothing, so that each round takes a source not yet covered.
inline mask_t closure(mask_t m, const bit_matrix& reach) {
  mask_t todo = m;
  while (todo != 0) {
    const mask_t r = reach[static_cast<std::size_t>(lowest(todo))];
    m |= r;
    todo = todo & (todo - 1) & ~r;
  }
  return m;
}

/// Members of m that are in covered_by[i] of no other member i; covered_by[i] holds bits < i only
/// and is closed, so that only uncovered members need be looked at.
inline mask_t uncovered(mask_t m, const bit_matrix& covered_by) {
  mask_t kept = 0;
  while (m != 0) {
    const int i = highest(m);
    kept |= bit(i);
    m &= below(i) & ~covered_by[static_cast<std::size_t>(i)];
  }
  return kept;
}

}  // namespace gsofa::detail
