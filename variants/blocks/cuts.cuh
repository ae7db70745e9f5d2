#pragma once

// The blocks of a pattern and their bits: cuts, rows of bits, the entries of A.
// gpu_diagonal_blocks.cu has the encoding.

#include <cstdint>

#include "variants/device/matrix_entries.hpp"
#include "variants/device/runtime.hpp"
#include "variants/device/tile_scan.hpp"

namespace gsofa::gpu::blocks {

inline constexpr unsigned row_words = 64;              // of the largest block
inline constexpr unsigned positions = 32 * row_words;  // one behind the last
inline constexpr unsigned half = positions / 2;  // words of lower positions are a lane's part 0
inline constexpr unsigned count_bits = 11;       // of a row count of L

/// Words of the rows at positions 0 .. p - 1.
constexpr std::uint32_t words_before(unsigned p) {
  const unsigned g = p / 32;
  return 32 * g * (2 * row_words + 1 - g) + 2 * (p % 32) * (row_words - g);
}

/// A block of consecutive rows.
struct block {
  offset_t words;  ///< where the row at position 0 would begin; negative in most blocks
  index_t begin;   ///< its first row
  index_t first;   ///< position of that row; -1: not for a warp
};

/// The blocks first_block .. last_block - 1, and where rows are found among all blocks.
struct blocks_view {
  const block* all;
  const std::uint32_t* cuts;  ///< bit i % 32 of word i / 32: a block begins at row i
  const std::uint32_t* rank;  ///< by word: blocks that begin before its rows
  std::uint32_t* bits;
  std::uint32_t first_block, last_block;

  GSOFA_DEVICE std::uint32_t block_of(index_t row) const {
    const index_t k = row / 32;
    const std::uint32_t begun = simt::load_constant(cuts + k) & ((2U << (row % 32)) - 1U);
    return simt::load_constant(rank + k) + simt::population(begun) - 1;
  }
};

/// First and last columns of the rows of each window of 32, and what a scan makes of them.
struct extents_view {
  const offset_t* row_ptr;
  const index_t* col_idx;
  index_t n;
  index_t windows;
  index_t* last;   ///< then: the last column of the rows of this window and all before
  index_t* first;  ///< then: the first column of the rows of this window and all behind

  GSOFA_DEVICE index_t first_of(index_t i) const { return i < n ? col_idx[row_ptr[i]] : max_index; }
  GSOFA_DEVICE index_t last_of(index_t i) const { return i < n ? col_idx[row_ptr[i + 1] - 1] : -1; }
};

/// Calls visit(window) for all windows, a warp for each.
template <class Visit>
GSOFA_DEVICE void for_each_window(index_t windows, Visit&& visit) {
  const offset_t warps = offset_t{simt::grid_size()} * (simt::block_size() / 32);
  const offset_t warp =
      offset_t{simt::block_index()} * (simt::block_size() / 32) + simt::thread_index() / 32;
  for (offset_t k = warp; k < windows; k += warps) visit(static_cast<index_t>(k));
}

GSOFA_KERNEL void extents_kernel(extents_view e) {
  for_each_window(e.windows, [&](index_t k) {
    const index_t i = k * 32 + static_cast<index_t>(lane_index());
    const std::uint32_t last = simt::max_of_warp(static_cast<std::uint32_t>(e.last_of(i) + 1));
    const std::uint32_t first = ~simt::max_of_warp(~static_cast<std::uint32_t>(e.first_of(i)));
    if (lane_index() == 0) {
      e.last[k] = static_cast<index_t>(last) - 1;
      e.first[k] = static_cast<index_t>(first);
    }
  });
}

/// Scans `last` forwards and `first` backwards, each in its place.
struct extents_scan {
  struct value {
    index_t last, first;
  };
  extents_view e;

  GSOFA_DEVICE static value identity() { return {-1, max_index}; }
  GSOFA_DEVICE static value combine(const value& a, const value& b) {
    return {a.last > b.last ? a.last : b.last, a.first < b.first ? a.first : b.first};
  }
  GSOFA_DEVICE offset_t count() const { return e.windows; }
  GSOFA_DEVICE value item(index_t k) const { return {e.last[k], e.first[e.windows - 1 - k]}; }
  GSOFA_DEVICE void emit(index_t k, const value& v) const {
    e.last[k] = v.last;
    e.first[e.windows - 1 - k] = v.first;
  }
};

/// No entry crosses the place before row c iff all columns of the rows before it are less than c
/// and none of the others is. Of the cuts of a window the first and the last are kept: rows
/// between them are blocks of this window alone, which become one; a block that leaves the window
/// begins at the last one and ends at the first one of a later window.
GSOFA_KERNEL void cuts_kernel(extents_view e, std::uint32_t* cuts) {
  simt::after_earlier_launches();
  for_each_window(e.windows, [&](index_t k) {
    const index_t i = k * 32 + static_cast<index_t>(lane_index());
    index_t last = e.last_of(i);    // of the rows of the window up to i
    index_t first = e.first_of(i);  // of the rows of the window from i on
    for (unsigned step = 1; step < 32; step *= 2) {
      const index_t before = simt::shuffle_up(last, step);
      const index_t behind = simt::shuffle_down(first, step);
      last = before > last ? before : last;
      first = behind < first ? behind : first;
    }
    index_t before = simt::shuffle_up(last, 1);
    if (lane_index() == 0) before = -1;
    const index_t earlier = k > 0 ? e.last[k - 1] : -1;
    const index_t later = k + 1 < e.windows ? e.first[k + 1] : max_index;
    const bool is_cut = i < e.n && before < i && earlier < i && first >= i && later >= i;
    const std::uint32_t all = simt::ballot(is_cut);
    if (lane_index() == 0) {
      cuts[k] = all == 0 ? 0 : (all & (0U - all)) | 1U << simt::highest_bit(std::uint64_t{all});
    }
  });
}

/// Sets the bits of A in the blocks of the view.
GSOFA_KERNEL void entries_kernel(matrix_view a, blocks_view v) {
  simt::after_earlier_launches();
  for_each_entry(a, [&](index_t i, index_t j) {
    if (i == j) return;
    const std::uint32_t number = v.block_of(i);
    if (number < v.first_block || number >= v.last_block) return;
    const block b = v.all[number];
    if (b.first < 0) return;
    const auto low = static_cast<unsigned>((i < j ? i : j) - b.begin + b.first);
    const auto high = static_cast<unsigned>((i < j ? j : i) - b.begin + b.first);
    const unsigned g = low / 32;
    const offset_t word =
        b.words + words_before(low) + (high / 32 - g) + (i < j ? 0 : row_words - g);
    simt::atomic_or(v.bits + word, std::uint32_t{1} << (high % 32));
  });
}

}  // namespace gsofa::gpu::blocks
