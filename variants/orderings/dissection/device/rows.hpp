#pragma once

// Helpers that the steps of nested dissection share in addition to the work on rows.

#include <cstdint>

#include "variants/device/row_teams.hpp"
#include "variants/orderings/dissection/device/graphs.hpp"

#if defined(GSOFA_GPU)

namespace gsofa::orders::device {

inline constexpr index_t none = -1;
/// Of a hash table.
inline constexpr std::uint32_t empty_slot = 0xffffffffU;

/// A symmetric pattern: sorted rows, without diagonal.
struct pattern_rows {
  index_t n;
  const offset_t* row_ptr;
  const index_t* col_idx;

  GSOFA_DEVICE offset_t degree(index_t v) const { return row_ptr[v + 1] - row_ptr[v]; }
  GSOFA_DEVICE bool has(index_t v, index_t u) const {
    offset_t low = row_ptr[v];
    for (offset_t high = row_ptr[v + 1]; low < high;) {
      const offset_t middle = low + (high - low) / 2;
      if (col_idx[middle] == u) return true;
      if (col_idx[middle] < u) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return false;
  }
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
