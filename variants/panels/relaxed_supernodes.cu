// Expands the supernodes of a contracted pattern to the supernodes of the padded pattern:
// gsofa::expand_leaves() on the device.
//
// Vertex v represents the columns first[v] .. first[v+1] - 1. A vertex that represents several
// columns is a supernode of its own and a leaf: no column before it has an entry in its row. Hence
// only the first row of a supernode can represent several columns. The rows before supernode s are
// first[begin[s]] - begin[s] more than in the contracted pattern; the number of segments is equal.
// Time and memory are proportional to the size of the result.

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include "variants/device/tile_scan.hpp"
#include "variants/panels/stages_device.hpp"

namespace gsofa::panels {

namespace {

constexpr const char* relaxed_memory = "supernodes";

/// The lists of the contracted pattern.
struct contracted_lists {
  index_t supernodes;
  index_t vertices;
  const index_t* first;  ///< vertices + 1
  const index_t* begin;
  const offset_t* row_begin;
  const index_t* rows;
  const offset_t* segment_begin;
  const index_t* segments;
};

/// Expands the rows; a warp for each supernode.
GSOFA_KERNEL void expand_rows_kernel(contracted_lists s, index_t* begin, offset_t* row_begin,
                                     index_t* rows, std::uint32_t* added) {
  simt::after_earlier_launches();
  const auto lane = static_cast<index_t>(lane_index());
  const offset_t warps = offset_t{simt::grid_size()} * (simt::block_size() / 32);
  for (offset_t k =
           offset_t{simt::block_index()} * (simt::block_size() / 32) + simt::thread_index() / 32;
       k <= s.supernodes; k += warps) {
    const index_t vertex = s.begin[k];
    const index_t first = s.first[vertex];
    const offset_t from = s.row_begin[k];
    const offset_t to = from + (first - vertex);
    if (lane == 0) {
      begin[k] = first;
      row_begin[k] = to;
    }
    if (k == s.supernodes) continue;
    const index_t width = s.first[vertex + 1] - first;
    for (index_t c = lane; c < width; c += 32) rows[to + c] = first + c;
    const offset_t length = s.row_begin[k + 1] - from;
    for (offset_t q = 1 + lane; q < length; q += 32) {
      const index_t row = s.rows[from + q];
      rows[to + width - 1 + q] = s.first[row];
      if (width > 1) simt::atomic_add(added + row, static_cast<std::uint32_t>(width - 1));
    }
  }
}

/// Expands the segments; a warp for each vertex.
GSOFA_KERNEL void expand_segments_kernel(contracted_lists s, offset_t* segment_begin,
                                         index_t* segments) {
  simt::after_earlier_launches();
  const auto lane = static_cast<index_t>(lane_index());
  const offset_t warps = offset_t{simt::grid_size()} * (simt::block_size() / 32);
  for (offset_t v =
           offset_t{simt::block_index()} * (simt::block_size() / 32) + simt::thread_index() / 32;
       v < s.vertices; v += warps) {
    const offset_t from = s.segment_begin[v];
    const offset_t end = s.segment_begin[v + 1];
    for (offset_t q = from + lane; q < end; q += 32) segments[q] = s.first[s.segments[q]];
    if (v == 0 && lane == 0) segment_begin[0] = 0;
    for (index_t j = s.first[v] + lane; j < s.first[v + 1]; j += 32) segment_begin[j + 1] = end;
  }
}

}  // namespace

device_supernodal_pattern expand_leaves(const supernodal_arrays& s,
                                        std::span<const column_range> of, memory_budget& budget,
                                        const caller_memory& memory,
                                        std::vector<std::uint32_t>& added) {
  const auto vertices = static_cast<index_t>(of.size());
  const index_t n = of.back().end;
  std::vector<index_t> first(of.size() + 1, n);
  for (std::size_t v = 0; v < of.size(); ++v) first[v] = of[v].begin;
  const device_array<index_t> first_there(budget, relaxed_memory, offset_t{vertices} + 1);
  const device_array<std::uint32_t> added_there(budget, relaxed_memory, vertices);
  copy_to_device(first_there.data(), first.data(), offset_t{vertices} + 1);
  fill_bytes(added_there.data(), 0, vertices);
  const contracted_lists lists{s.supernodes,           vertices,           first_there.data(),
                               s.begin.data(),         s.row_begin.data(), s.rows.data(),
                               s.segment_begin.data(), s.segments.data()};
  // Every column beyond one of a vertex is one row more, of the supernode of that vertex.
  const offset_t row_count = s.rows.size() + (n - vertices);
  auto* const begin = memory.take<index_t>(offset_t{s.supernodes} + 1);
  auto* const row_begin = memory.take<offset_t>(offset_t{s.supernodes} + 1);
  auto* const rows = memory.take<index_t>(row_count);
  auto* const segment_begin = memory.take<offset_t>(offset_t{n} + 1);
  auto* const segments = memory.take<index_t>(s.segments.size());
  launch_overlapping(expand_rows_kernel, blocks_for((offset_t{s.supernodes} + 1) * 32),
                     threads_per_block, 0, lists, begin, row_begin, rows, added_there.data());
  launch_overlapping(expand_segments_kernel, blocks_for(offset_t{vertices} * 32), threads_per_block,
                     0, lists, segment_begin, segments);
  added.resize(of.size());
  copy_to_host(added.data(), static_cast<const std::uint32_t*>(added_there.data()), vertices);
  return {s.supernodes, row_count, s.segments.size(), begin,
          row_begin,    rows,      segment_begin,     segments};
}

}  // namespace gsofa::panels

#endif
