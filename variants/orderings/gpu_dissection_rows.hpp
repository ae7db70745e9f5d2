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
