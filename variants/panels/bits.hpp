#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace gsofa::detail {

/// A set of columns (or rows) of one panel: bit c is column panel_begin + c.
using mask_t = std::uint64_t;
inline constexpr int mask_bits = 64;

/// Eight words that are worked on together (GCC and Clang lower it to what the processor has).
using mask_vector = mask_t __attribute__((vector_size(64)));

/// A 64 x 64 bit matrix: bit j of word i is the entry (i, j).
union bit_matrix {
  std::array<mask_t, mask_bits> rows;
  std::array<mask_vector, mask_bits / 8> vectors;  ///< rows 8q .. 8q+7

  mask_t& operator[](int i) { return rows[static_cast<std::size_t>(i)]; }
  const mask_t& operator[](int i) const { return rows[static_cast<std::size_t>(i)]; }
};

constexpr mask_t bit(int c) { return mask_t{1} << c; }
/// Bits 0 .. c-1, for 0 <= c <= 63.
constexpr mask_t below(int c) { return bit(c) - 1; }
/// Bits c+1 .. 63, for 0 <= c <= 63.
constexpr mask_t above(int c) { return ~mask_t{0} << 1 << c; }
inline int lowest(mask_t m) { return std::countr_zero(m); }
inline int highest(mask_t m) { return mask_bits - 1 - std::countl_zero(m); }

namespace bits_impl {
inline mask_vector all(mask_t m) { return mask_vector{m, m, m, m, m, m, m, m}; }
inline mask_vector& vector(bit_matrix& m, int q) { return m.vectors[static_cast<std::size_t>(q)]; }
// Lanes > k, as a mask.
inline mask_vector lanes_above(int k) {
  constexpr mask_vector lane{0, 1, 2, 3, 4, 5, 6, 7};
  return reinterpret_cast<mask_vector>(lane > all(static_cast<mask_t>(k)));
}
// Rows that have bit k take in `add`.
inline mask_vector join_where(mask_vector rows, int k, mask_vector add) {
  return (rows & all(bit(k))) != 0 ? rows | add : rows;
}

// Exchanges the upper right and lower left Rows x Rows blocks of 2 Rows x 2 Rows diagonal blocks;
// `low` has the lower half of every 2 Rows bits. Rows >= 8: between vectors.
template <int Rows>
inline void swap_blocks(bit_matrix& m, mask_t low) {
  for (int base = 0; base < 8; base += Rows / 4) {
    for (int q = base; q < base + Rows / 8; ++q) {
      mask_vector& above_half = vector(m, q);
      mask_vector& below_half = vector(m, q + Rows / 8);
      const mask_vector t = ((above_half >> Rows) ^ below_half) & all(low);
      above_half ^= t << Rows;
      below_half ^= t;
    }
  }
}
// The same for Rows < 8, inside each vector; `partner` exchanges lanes that differ by Rows.
template <int Rows, int... Partner>
inline void swap_lanes(bit_matrix& m, mask_t low) {
  constexpr mask_vector lane{0, 1, 2, 3, 4, 5, 6, 7};
  const mask_vector in_upper = reinterpret_cast<mask_vector>((lane & Rows) == 0);
  for (mask_vector& v : m.vectors) {
    const mask_vector other = __builtin_shufflevector(v, v, Partner...);
    const mask_vector upper = (v & all(low)) | ((other & all(low)) << Rows);
    const mask_vector lower = (v & all(~low)) | ((other & all(~low)) >> Rows);
    v = (upper & in_upper) | (lower & ~in_upper);
  }
}
}  // namespace bits_impl

/// m = m^T. Warren, Hacker's Delight (2nd ed.), section 7-3: 6 rounds of block exchanges.
inline void transpose(bit_matrix& m) {
  using namespace bits_impl;
  swap_blocks<32>(m, 0x00000000ffffffffULL);
  swap_blocks<16>(m, 0x0000ffff0000ffffULL);
  swap_blocks<8>(m, 0x00ff00ff00ff00ffULL);
  swap_lanes<4, 4, 5, 6, 7, 0, 1, 2, 3>(m, 0x0f0f0f0f0f0f0f0fULL);
  swap_lanes<2, 2, 3, 0, 1, 6, 7, 4, 5>(m, 0x3333333333333333ULL);
  swap_lanes<1, 1, 0, 3, 2, 5, 4, 7, 6>(m, 0x5555555555555555ULL);
}

/// Gaussian elimination without cancellation on the leading w x w block. Step k: rows i > k with
/// bit k take in the bits > k of row k.
inline void eliminate(bit_matrix& m, int w) {
  using namespace bits_impl;
  const int blocks = (w + 7) / 8;
  for (int k = 0; k + 1 < w; ++k) {
    const mask_vector add = all(m[k] & above(k));
    mask_vector& own = vector(m, k / 8);
    own = join_where(own, k, add & lanes_above(k % 8));
    for (int q = k / 8 + 1; q < blocks; ++q) vector(m, q) = join_where(vector(m, q), k, add);
  }
}

/// Rows of a graph whose edges ascend (row k has bits > k only, and < w) become what each vertex
/// reaches. Descending k: row k is complete when the rows before it take it in.
inline void close_ascending(bit_matrix& m, int w) {
  using namespace bits_impl;
  for (int k = w - 1; k > 0; --k) {
    if (m[k] == 0) continue;
    const mask_vector add = all(m[k]);
    // only rows < k have bit k
    for (int q = 0; q <= k / 8; ++q) vector(m, q) = join_where(vector(m, q), k, add);
  }
}

/// m with all that its members reach; reach[k] holds bits > k only and is transitively closed. A
/// member found in an earlier member's set adds nothing, so that each round takes a source not yet
/// covered.
inline mask_t closure(mask_t m, const bit_matrix& reach) {
  mask_t todo = m;
  while (todo != 0) {
    const mask_t r = reach[lowest(todo)];
    m |= r;
    todo = todo & (todo - 1) & ~r;
  }
  return m;
}

/// The same from edges that are not transitively closed: next[k] holds the bits > k that k has an
/// edge to. Looks at every member, ascending.
inline mask_t closure_by_edges(mask_t m, const bit_matrix& next) {
  for (mask_t todo = m; todo != 0;) {
    const int k = lowest(todo);
    m |= next[k];
    todo = m & above(k);
  }
  return m;
}

/// Members of `candidates`, a subset of m, from which `reach` (transitively closed or only edges)
/// leads to no member of m.
inline mask_t uncovered(mask_t candidates, mask_t m, const bit_matrix& reach) {
  mask_t kept = 0;
  for (; candidates != 0; candidates &= candidates - 1) {
    const int j = lowest(candidates);
    if ((reach[j] & m) == 0) kept |= bit(j);
  }
  return kept;
}

}  // namespace gsofa::detail
