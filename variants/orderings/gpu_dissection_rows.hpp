#pragma once

// What the steps of nested dissection share beside the work on rows.

#include <cstdint>

#include "variants/device/row_teams.hpp"
#include "variants/orderings/gpu_dissection_graphs.hpp"

#if defined(GSOFA_GPU)

namespace gsofa::orders::device {

inline constexpr index_t none = -1;
/// Of a hash table.
inline constexpr std::uint32_t empty_slot = 0xffffffffU;

/// Copies what the host has written, word by word, and sets other words to 0.
GSOFA_KERNEL void copy_words_kernel(const std::uint64_t* from, std::uint64_t* to, offset_t words,
                                    offset_t* zeros, offset_t zeros_count) {
  simt::after_earlier_launches();
  const auto step = offset_t{simt::grid_size()} * simt::block_size();
  const auto thread = offset_t{simt::block_index()} * simt::block_size() + simt::thread_index();
  for (offset_t k = thread; k < words; k += step) to[k] = from[k];
  for (offset_t k = thread; k < zeros_count; k += step) zeros[k] = 0;
}

/// Copies `count` elements that a host thread has in page-locked memory to the device, without the
/// copy engine, for which launches would wait.
template <class T>
void upload_words(T* device, const pinned_vector<T>& host, offset_t count,
                  offset_t* zeros = nullptr, offset_t zeros_count = 0) {
  static_assert(sizeof(T) % sizeof(std::uint64_t) == 0);
  const offset_t words = count * static_cast<offset_t>(sizeof(T) / sizeof(std::uint64_t));
  launch_overlapping(copy_words_kernel, blocks_for(std::max<offset_t>(1, words + zeros_count)),
                     threads_per_block, 0, reinterpret_cast<const std::uint64_t*>(host.data()),
                     reinterpret_cast<std::uint64_t*>(device), words, zeros, zeros_count);
}

GSOFA_KERNEL void note_kernel(std::uint32_t* note, std::uint32_t stamp) {
  simt::after_earlier_launches();
  if (simt::thread_index() == 0) simt::store_to_host(note, stamp);
}

/// Waits for launches of this host thread, which may have written to page-locked memory.
class device_note {
 public:
  void wait() {
    launch_overlapping(note_kernel, 1, 32, 0, word(), next());
    wait_for();
  }
  /// The word and the value that a kernel stores before wait_for().
  std::uint32_t* word() { return word_.data(); }
  std::uint32_t next() { return ++stamp_; }
  void wait_for() { wait_for_note(word_.data(), stamp_); }

 private:
  pinned_vector<std::uint32_t> word_ = pinned_vector<std::uint32_t>(1, 0);
  std::uint32_t stamp_ = 0;
};

/// An edge by its rank, as seen from the vertex at its one end; u is the other.
struct best_edge {
  std::uint64_t rank;
  index_t u;

  GSOFA_DEVICE bool below(const best_edge& o) const {
    return rank != o.rank ? rank < o.rank : u < o.u;
  }
};

/// The rows of the lanes of a warp that have a length of 0 or more, by groups of lanes. Calls
/// op.row() as for_rows() does; a group without a row gets k = none.
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
    op.row(group, is ? first + static_cast<index_t>(of) : none, is ? its_length : -1);
  }
}

/// Masks of the long rows of each warp of a block.
struct long_rows {
  std::uint32_t mask[whole_block::most_warps];
};

/// As for_rows() of row_teams.hpp for operations that leave many rows out: each lane asks for the
/// length of one row, once, and op.row() is called for rows of length 0 or more alone. Warps take
/// consecutive rows; they wait for each other where a row is long.
template <class Op>
GSOFA_DEVICE void for_some_rows(Op& op, offset_t from, offset_t to, whole_block::memory* shared,
                                long_rows* longs) {
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
    if (lane_index() == 0) longs->mask[warp] = mask;
    simt::sync_block();
    whole_block block{shared};
    for (unsigned w = 0; w < warps; ++w) {
      for (unsigned left = longs->mask[w]; left != 0; left &= left - 1) {
        const auto k = static_cast<index_t>(base + w * of_warp + simt::lowest_bit(left));
        const offset_t its_length = op.length(k);
        simt::sync_block();
        op.row(block, k, its_length);
        simt::sync_block();
      }
    }
  }
}

/// Memory of a launch of share_some_rows_kernel before that of the operation.
struct some_rows_memory {
  whole_block::memory block;
  long_rows longs;
};

/// Blocks take consecutive rows.
template <class Op>
GSOFA_KERNEL void share_some_rows_kernel(Op op, offset_t rows, offset_t per_block) {
  simt::after_earlier_launches();
  auto* const shared = simt::shared_memory<some_rows_memory>();
  const offset_t from = per_block * simt::block_index();
  const offset_t to = from + per_block < rows ? from + per_block : rows;
  for_some_rows(op, from, to, &shared->block, &shared->longs);
  op.finish();
}

/// As launch_rows(), by for_some_rows().
template <class Op>
void launch_some_rows(const Op& op, offset_t rows, std::size_t shared_bytes = 0) {
  const offset_t per_block = rows_of_block(std::max<offset_t>(rows, 1), multiprocessors());
  const auto blocks = static_cast<int>(std::max<offset_t>((rows - 1) / per_block + 1, 1));
  launch_overlapping(share_some_rows_kernel<Op>, blocks, row_threads,
                     sizeof(some_rows_memory) + shared_bytes, op, rows, per_block);
}

/// Memory of an operation in share_some_rows_kernel.
template <class T>
GSOFA_DEVICE T* shared_of_some_rows() {
  return reinterpret_cast<T*>(simt::shared_memory<unsigned char>() + sizeof(some_rows_memory));
}

/// Sums of row lengths by graph, of the consecutive rows of a block.
struct entry_sum {
  struct memory {
    index_t graph[row_groups];
    std::uint64_t sum[row_groups];
  };
  index_t graph = none;
  std::uint64_t sum = 0;

  GSOFA_DEVICE void add(offset_t* entries, index_t to, offset_t length) {
    if (to != graph) flush(entries);
    graph = to;
    sum += static_cast<std::uint64_t>(length);
  }
  GSOFA_DEVICE void flush(offset_t* entries) {
    if (sum != 0) simt::atomic_add(reinterpret_cast<std::uint64_t*>(entries + graph), sum);
    sum = 0;
  }
  /// Adds the sums of the first threads of all groups; the whole block calls it.
  GSOFA_DEVICE void finish(offset_t* entries, memory* shared) {
    simt::sync_block();
    if (lane_group::rank() == 0) {
      shared->graph[lane_group::index()] = graph;
      shared->sum[lane_group::index()] = sum;
    }
    simt::sync_block();
    const unsigned own = simt::thread_index();
    if (own < row_groups && shared->sum[own] != 0) {
      bool first = true;
      std::uint64_t all = 0;
      for (unsigned g = 0; g < row_groups; ++g) {
        if (shared->graph[g] != shared->graph[own] || shared->sum[g] == 0) continue;
        if (g < own) first = false;
        all += shared->sum[g];
      }
      if (first) {
        simt::atomic_add(reinterpret_cast<std::uint64_t*>(entries + shared->graph[own]), all);
      }
    }
  }
};

}  // namespace gsofa::orders::device

#endif
