#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "variants/panels/masks.hpp"
#include "variants/support/processors.hpp"

namespace gsofa::panels {

/// Eight words for one operation (GCC and Clang use the vector instructions of the processor).
using mask_vector = mask_t __attribute__((vector_size(64)));

/// Two words for one operation.
using mask_couple = mask_t __attribute__((vector_size(16)));

/// A 64 x 64 bit matrix: bit j of word i is the entry (i, j).
union bit_matrix {
  std::array<mask_t, mask_bits> rows;
  std::array<mask_vector, mask_bits / 8> vectors;  ///< rows 8q .. 8q+7

  mask_t& operator[](int i) { return rows[static_cast<std::size_t>(i)]; }
  const mask_t& operator[](int i) const { return rows[static_cast<std::size_t>(i)]; }
};

/// Bits 0 .. c-1, for 1 <= c <= 64.
constexpr mask_t first_bits(int c) { return ~mask_t{0} >> (mask_bits - c); }
inline int lowest(mask_t m) { return std::countr_zero(m); }
inline int highest(mask_t m) { return mask_bits - 1 - std::countl_zero(m); }
/// The number of members of m. If the target processor may lack an instruction for it,
/// std::popcount is a call; compilers recognise and inline this form.
inline int count(mask_t m) {
#if defined(__POPCNT__) || !defined(__x86_64__)
  return std::popcount(m);
#else
  // Warren, Hacker's Delight (2nd ed.), section 5-1.
  m -= m >> 1 & 0x5555555555555555ULL;
  m = (m & 0x3333333333333333ULL) + (m >> 2 & 0x3333333333333333ULL);
  m = (m + (m >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
  return static_cast<int>(m * 0x0101010101010101ULL >> 56);
#endif
}

namespace bits_impl {
inline mask_vector all(mask_t m) { return mask_vector{m, m, m, m, m, m, m, m}; }
inline mask_vector& vector(bit_matrix& m, int q) { return m.vectors[static_cast<std::size_t>(q)]; }
// Lanes > k, as a mask.
inline mask_vector lanes_above(int k) {
  constexpr mask_vector lane{0, 1, 2, 3, 4, 5, 6, 7};
  return reinterpret_cast<mask_vector>(lane > all(static_cast<mask_t>(k)));
}
// ORs `add` into the rows that have bit k.
inline mask_vector join_where(mask_vector rows, int k, mask_vector add) {
#if defined(__AVX512F__)
  return (rows & all(bit(k))) != 0 ? rows | add : rows;
#else
  // 5 instructions without a bit test, which older processors lack or execute slowly.
  return rows | (add & -((rows >> k) & all(1)));
#endif
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

/// Transposes the leading w x w block of m entry by entry; fast if there are few. Before: nothing
/// else of m is set.
inline void transpose_entries(bit_matrix& m, int w) {
  const bit_matrix old = m;
  for (int k = 0; k < w; ++k) m[k] = 0;
  for (int k = 0; k < w; ++k) {
    for (mask_t row = old[k]; row != 0; row &= row - 1) m[lowest(row)] |= bit(k);
  }
}

/// Gaussian elimination without cancellation on the leading w x w block. Step k ORs the bits > k of
/// row k into the rows i > k that have bit k.
inline void eliminate(bit_matrix& m, int w) {
  using namespace bits_impl;
  const int blocks = (w + 7) / 8;
  mask_t row = m[0];
  for (int k = 0; k + 1 < w; ++k) {
    // Row k + 1 separately: the next step need not wait for the vector that holds it.
    const mask_t next = m[k + 1];
    const mask_t source = row & above(k);
    row = next | ((next >> k & 1U) != 0 ? source : 0);
    const mask_vector add = all(source);
    mask_vector& own = vector(m, k / 8);
    own = join_where(own, k, add & lanes_above(k % 8));
    for (int q = k / 8 + 1; q < blocks; ++q) vector(m, q) = join_where(vector(m, q), k, add);
  }
}

/// m and all that its members reach. Before: reach[k] holds bits > k only and is transitively
/// closed. A member that an earlier member reaches adds nothing, so each round takes a source that
/// is not covered yet.
inline mask_t closure(mask_t m, const bit_matrix& reach) {
  // Usually the first source covers all. Whether m is empty is hard to predict: no branch.
  const mask_t first = reach[lowest(m) & (mask_bits - 1)] & (mask_t{0} - mask_t{m != 0});
  mask_t todo = m & (m - 1) & ~first;
  m |= first;
  while (todo != 0) {
    const mask_t r = reach[lowest(todo)];
    m |= r;
    todo = todo & (todo - 1) & ~r;
  }
  return m;
}

/// Replaces the edges of an ascending graph (row k has bits > k and < w only) by what each vertex
/// reaches. Descending k: the rows after k are complete.
inline void close_ascending(bit_matrix& m, int w) {
  for (int k = w - 2; k >= 0; --k) m[k] = closure(m[k], m);
}

/// m and all that its members reach by edges; next[k] holds the bits > k that k has an edge to and
/// need not be transitively closed. Visits every member, ascending.
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

/// Counts for each bit the words that have it. Plane p holds binary digit p of all 64 counts;
/// adding a word is a binary addition with carries.
class bit_counter {
 public:
  /// For at most `words` words.
  explicit bit_counter(std::size_t words)
      : used_(static_cast<std::size_t>(std::bit_width(words))) {}
  void add(mask_t word) { carry(word, 0); }
  /// Eight words by full adders, in about 5 operations each.
  void add(const std::array<mask_t, 8>& x) {
    mask_t& ones = planes_[0];
    const mask_t a = sum(ones, x[0], x[1]);
    const mask_t b = sum(ones, x[2], x[3]);
    const mask_t c = sum(ones, x[4], x[5]);
    const mask_t d = sum(ones, x[6], x[7]);
    mask_t& twos = planes_[1];
    const mask_t e = sum(twos, a, b);
    const mask_t f = sum(twos, c, d);
    carry(sum(planes_[2], e, f), 3);
  }
  /// Row c < w: the count of bit c.
  [[nodiscard]] bit_matrix counts(int w = mask_bits) const {
    bit_matrix m{};
    if (w <= 8) {
      for (std::size_t p = 0; p < used_; ++p) {
        for (int c = 0; c < w; ++c) m[c] += (planes_[p] >> c & 1U) << p;
      }
      return m;
    }
    for (std::size_t p = 0; p < planes_.size(); ++p) m.rows[p] = planes_[p];
    transpose(m);
    return m;
  }

 private:
  // low = the sum bits of low + a + b; returns the carries.
  static mask_t sum(mask_t& low, mask_t a, mask_t b) {
    const mask_t both = low ^ a;
    const mask_t over = (low & a) | (both & b);
    low = both ^ b;
    return over;
  }
  // Adds to all planes: the end of a carry is hard to predict.
  void carry(mask_t word, std::size_t plane) {
    for (; plane < used_; ++plane) {
      const mask_t over = planes_[plane] & word;
      planes_[plane] ^= word;
      word = over;
    }
  }

  std::size_t used_;
  std::array<mask_t, 32> planes_{};
};

}  // namespace gsofa::panels
