#pragma once

/// All entries of a pattern in compressed rows, one lane per entry, for any row lengths.

#include <algorithm>

#include "variants/device/batch_rows.hpp"
#include "variants/device/tile_scan.hpp"

namespace gsofa::gpu {

#if defined(GSOFA_GPU)

struct matrix_view {
  const offset_t* row_ptr;
  const index_t* col_idx;
  index_t n;
  offset_t nnz;
  int per_thread;  ///< entries per thread at a time
};

/// The largest row in [low, high] that begins at or before entry e.
GSOFA_DEVICE index_t row_of(const offset_t* row_ptr, offset_t e, index_t low, index_t high) {
  while (low < high) {
    const index_t middle = high - (high - low) / 2;
    if (simt::load_constant(row_ptr + middle) <= e) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

/// The largest row that begins at or before entry e, found by one warp, which compares 32 rows per
/// step.
GSOFA_DEVICE index_t row_by_warp(const offset_t* row_ptr, offset_t e, index_t n) {
  const auto lane = static_cast<offset_t>(lane_index());
  offset_t low = 0;
  for (offset_t count = n; count > 1;) {
    const offset_t step = (count - 1) / 32 + 1;
    const bool begun = lane * step < count && simt::load_constant(row_ptr + low + lane * step) <= e;
    // Row 0 begins at entry 0.
    const offset_t passed = (simt::population(simt::ballot(begun)) - 1) * step;
    low += passed;
    count = step < count - passed ? step : count - passed;
  }
  return static_cast<index_t>(low);
}

// On the emulator small patterns must have more rows than fit.
#if defined(__CUDACC__)
inline constexpr index_t most_rows = 254;
#else
inline constexpr index_t most_rows = 6;
#endif

/// Shared memory of for_each_place().
struct alignas(16) row_window {
  static constexpr index_t most = most_rows;
  index_t rows[2];                     ///< of the first and the last entry of a chunk
  std::uint32_t entries_before[most];  ///< [k]: entries of the chunk before row k + 1 of its rows

  /// Row of the k-th entry of the chunk.
  GSOFA_DEVICE index_t row(std::uint32_t k) const {
    index_t low = 0;
    for (index_t high = rows[1] - rows[0]; low < high;) {
      const index_t middle = high - (high - low) / 2;
      if (entries_before[middle - 1] <= k) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return rows[0] + low;
  }
};

/// Calls visit(is_entry, e, i, j) for the entries e = (i, j) of A, one lane per entry, for any row
/// lengths. Complete warps take consecutive entries; in the last warps, lanes without an entry call
/// visit with is_entry = false. After every chunk of entries all threads of the block call finish()
/// after a barrier. Needs a row_window in shared memory.
template <class Visit, class Finish>
GSOFA_DEVICE void for_each_place(const matrix_view& a, Visit&& visit, Finish&& finish) {
  row_window& window = *simt::shared_memory<row_window>();
  const auto threads = static_cast<offset_t>(simt::block_size());
  const auto thread = static_cast<offset_t>(simt::thread_index());
  const offset_t warp = thread / 32;
  const offset_t chunk = threads * a.per_thread;
  for (offset_t first = simt::block_index() * chunk; first < a.nnz;
       first += simt::grid_size() * chunk) {
    const offset_t end = first + chunk < a.nnz ? first + chunk : a.nnz;
    for (offset_t side = warp; side < 2; side += threads / 32) {
      const index_t row = row_by_warp(a.row_ptr, side == 0 ? first : end - 1, a.n);
      if (lane_index() == 0) window.rows[side] = row;
    }
    simt::sync_block();
    const index_t rows = window.rows[1] - window.rows[0];
    const bool fits = rows <= row_window::most;
    if (fits) {
      for (auto k = static_cast<index_t>(thread); k < rows; k += static_cast<index_t>(threads)) {
        const offset_t before = simt::load_constant(a.row_ptr + window.rows[0] + 1 + k) - first;
        window.entries_before[k] = static_cast<std::uint32_t>(before);
      }
      simt::sync_block();
    }
    for (offset_t base = first; base < end; base += threads) {
      const offset_t e = base + thread;
      const bool is_entry = e < end;
      index_t row = 0;
      if (is_entry) {
        row = fits ? window.row(static_cast<std::uint32_t>(e - first))
                   : row_of(a.row_ptr, e, window.rows[0], window.rows[1]);
      }
      visit(is_entry, e, row, is_entry ? a.col_idx[e] : 0);
    }
    simt::sync_block();
    finish();
  }
}

/// As above, for visit(is_entry, i, j).
template <class Visit, class Finish>
GSOFA_DEVICE void for_each_lane(const matrix_view& a, Visit&& visit, Finish&& finish) {
  for_each_place(
      a, [&](bool is_entry, offset_t, index_t i, index_t j) { visit(is_entry, i, j); }, finish);
}

template <class Visit>
GSOFA_DEVICE void for_each_lane(const matrix_view& a, Visit&& visit) {
  for_each_lane(a, visit, [] {});
}

/// Calls visit(i, j) for all entries of A.
template <class Visit>
GSOFA_DEVICE void for_each_entry(const matrix_view& a, Visit&& visit) {
  for_each_lane(a, [&](bool is_entry, index_t i, index_t j) {
    if (is_entry) visit(i, j);
  });
}

inline matrix_view entries_of(const offset_t* row_ptr, const index_t* col_idx, index_t n,
                              offset_t nnz) {
  // Enough threads to fill the device, then more entries per thread.
  const offset_t threads = offset_t{multiprocessors()} * 16 * threads_per_block;
  return {row_ptr, col_idx, n, nnz, static_cast<int>(std::clamp<offset_t>(nnz / threads, 1, 8))};
}

template <class... P, class... A>
void launch_on_entries(void (*kernel)(matrix_view, P...), const matrix_view& a, A... arguments) {
  launch_overlapping(kernel, blocks_for((a.nnz - 1) / a.per_thread + 1), threads_per_block,
                     sizeof(row_window), a, arguments...);
}

#endif

}  // namespace gsofa::gpu
