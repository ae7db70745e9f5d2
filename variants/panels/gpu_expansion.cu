// From masks to sorted rows of L and U on the device.

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include <limits>

#include "variants/device/host_copies.hpp"
#include "variants/device/tile_scan.hpp"
#include "variants/panels/gpu_target_lists.hpp"

#if defined(__CUDACC__)
#include <cub/device/device_radix_sort.cuh>
#else
#include <algorithm>
#include <numeric>
#endif

namespace gsofa::gpu {

namespace {

/// Where the rows of L and of U begin.
struct row_scan {
  struct value {
    offset_t l, u;
  };
  index_t n;
  const std::uint32_t* l_counts;
  const std::uint32_t* u_counts;
  offset_t* l_ptr;
  offset_t* u_ptr;

  GSOFA_DEVICE offset_t count() const { return n; }
  GSOFA_DEVICE static value identity() { return {0, 0}; }
  GSOFA_DEVICE value combine(const value& a, const value& b) const {
    return {a.l + b.l, a.u + b.u};
  }
  GSOFA_DEVICE value item(index_t i) const { return {l_counts[i], u_counts[i]}; }
  GSOFA_DEVICE void emit(index_t i, const value& upto) const {
    if (i == 0) l_ptr[0] = u_ptr[0] = 0;
    l_ptr[i + 1] = upto.l;
    u_ptr[i + 1] = upto.u;
  }
};

/// Lists the column blocks of all panels as keys (target panel) and values (number of the column
/// block), and the panel of each.
GSOFA_KERNEL void list_column_blocks_kernel(panel_view p, index_t* targets, index_t* numbers,
                                            index_t* owners) {
  simt::after_earlier_launches();
  const unsigned lane = lane_index();
  const offset_t warps = offset_t{simt::grid_size()} * (simt::block_size() / 32);
  for (offset_t j =
           offset_t{simt::block_index()} * (simt::block_size() / 32) + simt::thread_index() / 32;
       j < p.panels; j += warps) {
    for (offset_t q = p.column_block_begin[j] + lane; q < p.column_block_begin[j + 1]; q += 32) {
      targets[q] = p.column_block_panel[q];
      numbers[q] = static_cast<index_t>(q);
      owners[q] = static_cast<index_t>(j);
    }
  }
}

GSOFA_KERNEL void target_blocks_kernel(panel_view p, offset_t column_blocks, const index_t* numbers,
                                       const index_t* owners, target_block* out) {
  simt::after_earlier_launches();
  for (offset_t k = offset_t{simt::block_index()} * simt::block_size() + simt::thread_index();
       k < column_blocks; k += offset_t{simt::grid_size()} * simt::block_size()) {
    const index_t q = numbers[k];
    const index_t j = owners[q];
    out[k] = {p.column_block_mask[q], p.position_begin[j] + p.column_block_first[q], p.begin[j]};
  }
}

/// Finds where the list of each target begins, from the sorted targets: a thread looks at each
/// place, and one at the end.
GSOFA_KERNEL void list_begin_kernel(const index_t* targets, index_t column_blocks, index_t panels,
                                    index_t* begin) {
  simt::after_earlier_launches();
  for (offset_t k = offset_t{simt::block_index()} * simt::block_size() + simt::thread_index();
       k <= column_blocks; k += offset_t{simt::grid_size()} * simt::block_size()) {
    const index_t last = k == column_blocks ? panels : targets[k];
    for (index_t t = k == 0 ? 0 : targets[k - 1] + 1; t <= last; ++t) {
      begin[t] = static_cast<index_t>(k);
    }
  }
}

/// Writes the columns base + b for the bits b of a mask, ascending; by one warp.
GSOFA_DEVICE void write_columns(index_t* out, mask_t bits, index_t base) {
  for (unsigned half = 0; half < 2; ++half) {
    const auto b = static_cast<index_t>(half * 32 + lane_index());
    if ((bits >> b & 1U) != 0) out[simt::population(bits & below(b))] = base + b;
  }
}

/// Writes the rows of L by block number `block` of `blocks`. A warp writes one row f at a time:
/// first what the panels hold whose boundary has f, in ascending order, 32 column blocks of the
/// list of f's panel at a time; then what f's own panel holds.
GSOFA_DEVICE void write_l_rows(const panel_view& p, const target_list_view& lists,
                               const offset_t* l_ptr, index_t* l_idx, unsigned block,
                               unsigned blocks) {
  const unsigned lane = lane_index();
  const offset_t warps = offset_t{blocks} * (simt::block_size() / 32);
  for (offset_t row = offset_t{block} * (simt::block_size() / 32) + simt::thread_index() / 32;
       row < p.n; row += warps) {
    const index_t panel = p.panel_of[row];
    const auto inside = static_cast<index_t>(row - p.begin[panel]);
    const offset_t end = lists.begin[panel + 1];
    index_t* out = l_idx + l_ptr[row];
    for (offset_t base = lists.begin[panel]; base < end; base += 32) {
      mask_t columns = 0;
      index_t first = 0;
      if (base + lane < end) {
        const target_block listed = lists.column_blocks[base + lane];
        if ((listed.members >> inside & 1U) != 0) {
          columns = p.masks[listed.first +
                            static_cast<offset_t>(simt::population(listed.members & below(inside)))]
                        .lower;
          first = listed.columns;
        }
      }
      unsigned upto = simt::population(columns);
      for (unsigned step = 1; step < 32; step *= 2) {
        const unsigned before = simt::shuffle_up(upto, step);
        if (lane >= step) upto += before;
      }
      for (unsigned left = simt::ballot(columns != 0); left != 0; left &= left - 1) {
        const unsigned source = simt::lowest_bit(left);
        const mask_t bits = simt::shuffle(columns, source);
        write_columns(out + simt::shuffle(upto, source) - simt::population(bits), bits,
                      simt::shuffle(first, source));
      }
      out += simt::shuffle(upto, 31);
    }
    write_columns(out, p.masks[p.position_begin[panel] + inside].lower, p.begin[panel]);
  }
}

constexpr int row_warps = threads_per_block / 32;
constexpr int rows_per_warp = (mask_bits + row_warps - 1) / row_warps;
constexpr int per_thread = 4;  // positions of a tile
constexpr int tile_positions = per_thread * threads_per_block;

/// A tile of positions in shared memory.
struct position_tile {
  mask_t upper[tile_positions];
  index_t column[tile_positions];
};

/// Writes the rows of U by block number `block` of `blocks`. The block reads a tile of positions of
/// a panel at a time; every warp writes a few rows of the panel: the diagonal, then the positions
/// in order, 32 at a time.
GSOFA_DEVICE void write_u_rows(const panel_view& p, const offset_t* u_ptr, index_t* u_idx,
                               position_tile& tile, unsigned block, unsigned blocks) {
  const auto thread = static_cast<index_t>(simt::thread_index());
  const index_t warp = thread / 32;
  for (unsigned panel = block; panel < static_cast<unsigned>(p.panels); panel += blocks) {
    const auto j = static_cast<index_t>(panel);
    const offset_t first = p.position_begin[j];
    const index_t length = p.length(j);
    const index_t w = p.width(j);
    index_t* out[rows_per_warp];
    GSOFA_UNROLL for (int k = 0; k < rows_per_warp; ++k) {
      const index_t c = warp + k * row_warps;
      out[k] = u_idx;
      if (c >= w) continue;
      out[k] = u_idx + u_ptr[p.begin[j] + c];
      if (lane_index() == 0) *out[k] = p.begin[j] + c;
      ++out[k];
    }
    for (index_t base = 0; base < length; base += tile_positions) {
      mask_t upper[per_thread];
      index_t column[per_thread];
      GSOFA_UNROLL for (int q = 0; q < per_thread; ++q) {
        const index_t z = base + q * threads_per_block + thread;
        upper[q] = z < length ? p.masks[first + z].upper : 0;
        column[q] = z < length ? p.columns[first + z] : 0;
      }
      simt::sync_block();
      GSOFA_UNROLL for (int q = 0; q < per_thread; ++q) {
        tile.upper[q * threads_per_block + thread] = upper[q];
        tile.column[q * threads_per_block + thread] = column[q];
      }
      simt::sync_block();
      for (index_t part = 0; part < tile_positions && base + part < length; part += 32) {
        const auto at = part + static_cast<index_t>(lane_index());
        const mask_t masks = tile.upper[at];
        const index_t here = tile.column[at];
        GSOFA_UNROLL for (int k = 0; k < rows_per_warp; ++k) {
          // Rows from w on have no bits.
          const index_t c = warp + k * row_warps;
          const bool hit = c < mask_bits && (masks >> c & 1U) != 0;
          const unsigned hits = simt::ballot(hit);
          if (hit) out[k][simt::population(hits & lower_lanes())] = here;
          out[k] += simt::population(hits);
        }
      }
    }
  }
}

/// The rows of L and U, and where they begin.
struct row_arrays {
  const offset_t* l_ptr;
  const offset_t* u_ptr;
  index_t* l_idx;
  index_t* u_idx;
};

/// Writes all rows: every other block writes rows of L, the rest rows of U, so that some work while
/// others wait for memory.
GSOFA_BOUNDED_KERNEL(threads_per_block)
void all_rows_kernel(panel_view p, target_list_view lists, row_arrays rows) {
  simt::after_earlier_launches();
  const unsigned block = simt::block_index() / 2;
  if (simt::block_index() % 2 == 0) {
    const unsigned blocks = (simt::grid_size() + 1) / 2;
    write_u_rows(p, rows.u_ptr, rows.u_idx, *simt::shared_memory<position_tile>(), block, blocks);
  } else {
    write_l_rows(p, lists, rows.l_ptr, rows.l_idx, block, simt::grid_size() / 2);
  }
}

/// Sorts the column blocks by target. The sort is stable: those of one target stay in the order of
/// their panels.
void sort_by_target(index_t* targets, index_t* sorted_targets, index_t* numbers,
                    index_t* sorted_numbers, offset_t column_blocks, index_t panels,
                    [[maybe_unused]] memory_budget& budget) {
#if defined(__CUDACC__)
  int bits = 1;
  while ((panels - 1) >> bits > 0) ++bits;
  std::size_t bytes = 0;
  check(cub::DeviceRadixSort::SortPairs(nullptr, bytes, targets, sorted_targets, numbers,
                                        sorted_numbers, column_blocks, 0, bits),
        "sort");
  const device_array<unsigned char> temporary(budget, "rows", static_cast<offset_t>(bytes));
  check(cub::DeviceRadixSort::SortPairs(temporary.data(), bytes, targets, sorted_targets, numbers,
                                        sorted_numbers, column_blocks, 0, bits),
        "sort");
#else
  (void)panels;
  std::copy(numbers, numbers + column_blocks, sorted_numbers);
  std::stable_sort(sorted_numbers, sorted_numbers + column_blocks,
                   [&](index_t a, index_t b) { return targets[a] < targets[b]; });
  for (offset_t k = 0; k < column_blocks; ++k) sorted_targets[k] = targets[sorted_numbers[k]];
#endif
}

}  // namespace

target_lists::target_lists(const panel_view& panels, offset_t column_blocks, memory_budget& budget,
                           const char* structure)
    : by_target_(budget, structure, column_blocks),
      begin_(budget, structure, offset_t{panels.panels} + 1) {
  const device_array<index_t> lists(budget, structure, 5 * column_blocks);
  index_t* const targets = lists.data();
  index_t* const numbers = targets + column_blocks;
  index_t* const owners = numbers + column_blocks;
  index_t* const sorted_targets = owners + column_blocks;
  index_t* const sorted_numbers = sorted_targets + column_blocks;
  if (column_blocks > 0) {
    launch_overlapping(list_column_blocks_kernel, blocks_for(offset_t{panels.panels} * 32),
                       threads_per_block, 0, panels, targets, numbers, owners);
    sort_by_target(targets, sorted_targets, numbers, sorted_numbers, column_blocks, panels.panels,
                   budget);
    launch_overlapping(target_blocks_kernel, blocks_for(column_blocks), threads_per_block, 0,
                       panels, column_blocks, static_cast<const index_t*>(sorted_numbers),
                       static_cast<const index_t*>(owners), by_target_.data());
  }
  launch_overlapping(list_begin_kernel, blocks_for(column_blocks + 1), threads_per_block, 0,
                     static_cast<const index_t*>(sorted_targets),
                     static_cast<index_t>(column_blocks), panels.panels, begin_.data());
}

void panel_expansion::release() {
  l_ptr_ = {};
  u_ptr_ = {};
  l_idx_ = {};
  u_idx_ = {};
}

bool panel_expansion::run(const panel_view& panels, const std::uint32_t* l_counts,
                          const std::uint32_t* u_counts, offset_t column_blocks,
                          memory_budget& budget) {
  release();
  const index_t n = panels.n;
  const auto left = [&] { return budget.limit() - budget.used(); };
  constexpr offset_t spare = offset_t{1} << 16;  // bytes for scans
  if (column_blocks > max_index || left() < (offset_t{n} + 1) * 16 + spare) return false;
  l_ptr_ = {budget, "rows", offset_t{n} + 1};
  u_ptr_ = {budget, "rows", offset_t{n} + 1};
  const device_array<row_scan::value> partial(budget, "rows", threads_per_block);
  scan(row_scan{n, l_counts, u_counts, l_ptr_.data(), u_ptr_.data()}, n, partial.data());
  offset_t l = 0, u = 0;
  copy_to_host(&l, static_cast<const offset_t*>(l_ptr_.data() + n), 1);
  copy_to_host(&u, static_cast<const offset_t*>(u_ptr_.data() + n), 1);
  try {
    l_idx_ = {budget, "rows", l};
    u_idx_ = {budget, "rows", u};
    const target_lists lists(panels, column_blocks, budget, "rows");
    launch_overlapping(all_rows_kernel, blocks_for(offset_t{n} * 32) + 1, threads_per_block,
                       sizeof(position_tile), panels, lists.view(),
                       row_arrays{l_ptr_.data(), u_ptr_.data(), l_idx_.data(), u_idx_.data()});
  } catch (const budget_error&) {
    release();
    return false;
  }
  return true;
}

void panel_expansion::to_host(index_t n, int threads, pattern& l, pattern& u) const {
  host_copies copies(threads);
  const auto bytes = static_cast<std::size_t>(l_idx_.size() + u_idx_.size()) * sizeof(index_t);
  const auto add = [&](pattern& p, const device_array<offset_t>& ptr,
                       const device_array<index_t>& idx) {
    p.n_rows = p.n_cols = n;
    copies.add(p.row_ptr, static_cast<const offset_t*>(ptr.data()), ptr.size());
    copies.add(p.col_idx, static_cast<const index_t*>(idx.data()), idx.size());
  };
  copies.run(bytes, [&] {
    add(l, l_ptr_, l_idx_);
    add(u, u_ptr_, u_idx_);
  });
  for (pattern* p : {&l, &u}) take_written(p->row_ptr, at(n) + 1);
  take_written(l.col_idx, static_cast<std::size_t>(l_idx_.size()));
  take_written(u.col_idx, static_cast<std::size_t>(u_idx_.size()));
}

}  // namespace gsofa::gpu

#endif
