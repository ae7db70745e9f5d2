// Counts, digests and T3 supernodes of rows, read off the masks.

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include <algorithm>

#include "variants/device/tile_scan.hpp"
#include "variants/panels/device_tuning.hpp"
#include "variants/panels/stages_device.hpp"

namespace gsofa::panels {

namespace {

/// Counts rows, and sums up their digests if that array is not null. A block takes a panel, a warp
/// 64 positions at a time: transposed, the masks of U are a word per row of the panel.
GSOFA_KERNEL void count_kernel(panel_view p, panel_range wave, std::uint32_t* l_counts,
                               std::uint32_t* u_counts, unsigned long long* digests) {
  simt::after_earlier_launches();
  const auto lane = static_cast<index_t>(lane_index());
  const auto warp = static_cast<index_t>(simt::thread_index() / 32);
  const auto stride = static_cast<index_t>(simt::block_size()) * 2;
  for (unsigned panel = simt::block_index(); panel < static_cast<unsigned>(wave.end - wave.begin);
       panel += simt::grid_size()) {
    const index_t j = wave.begin + static_cast<index_t>(panel);
    const index_t begin = p.begin[j];
    const index_t w = p.width(j);
    const index_t length = p.length(j);
    const offset_t first = p.position_begin[j];
    // Counts and digests of the rows lane and lane + 32 of the panel.
    std::uint32_t u[2] = {0, 0};
    unsigned long long digest[2] = {0, 0};
    for (index_t tile = warp * 64; tile < length; tile += stride) {
      row_pair by_row[1] = {{0, 0}};
      for (index_t half = 0; half < 2; ++half) {
        const index_t z = tile + half * 32 + lane;
        if (z >= length) continue;
        const mask_pair m = p.masks[first + z];
        (half == 0 ? by_row[0].low : by_row[0].high) = m.upper;
        if (m.lower == 0) continue;
        const index_t target = p.caller(p.columns[first + z]);
        simt::atomic_add(l_counts + target, static_cast<std::uint32_t>(simt::population(m.lower)));
        if (digests == nullptr) continue;
        unsigned long long sum = 0;
        for (mask_t bits = m.lower; bits != 0; bits &= bits - 1) {
          sum += entry_hash(target, p.caller(begin + static_cast<index_t>(simt::lowest_bit(bits))));
        }
        simt::atomic_add(digests + target, sum);
      }
      transpose(by_row);
      for (index_t half = 0; half < 2; ++half) {
        const index_t row = half * 32 + lane;
        mask_t mine = half == 0 ? by_row[0].low : by_row[0].high;
        u[half] += static_cast<std::uint32_t>(simt::population(mine));
        if (digests == nullptr || mine == 0) continue;
        const index_t source = p.caller(begin + row);
        for (; mine != 0; mine &= mine - 1) {
          const index_t z = tile + static_cast<index_t>(simt::lowest_bit(mine));
          digest[half] += entry_hash(source, p.caller(p.columns[first + z]));
        }
      }
    }
    for (index_t half = 0; half < 2; ++half) {
      const index_t row = half * 32 + lane;
      if (row >= w) continue;
      const index_t source = p.caller(begin + row);
      if (warp == 0) {
        // The diagonal.
        ++u[half];
        if (digests != nullptr) digest[half] += entry_hash(source, source);
      }
      if (u[half] != 0) simt::atomic_add(u_counts + source, u[half]);
      if (digest[half] != 0) simt::atomic_add(digests + source, digest[half]);
    }
  }
}

/// The row behind the chunk of a row.
GSOFA_DEVICE index_t end_of_chunk(index_t row, index_t chunk, index_t n) {
  if (chunk == 0) return n;
  const offset_t end = (offset_t{row} / chunk + 1) * chunk;
  return end < n ? static_cast<index_t>(end) : n;
}

/// Sets the last rows of the runs in the columns of panels that were not relabelled, as far as the
/// chunk of the panel's last column. A warp takes a panel, 32 positions at a time.
GSOFA_KERNEL void column_runs_kernel(panel_view p, panel_range wave, index_t n, index_t chunk,
                                     index_t* last) {
  simt::after_earlier_launches();
  const auto lane = static_cast<index_t>(lane_index());
  const unsigned warps = simt::block_size() / 32;
  for (unsigned panel = simt::block_index() * warps + simt::thread_index() / 32;
       panel < static_cast<unsigned>(wave.end - wave.begin); panel += simt::grid_size() * warps) {
    const index_t j = wave.begin + static_cast<index_t>(panel);
    const index_t begin = p.begin[j];
    const index_t w = p.width(j);
    const offset_t first = p.position_begin[j];
    const index_t rows = end_of_chunk(begin + w - 1, chunk, n) - begin;
    const index_t length = p.length(j) < rows ? p.length(j) : rows;
    mask_t running = w < mask_bits ? below(w) : ~mask_t{0};
    for (index_t base = 0; running != 0; base += 32) {
      const index_t z = base + lane;
      // The columns whose runs may go on at row begin + z, or have not begun.
      mask_t on = 0;
      if (z < length && p.columns[first + z] == begin + z) {
        on = p.masks[first + z].lower | (z < w ? ~below(z) : mask_t{0});
      }
      for (unsigned step = 1; step < 32; step *= 2) {
        const mask_t before = simt::shuffle_up(on, step);
        if (lane >= static_cast<index_t>(step)) on &= before;
      }
      const mask_t before = simt::shuffle_up(on, 1);
      for (mask_t ended = running & (lane == 0 ? ~mask_t{0} : before) & ~on; ended != 0;
           ended &= ended - 1) {
        last[begin + static_cast<index_t>(simt::lowest_bit(ended))] = begin + z - 1;
      }
      running &= simt::shuffle(on, 31);
    }
  }
}

/// The same in the caller's numbering, where vertices were relabelled: a thread takes a column.
/// Both ends of an entry are in the same order in either numbering.
GSOFA_KERNEL void relabelled_runs_kernel(panel_view p, panel_range wave, index_t n, index_t chunk,
                                         index_t* last) {
  simt::after_earlier_launches();
  for (offset_t k = p.begin[wave.begin] + offset_t{simt::block_index()} * simt::block_size() +
                    simt::thread_index();
       k < p.begin[wave.end]; k += offset_t{simt::grid_size()} * simt::block_size()) {
    const auto v = static_cast<index_t>(k);
    const index_t j = p.panel_of[v];
    const index_t column = p.caller(v);
    const index_t end = end_of_chunk(column, chunk, n);
    index_t row = column + 1;
    for (; row < end; ++row) {
      const index_t f = p.vertex(row);
      const index_t z = f < v ? -1 : p.position(j, f);
      if (z < 0) break;
      if ((p.masks[p.position_begin[j] + z].lower >> (v - p.begin[j]) & 1U) == 0) break;
    }
    last[column] = row - 1;
  }
}

constexpr index_t supernode_rows = 128;  // of a chunk at most, and threads

/// Finds T3 supernodes of chunks of up to supernode_rows rows, a block for each chunk. A thread
/// gathers the entries of its row of L in the columns of the chunk, panel by panel; one thread then
/// walks over the rows. Not for relabelled panels.
GSOFA_KERNEL void panel_supernodes_kernel(panel_view p, const std::uint32_t* u_counts,
                                          index_t chunk, unsigned char* is_start) {
  simt::after_earlier_launches();
  auto* const low = simt::shared_memory<mask_t>();  // columns 0..63 of the chunk; zero: not flagged
  auto* const high = low + supernode_rows;
  const auto thread = static_cast<index_t>(simt::thread_index());
  const auto begin = static_cast<offset_t>(simt::block_index()) * chunk;
  const offset_t end = begin + chunk < p.n ? begin + chunk : p.n;
  mask_t columns[2] = {0, 0};
  if (begin + thread < end) {
    const auto row = static_cast<index_t>(begin + thread);
    if (thread > 0 && u_counts[row] + 1 == u_counts[row - 1]) {
      const index_t last = p.panel_of[row];
      for (index_t j = p.panel_of[begin]; j <= last; ++j) {
        const index_t z = p.position(j, row);
        if (z < 0) continue;
        const mask_t lower = p.masks[p.position_begin[j] + z].lower;
        const auto at = static_cast<index_t>(p.begin[j] - begin);  // of the panel in the chunk
        if (at < 0) {
          columns[0] |= lower >> -at;
        } else if (at < mask_bits) {
          columns[0] |= lower << at;
          if (at > 0) columns[1] |= lower >> (mask_bits - at);
        } else {
          columns[1] |= lower << (at - mask_bits);
        }
      }
    }
  }
  low[thread] = columns[0];
  high[thread] = columns[1];
  simt::sync_block();
  if (thread != 0) return;
  index_t first = 0;
  is_start[begin] = 1;
  for (index_t k = 1; begin + k < end; ++k) {
    const mask_t word = first < mask_bits ? low[k] : high[k];
    if ((word >> (first % mask_bits) & 1U) != 0) continue;
    first = k;
    is_start[begin + k] = 1;
  }
}

/// Sets the bits of the rows begin .. begin + sources - 1 in a zeroed bitmap.
GSOFA_KERNEL void rows_of_panels_kernel(panel_view p, index_t begin, index_t sources,
                                        std::size_t words, std::uint32_t* bits) {
  simt::after_earlier_launches();
  const auto set = [&](index_t row, index_t column) {
    if (row < begin || row - begin >= sources) return;
    simt::atomic_or(bits + static_cast<std::size_t>(row - begin) * words +
                        static_cast<std::size_t>(column / 32),
                    std::uint32_t{1} << (column % 32));
  };
  for (unsigned panel = simt::block_index(); panel < static_cast<unsigned>(p.panels);
       panel += simt::grid_size()) {
    const auto j = static_cast<index_t>(panel);
    const index_t length = p.length(j);
    for (index_t z = static_cast<index_t>(simt::thread_index()); z < length;
         z += static_cast<index_t>(simt::block_size())) {
      const mask_pair m = p.masks[p.position_begin[j] + z];
      const index_t f = p.caller(p.columns[p.position_begin[j] + z]);
      for (mask_t r = m.lower; r != 0; r &= r - 1) {
        set(f, p.caller(p.begin[j] + static_cast<index_t>(simt::lowest_bit(r))));
      }
      for (mask_t r = m.upper; r != 0; r &= r - 1) {
        set(p.caller(p.begin[j] + static_cast<index_t>(simt::lowest_bit(r))), f);
      }
      if (z < p.width(j)) set(f, f);
    }
  }
}

}  // namespace

void count_rows(const panel_view& panels, panel_range wave, const row_results& rows) {
  launch_overlapping(count_kernel, std::min(wave.end - wave.begin, 1 << 16), result_tuning::threads,
                     0, panels, wave, rows.l_counts(), rows.u_counts(),
                     reinterpret_cast<unsigned long long*>(rows.digests()));
}

void find_column_runs(const panel_view& panels, panel_range wave, index_t n, index_t chunk,
                      index_t* last) {
  launch_overlapping(panels.label == nullptr ? column_runs_kernel : relabelled_runs_kernel,
                     blocks_for(offset_t{wave.end - wave.begin} * 32), threads_per_block, 0, panels,
                     wave, n, chunk, last);
}

void find_supernodes(const panel_view& panels, row_results& rows, index_t chunk) {
  if (panels.label != nullptr || chunk < 1 || chunk > supernode_rows) {
    rows.find_supernodes(panel_rows{.p = panels, .n = panels.n, .sources = panels.n});
    return;
  }
  launch_overlapping(panel_supernodes_kernel, (panels.n - 1) / chunk + 1, supernode_rows,
                     2 * supernode_rows * sizeof(mask_t), panels,
                     static_cast<const std::uint32_t*>(rows.u_counts()), chunk,
                     rows.supernode_starts());
}

void set_row_bits(const panel_view& panels, index_t begin, index_t sources, std::size_t words,
                  std::uint32_t* bits) {
  launch(rows_of_panels_kernel, std::min(panels.panels, 1 << 16), result_tuning::threads, 0, panels,
         begin, sources, words, bits);
}

}  // namespace gsofa::panels

#endif
