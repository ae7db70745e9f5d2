#pragma once

/// Work on rows of very different lengths: a group of lanes shares a short row, a block shares a
/// long row.

#include <algorithm>
#include <cstdint>

#include "variants/device/batch_rows.hpp"
#include "variants/device/tile_scan.hpp"

namespace gsofa::gpu {

#if defined(GSOFA_GPU)

inline constexpr unsigned lanes = 8;  ///< per group
// On the emulator small graphs must have long rows and many blocks.
#if defined(__CUDACC__)
inline constexpr int row_threads = 128;
inline constexpr offset_t long_row = 256;
inline constexpr int most_rows_of_group = 16;
#else
inline constexpr int row_threads = 64;
inline constexpr offset_t long_row = 12;
inline constexpr int most_rows_of_group = 2;
#endif
inline constexpr unsigned row_groups = row_threads / lanes;

/// The least value of a warp, in all its lanes.
GSOFA_DEVICE std::uint64_t least_of_warp(std::uint64_t x) {
  for (unsigned step = 16; step > 0; step /= 2) {
    const std::uint64_t other = simt::shuffle_xor(x, step);
    x = other < x ? other : x;
  }
  return x;
}

/// The threads that share a short row. All lanes of the warp call the functions together.
struct lane_group {
  static constexpr bool is_block = false;

  GSOFA_DEVICE static unsigned rank() { return simt::thread_index() % lanes; }
  GSOFA_DEVICE static unsigned size() { return lanes; }
  GSOFA_DEVICE static unsigned index() { return simt::thread_index() / lanes; }

  template <class T, class Combine>
  GSOFA_DEVICE T reduce(T mine, Combine&& combine) {
    for (unsigned step = lanes / 2; step > 0; step /= 2) {
      mine = combine(mine, simt::shuffle_xor(mine, step));
    }
    return mine;
  }
  /// The greatest of the edges, each a `rank` and a vertex `u`, by below().
  template <class Edge>
  GSOFA_DEVICE Edge best(Edge mine) {
    for (unsigned step = lanes / 2; step > 0; step /= 2) {
      const Edge other{simt::shuffle_xor(mine.rank, step), simt::shuffle_xor(mine.u, step)};
      if (mine.below(other)) mine = other;
    }
    return mine;
  }
  GSOFA_DEVICE std::uint32_t vote(bool flag) {
    constexpr std::uint32_t all_lanes = (1U << lanes) - 1;
    return (simt::ballot(flag) >> (lane_index() & ~(lanes - 1))) & all_lanes;
  }
  GSOFA_DEVICE bool all(bool flag) { return vote(!flag) == 0; }
  /// Whether any group of the warp continues.
  GSOFA_DEVICE bool any_group(bool flag) { return simt::ballot(flag) != 0; }
  /// The largest number of steps among the groups of the warp.
  GSOFA_DEVICE offset_t most_steps(offset_t steps) {
    for (unsigned step = 16; step >= lanes; step /= 2) {
      const offset_t other = simt::shuffle_xor(steps, step);
      if (other > steps) steps = other;
    }
    return steps;
  }
  /// The number of earlier threads whose flag is set; adds the number over all threads to `count`.
  GSOFA_DEVICE offset_t place(bool flag, offset_t& count) {
    const std::uint32_t set = vote(flag);
    const offset_t before = count + simt::population(set & ((1U << rank()) - 1));
    count += simt::population(set);
    return before;
  }
};

/// The threads of a block, with one long row.
struct whole_block {
  static constexpr bool is_block = true;
  static constexpr unsigned most_warps = 32;
  struct memory {
    std::uint64_t word[most_warps];
    std::uint64_t other[most_warps];
  };
  memory* shared;

  GSOFA_DEVICE static unsigned rank() { return simt::thread_index(); }
  GSOFA_DEVICE static unsigned size() { return simt::block_size(); }

  template <class T, class Combine>
  GSOFA_DEVICE T reduce(T mine, Combine&& combine) {
    for (unsigned step = 16; step > 0; step /= 2) {
      mine = combine(mine, simt::shuffle_xor(mine, step));
    }
    if (lane_index() == 0) {
      shared->word[simt::thread_index() / 32] = static_cast<std::uint64_t>(mine);
    }
    simt::sync_block();
    for (unsigned w = 0; w < simt::block_size() / 32; ++w) {
      const T other = static_cast<T>(shared->word[w]);
      mine = w == 0 ? other : combine(mine, other);
    }
    simt::sync_block();
    return mine;
  }
  /// The greatest of the edges, each a `rank` and a vertex `u`, by below().
  template <class Edge>
  GSOFA_DEVICE Edge best(Edge mine) {
    for (unsigned step = 16; step > 0; step /= 2) {
      const Edge other{simt::shuffle_xor(mine.rank, step), simt::shuffle_xor(mine.u, step)};
      if (mine.below(other)) mine = other;
    }
    if (lane_index() == 0) {
      shared->word[simt::thread_index() / 32] = mine.rank;
      shared->other[simt::thread_index() / 32] = static_cast<std::uint64_t>(mine.u);
    }
    simt::sync_block();
    for (unsigned w = 0; w < simt::block_size() / 32; ++w) {
      const Edge other{shared->word[w], static_cast<index_t>(shared->other[w])};
      if (mine.below(other)) mine = other;
    }
    simt::sync_block();
    return mine;
  }
  GSOFA_DEVICE bool all(bool flag) { return !simt::sync_block_or(!flag); }
  GSOFA_DEVICE bool any_group(bool flag) { return flag; }
  GSOFA_DEVICE offset_t most_steps(offset_t steps) { return steps; }
  GSOFA_DEVICE offset_t place(bool flag, offset_t& count) {
    const unsigned warp = simt::thread_index() / 32;
    const unsigned set = simt::ballot(flag);
    if (lane_index() == 0) shared->word[warp] = simt::population(set);
    simt::sync_block();
    offset_t before = count + simt::population(set & ((1U << lane_index()) - 1));
    for (unsigned w = 0; w < simt::block_size() / 32; ++w) {
      const auto found = static_cast<offset_t>(shared->word[w]);
      if (w < warp) before += found;
      count += found;
    }
    simt::sync_block();
    return before;
  }
};

/// The rows of the lanes of a warp that have a length of 0 or more, by groups of lanes: op.row() as
/// of for_rows().
template <class Op>
GSOFA_DEVICE void rows_of_lanes(Op& op, index_t first, offset_t length) {
  constexpr unsigned groups = 32 / lanes;
  const unsigned own = lane_group::index() % groups;
  lane_group group;
  simt::sync_warp();  // all lanes have read what op.row() may change
  for (unsigned left = simt::ballot(length >= 0); left != 0;) {
    unsigned of = 32;
    GSOFA_UNROLL for (unsigned g = 0; g < groups; ++g) {
      if (left == 0) continue;
      if (own == g) of = simt::lowest_bit(left);
      left &= left - 1;
    }
    const offset_t its_length = simt::shuffle(length, of % 32);
    const bool is = of < 32;
    op.row(group, is ? first + static_cast<index_t>(of) : -1, is ? its_length : -1);
  }
}

/// Masks of the long rows of each warp of a block.
struct long_rows {
  std::uint32_t mask[whole_block::most_warps];
};

/// What a block needs for rows.
struct row_memory {
  whole_block::memory block;
  long_rows longs;
};

/// Calls op.row(team, k, length) for the rows k of from .. to - 1 whose op.length(k) is not
/// negative: groups of lanes share the rows up to Op::longest, the block each longer row. A group
/// without a row calls op.row() too, with k = -1 and a negative length. Each lane asks for the
/// length of one row, the block once more for that of a long row. Warps take consecutive rows; they
/// wait for each other where a row is long.
template <class Op>
GSOFA_DEVICE void for_rows(Op& op, offset_t from, offset_t to, row_memory* shared) {
  const unsigned warps = simt::block_size() / 32;
  const unsigned warp = simt::thread_index() / 32;
  const offset_t share = (to - from + warps - 1) / warps;
  const offset_t of_warp = share < 32 ? share : 32;
  for (offset_t base = from; base < to; base += of_warp * warps) {
    const offset_t first = base + warp * of_warp;
    const offset_t mine = first + lane_index();
    const bool is = lane_index() < of_warp && mine < to;
    const offset_t length = is ? op.length(static_cast<index_t>(mine)) : -1;
    const bool is_long = length > Op::longest;
    rows_of_lanes(op, static_cast<index_t>(first), is_long ? -1 : length);
    if (!simt::sync_block_or(is_long)) continue;
    const unsigned mask = simt::ballot(is_long);
    if (lane_index() == 0) shared->longs.mask[warp] = mask;
    simt::sync_block();
    whole_block block{&shared->block};
    for (unsigned w = 0; w < warps; ++w) {
      for (unsigned left = shared->longs.mask[w]; left != 0; left &= left - 1) {
        const auto k = static_cast<index_t>(base + w * of_warp + simt::lowest_bit(left));
        const offset_t its_length = op.length(k);
        simt::sync_block();
        op.row(block, k, its_length);
        simt::sync_block();
      }
    }
  }
}

/// for_rows() by all blocks of the grid.
template <class Op>
GSOFA_DEVICE void share_rows(Op& op, offset_t rows, row_memory* shared) {
  const offset_t per_block = (rows - 1) / simt::grid_size() + 1;
  const offset_t from = per_block * simt::block_index();
  for_rows(op, from, from + per_block < rows ? from + per_block : rows, shared);
}

/// Blocks take consecutive rows.
template <class Op>
GSOFA_KERNEL void share_rows_kernel(Op op, offset_t rows, offset_t per_block) {
  simt::after_earlier_launches();
  auto* const shared = simt::shared_memory<row_memory>();
  const offset_t from = per_block * simt::block_index();
  const offset_t to = from + per_block < rows ? from + per_block : rows;
  for_rows(op, from, to, shared);
  op.finish();
}

constexpr offset_t rows_of_block(offset_t rows, int processors) {
  const offset_t blocks = offset_t{processors} * 16;
  const offset_t rounds = (rows - 1) / (blocks * row_groups) + 1;
  return row_groups * std::clamp<offset_t>(rounds, 1, most_rows_of_group);
}

/// A launch of share_rows_kernel, of at least one block; shared_bytes: of memory of the
/// operation.
template <class Op>
void launch_rows(const Op& op, offset_t rows, std::size_t shared_bytes = 0) {
  const offset_t per_block = rows_of_block(std::max<offset_t>(rows, 1), multiprocessors());
  const auto blocks = static_cast<int>(std::max<offset_t>((rows - 1) / per_block + 1, 1));
  launch_overlapping(share_rows_kernel<Op>, blocks, row_threads, sizeof(row_memory) + shared_bytes,
                     op, rows, per_block);
}

/// Working memory of an operation on rows.
template <class T>
GSOFA_DEVICE T* shared_of_rows() {
  return reinterpret_cast<T*>(simt::shared_memory<unsigned char>() + sizeof(row_memory));
}

#endif

}  // namespace gsofa::gpu
