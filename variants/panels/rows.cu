// From masks to sorted rows of L and U on the device.

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include <algorithm>
#include <limits>

#include "variants/device/host_copies.hpp"
#include "variants/device/tile_scan.hpp"
#include "variants/panels/device_tuning.hpp"
#include "variants/panels/target_lists.hpp"

#if defined(__CUDACC__)
#include <cub/device/device_radix_sort.cuh>
#else
#include <numeric>
#endif

namespace gsofa::panels {

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
  for (const offset_t k : grid_items(column_blocks)) {
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
  for (const offset_t k : grid_items(column_blocks + 1)) {
    const index_t last = k == column_blocks ? panels : targets[k];
    for (index_t t = k == 0 ? 0 : targets[k - 1] + 1; t <= last; ++t) {
      begin[t] = static_cast<index_t>(k);
    }
  }
}

constexpr unsigned line_entries = 32;  // 128 bytes
constexpr int row_warps = threads_per_block / 32;
constexpr int per_thread = 2;  // positions of a tile
constexpr int tile_positions = per_thread * threads_per_block;

/// Four entries that are written at once.
struct alignas(16) entry_quad {
  index_t entries[4];
};

/// Entries of one row that a warp gathers: a tile's, and those of the mask added last or of the
/// line that was not full before.
constexpr unsigned gathered_entries = tile_positions + mask_bits;

/// Writes a part of a row, by one warp. Rows begin anywhere, and so do the pieces of them that are
/// known at a time: written one by one they would be parts of sectors, for which memory takes twice
/// as long. So entries are gathered in shared memory and leave in complete lines of 128 bytes of
/// the array, except the first and the last line.
class row_writer {
 public:
  /// The part begins at place `begin` of the array. `gathered` has gathered_entries of each warp.
  GSOFA_DEVICE row_writer(index_t* gathered, offset_t begin)
      : gathered_(gathered),
        first_(simt::thread_index() / 32 * gathered_entries),
        begin_(begin),
        head_(first_ + static_cast<unsigned>(begin) % line_entries),
        end_(head_) {
    begin_ -= head_;
  }
  /// Adds an entry of each lane in `lanes`, which is the same in all lanes, in the order of lanes.
  GSOFA_DEVICE void add(unsigned lanes, index_t entry) {
    if ((lanes >> lane_index() & 1U) != 0) {
      gathered_[end_ + simt::population(lanes & lower_lanes())] = entry;
    }
    end_ += simt::population(lanes);
  }
  /// Adds an entry of each lane.
  GSOFA_DEVICE void add(index_t entry) {
    gathered_[end_ + lane_index()] = entry;
    end_ += 32;
  }
  /// Adds first, first + 1 and so on, `count` entries, up to 64.
  GSOFA_DEVICE void add_run(index_t first, unsigned count) {
    const unsigned lane = lane_index();
    index_t* const to = gathered_ + end_ + lane;
    if (lane < count) to[0] = first + static_cast<index_t>(lane);
    if (lane + 32 < count) to[32] = first + static_cast<index_t>(lane + 32);
    end_ += count;
  }
  /// Writes the full lines if a mask might not find room any more.
  GSOFA_DEVICE void make_room(index_t* idx) {
    if (end_ <= first_ + tile_positions) return;
    const unsigned full = end_ / line_entries * line_entries;
    write(idx, full);
    // The line that is not full moves to the front.
    const unsigned at = first_ + lane_index();
    if (full + lane_index() < end_) gathered_[at] = gathered_[full + lane_index()];
    begin_ += full - first_;
    end_ -= full - first_;
    head_ = first_;
    simt::sync_warp();
  }
  /// Writes what is left; returns where the next part begins.
  GSOFA_DEVICE offset_t finish(index_t* idx) {
    write(idx, end_);
    return begin_ + end_;
  }

 private:
  // Writes entries up to `end`, quads at once.
  GSOFA_DEVICE void write(index_t* idx, unsigned end) {
    simt::sync_warp();
    for (unsigned q = first_ + 4 * lane_index(); q < end; q += 4 * 32) {
      index_t* const to = idx + (begin_ + q);
      if (q >= head_ && q + 4 <= end) {
        *reinterpret_cast<entry_quad*>(to) = *reinterpret_cast<const entry_quad*>(gathered_ + q);
      } else {
        for (unsigned k = 0; k < 4; ++k) {
          if (q + k >= head_ && q + k < end) to[k] = gathered_[q + k];
        }
      }
    }
    simt::sync_warp();
  }

  index_t* gathered_;
  unsigned first_;  // where the warp's entries are, and the first line begins
  offset_t begin_;  // what to add to a place in `gathered` for that in the array
  unsigned head_;   // where the part begins
  unsigned end_;    // where the next entry goes
};

/// The first run of bits of a mask, and whether there is no other.
struct bit_run {
  unsigned first, count;
  bool only;
};

GSOFA_DEVICE bit_run first_run(mask_t bits) {
  if (bits == 0) return {0, 0, true};
  const unsigned first = simt::lowest_bit(bits);
  const mask_t beyond = ~(bits >> first);
  const unsigned count = beyond == 0 ? mask_bits : simt::lowest_bit(beyond);
  return {first, count, simt::population(bits) == count};
}

/// Adds the columns base + b for the bits b of a mask, ascending.
GSOFA_DEVICE void add_columns(row_writer& writer, mask_t bits, index_t base) {
  const auto lane = static_cast<index_t>(lane_index());
  writer.add(static_cast<unsigned>(bits), base + lane);
  writer.add(static_cast<unsigned>(bits >> 32), base + 32 + lane);
}

/// Writes the rows of L by block number `block` of `blocks`. A warp writes one row f at a time:
/// first what the panels hold whose boundary has f, in ascending order, 32 column blocks of the
/// list of f's panel at a time; then what f's own panel holds. Most masks are one run of columns.
GSOFA_DEVICE void write_l_rows(const panel_view& p, const target_list_view& lists,
                               const offset_t* l_ptr, index_t* l_idx, index_t* gathered,
                               unsigned block, unsigned blocks) {
  const unsigned lane = lane_index();
  const offset_t warps = offset_t{blocks} * (simt::block_size() / 32);
  // The longest rows are the last ones.
  for (offset_t row = p.n - 1 - offset_t{block} * (simt::block_size() / 32) -
                      offset_t{simt::thread_index() / 32};
       row >= 0; row -= warps) {
    const index_t panel = p.panel_of[row];
    const auto inside = static_cast<index_t>(row - p.begin[panel]);
    const offset_t end = lists.begin[panel + 1];
    row_writer writer(gathered, l_ptr[row]);
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
      const bit_run run = first_run(columns);
      const unsigned runs = simt::ballot(run.only);
      for (unsigned left = simt::ballot(columns != 0); left != 0; left &= left - 1) {
        const unsigned source = simt::lowest_bit(left);
        const index_t begin = simt::shuffle(first, source);
        if ((runs >> source & 1U) != 0) {
          const unsigned at = simt::shuffle(run.first << 8 | run.count, source);
          writer.add_run(begin + static_cast<index_t>(at >> 8), at & 255U);
        } else {
          add_columns(writer, simt::shuffle(columns, source), begin);
        }
        writer.make_room(l_idx);
      }
    }
    add_columns(writer, p.masks[p.position_begin[panel] + inside].lower, p.begin[panel]);
    writer.finish(l_idx);
  }
}

constexpr index_t tile_rows = 32;  // of half a panel

/// A tile of positions in shared memory, where the next entry of each row goes, and what warps
/// gather.
struct position_tile {
  std::uint32_t upper[tile_positions];  // a half of the masks
  index_t column[tile_positions];
  offset_t next[tile_rows];
  alignas(16) index_t gathered[row_warps * gathered_entries];
};

/// Writes the entries of row number r of a half in a tile of `size` positions.
GSOFA_DEVICE void write_u_tile(position_tile& tile, index_t* u_idx, index_t r, index_t size) {
  const auto lane = static_cast<index_t>(lane_index());
  row_writer writer(tile.gathered, tile.next[r]);
  for (index_t part = lane; part - lane < size; part += 32) {
    const unsigned hits = simt::ballot((tile.upper[part] >> r & 1U) != 0);
    if (hits == 0) continue;
    if (hits == ~0U) {
      writer.add(tile.column[part]);
    } else {
      writer.add(hits, tile.column[part]);
    }
  }
  const offset_t next = writer.finish(u_idx);
  if (lane == 0) tile.next[r] = next;
}

/// Writes the rows of U that belong to a half of a panel: those of 32 bits of its masks. The block
/// reads a tile of positions at a time, and its warps write the entries that rows have there.
GSOFA_DEVICE void write_half(const panel_view& p, const offset_t* u_ptr, index_t* u_idx,
                             position_tile& tile, index_t panel, unsigned half) {
  const auto thread = static_cast<index_t>(simt::thread_index());
  const offset_t first = p.position_begin[panel];
  const index_t length = p.length(panel);
  const index_t begin = p.begin[panel] + static_cast<index_t>(half) * tile_rows;
  const index_t left = p.begin[panel] + p.width(panel) - begin;
  const index_t rows = left < tile_rows ? left : tile_rows;
  simt::sync_block();
  for (index_t r = thread; r < rows; r += threads_per_block) {
    // The diagonal is no position's bit.
    const offset_t at = u_ptr[begin + r];
    u_idx[at] = begin + r;
    tile.next[r] = at + 1;
  }
  for (index_t base = 0; base < length; base += tile_positions) {
    const index_t size = length - base < tile_positions ? length - base : tile_positions;
    mask_t upper[per_thread];
    index_t column[per_thread];
    GSOFA_UNROLL for (int q = 0; q < per_thread; ++q) {
      const index_t z = q * threads_per_block + thread;
      upper[q] = z < size ? p.masks[first + base + z].upper : 0;
      column[q] = z < size ? p.columns[first + base + z] : 0;
    }
    simt::sync_block();
    GSOFA_UNROLL for (int q = 0; q < per_thread; ++q) {
      const index_t z = q * threads_per_block + thread;
      tile.upper[z] = static_cast<std::uint32_t>(upper[q] >> (half * 32));
      tile.column[z] = column[q];
    }
    simt::sync_block();
    for (index_t r = thread / 32; r < rows; r += row_warps) write_u_tile(tile, u_idx, r, size);
  }
}

/// Writes the rows of U by block number `block` of `blocks`. The longest are among those of the
/// last panels.
GSOFA_DEVICE void write_u_rows(const panel_view& p, const offset_t* u_ptr, index_t* u_idx,
                               position_tile& tile, unsigned block, unsigned blocks) {
  for (offset_t item = 2 * offset_t{p.panels} - 1 - block; item >= 0; item -= blocks) {
    const auto panel = static_cast<index_t>(item / 2);
    const auto half = static_cast<unsigned>(item % 2);
    if (half == 0 || p.width(panel) > tile_rows) {
      write_half(p, u_ptr, u_idx, tile, panel, half);
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
GSOFA_RESIDENT_KERNEL(threads_per_block, 6)
void all_rows_kernel(panel_view p, target_list_view lists, row_arrays rows) {
  simt::after_earlier_launches();
  const unsigned block = simt::block_index() / 2;
  if (simt::block_index() % 2 == 0) {
    const unsigned blocks = (simt::grid_size() + 1) / 2;
    write_u_rows(p, rows.u_ptr, rows.u_idx, *simt::shared_memory<position_tile>(), block, blocks);
  } else {
    write_l_rows(p, lists, rows.l_ptr, rows.l_idx, simt::shared_memory<position_tile>()->gathered,
                 block, simt::grid_size() / 2);
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

/// Number of blocks that write n rows with `entries` entries. The longest rows come first, so that
/// the blocks end closer to each other if there are more of them; blocks with fewer than 40,000
/// entries each take longer.
int blocks_for_rows(index_t n, offset_t entries) {
  constexpr offset_t most_on_each = 128;
  const offset_t most =
      std::min(most_on_each * multiprocessors(), (offset_t{n} - 1) / row_warps + 1);
  return std::max(blocks_for(offset_t{n} * 32),
                  static_cast<int>(std::min(entries / result_tuning::entries_of_a_block, most))) +
         1;
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
    launch_overlapping(all_rows_kernel, blocks_for_rows(n, l + u), threads_per_block,
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

}  // namespace gsofa::panels

#endif
