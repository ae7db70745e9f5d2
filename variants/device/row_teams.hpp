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

/// Calls op.row(team, k, length) for each k of from .. to - 1: a group of lanes shares a row of
/// length at most Op::longest, the block shares a longer row. op.length(k) is the length of the
/// row, or negative if there is nothing to do. A group without a row also calls op.row(), with the
/// negative length, or with k = -1 after the last row.
template <class Op>
GSOFA_DEVICE void for_rows(Op& op, offset_t from, offset_t to, whole_block::memory* shared) {
  const unsigned groups = simt::block_size() / lanes;
  for (offset_t base = from; base < to; base += groups) {
    const offset_t mine = base + lane_group::index();
    const index_t k = mine < to ? static_cast<index_t>(mine) : -1;
    const offset_t length = k == -1 ? -1 : op.length(k);
    const bool is_long = length > Op::longest;
    lane_group group;
    op.row(group, is_long ? -1 : k, is_long ? -1 : length);
    if (!simt::sync_block_or(is_long)) continue;
    whole_block block{shared};
    for (unsigned g = 0; g < groups && base + g < to; ++g) {
      const auto other = static_cast<index_t>(base + g);
      const offset_t its_length = op.length(other);
      simt::sync_block();
      if (its_length <= Op::longest) continue;
      op.row(block, other, its_length);
      simt::sync_block();
    }
  }
}

/// Blocks take consecutive rows.
template <class Op>
GSOFA_KERNEL void share_rows_kernel(Op op, offset_t rows, offset_t per_block) {
  simt::after_earlier_launches();
  auto* const shared = simt::shared_memory<whole_block::memory>();
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

/// Launches share_rows_kernel with at least one block; shared_bytes: shared memory in addition to
/// that of whole_block.
template <class Op>
void launch_rows(const Op& op, offset_t rows, std::size_t shared_bytes = 0) {
  const offset_t per_block = rows_of_block(std::max<offset_t>(rows, 1), multiprocessors());
  const auto blocks = static_cast<int>(std::max<offset_t>((rows - 1) / per_block + 1, 1));
  launch_overlapping(share_rows_kernel<Op>, blocks, row_threads,
                     sizeof(whole_block::memory) + shared_bytes, op, rows, per_block);
}

/// Working memory of an operation on rows.
template <class T>
GSOFA_DEVICE T* shared_of_rows() {
  return reinterpret_cast<T*>(simt::shared_memory<unsigned char>() + sizeof(whole_block::memory));
}

#endif

}  // namespace gsofa::gpu
