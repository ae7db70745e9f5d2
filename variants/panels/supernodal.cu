// Supernodes of columns, their lists of rows and the segments of U from masks, on the device; what
// supernodal.cpp does on the host.

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include "variants/device/host_copies.hpp"
#include "variants/device/tile_scan.hpp"
#include "variants/panels/target_lists.hpp"

namespace gsofa::panels {

namespace {

/// What a rule says of a column.
enum rule_byte : unsigned char { free_column = 0, starts_supernode = 1, inside_supernode = 2 };

GSOFA_DEVICE mask_t or_of_warp(mask_t m) {
  const std::uint32_t low = simt::or_of_warp(static_cast<std::uint32_t>(m));
  const std::uint32_t high = simt::or_of_warp(static_cast<std::uint32_t>(m >> 32));
  return static_cast<mask_t>(high) << 32 | low;
}

/// Whether the first column of panel j + 1, the parent of panel j, joins the last column of j: the
/// rows of that beyond it are the first vertex of j + 1 and the rows of its column. By one warp.
GSOFA_DEVICE bool joins_across(const panel_view& p, index_t j) {
  const index_t w = p.width(j);
  const index_t length = p.length(j);
  const offset_t first = p.position_begin[j];
  const offset_t next = p.position_begin[j + 1];
  const index_t next_length = p.length(j + 1);
  const index_t vertex = p.begin[j + 1];
  const auto lane = static_cast<index_t>(lane_index());
  bool found = false;
  bool differ = false;
  std::uint32_t here = 0;
  std::uint32_t there = 0;
  for (index_t z = w + lane; z < length; z += 32) {
    const bool has = (p.masks[first + z].lower >> (w - 1) & 1U) != 0;
    if (p.columns[first + z] == vertex) {
      found = has;
    } else {
      differ = differ || has != ((p.masks[next + p.in_parent[first + z]].lower & 1U) != 0);
      here += has ? 1 : 0;
    }
  }
  for (index_t z = 1 + lane; z < next_length; z += 32) {
    there += (p.masks[next + z].lower & 1U) != 0 ? 1 : 0;
  }
  const std::uint32_t lacking = simt::add_of_warp(there - here);
  return simt::ballot(found) != 0 && simt::ballot(differ) == 0 && lacking == 0;
}

/// Finds which columns have the structure to join the column before; a warp for each panel.
GSOFA_KERNEL void joins_kernel(panel_view p, unsigned char* joins) {
  simt::after_earlier_launches();
  const auto lane = static_cast<index_t>(lane_index());
  const offset_t warps = offset_t{simt::grid_size()} * (simt::block_size() / 32);
  for (offset_t panel =
           offset_t{simt::block_index()} * (simt::block_size() / 32) + simt::thread_index() / 32;
       panel < p.panels; panel += warps) {
    const auto j = static_cast<index_t>(panel);
    const index_t w = p.width(j);
    const index_t length = p.length(j);
    const offset_t first = p.position_begin[j];
    // Bit c: column c + 1 does not join column c.
    mask_t differ = 0;
    for (index_t z = lane; z < length; z += 32) {
      const mask_t lower = p.masks[first + z].lower;
      if (z >= w) {
        differ |= lower ^ lower >> 1;
      } else if (z > 0) {
        // In a row of the panel only the columns before the row count, and column z - 1 must have
        // row z.
        differ |= ((lower ^ lower >> 1) & below(z - 1)) | (~lower & bit(z - 1));
      }
    }
    differ = or_of_warp(differ);
    for (index_t c = lane; c + 1 < w; c += 32) {
      joins[p.begin[j] + c + 1] = (differ >> c & 1U) != 0 ? 0 : 1;
    }
    if (j + 1 < p.panels) {
      const bool across = p.parent[j] == j + 1 && joins_across(p, j);
      if (lane == 0) joins[p.begin[j + 1]] = across ? 1 : 0;
    }
    if (j == 0 && lane == 0) joins[0] = 0;
  }
}

/// Marks the columns at which supernodes begin. A run of columns that join is cut where it has
/// `most` columns.
struct supernode_scan {
  using value = index_t;  // the last column at which a run begins
  index_t n;
  index_t most;  ///< 0: any number
  const unsigned char* joins;
  const unsigned char* rule;  ///< null: all columns are free
  unsigned char* starts;

  GSOFA_DEVICE offset_t count() const { return n; }
  GSOFA_DEVICE static value identity() { return -1; }
  GSOFA_DEVICE static value combine(value a, value b) { return a < b ? b : a; }
  GSOFA_DEVICE unsigned char rule_of(index_t j) const {
    return rule == nullptr ? static_cast<unsigned char>(free_column) : rule[j];
  }
  GSOFA_DEVICE value item(index_t j) const {
    const unsigned char says = rule_of(j);
    const bool begins =
        j == 0 || says == starts_supernode || (says == free_column && joins[j] == 0);
    return begins ? j : -1;
  }
  GSOFA_DEVICE void emit(index_t j, value run) const {
    const bool cut = j == run || (most > 0 && (j - run) % most == 0);
    starts[j] = rule_of(j) != inside_supernode && cut ? 1 : 0;
  }
};

/// Numbers the supernodes.
struct number_scan {
  using value = index_t;
  index_t n;
  const unsigned char* starts;
  index_t* supernode;  ///< n
  index_t* begin;      ///< up to n + 1

  GSOFA_DEVICE offset_t count() const { return n; }
  GSOFA_DEVICE static value identity() { return 0; }
  GSOFA_DEVICE static value combine(value a, value b) { return a + b; }
  GSOFA_DEVICE value item(index_t j) const { return starts[j]; }
  GSOFA_DEVICE void emit(index_t j, value upto) const {
    supernode[j] = upto - 1;
    if (starts[j] != 0) begin[upto - 1] = j;
    if (j == n - 1) begin[upto] = n;
  }
};

/// Where lists of counted lengths begin.
struct list_scan {
  using value = offset_t;
  index_t n;
  const std::uint32_t* lengths;
  offset_t* begin;  ///< n + 1

  GSOFA_DEVICE offset_t count() const { return n; }
  GSOFA_DEVICE static value identity() { return 0; }
  GSOFA_DEVICE static value combine(value a, value b) { return a + b; }
  GSOFA_DEVICE value item(index_t k) const { return lengths[k]; }
  GSOFA_DEVICE void emit(index_t k, value upto) const {
    if (k == 0) begin[0] = 0;
    begin[k + 1] = upto;
  }
};

/// Bit c of starts[j]: a supernode begins at column c of panel j. A warp for each panel.
GSOFA_KERNEL void panel_starts_kernel(panel_view p, const unsigned char* is_start, mask_t* starts) {
  simt::after_earlier_launches();
  const auto lane = static_cast<index_t>(lane_index());
  const offset_t warps = offset_t{simt::grid_size()} * (simt::block_size() / 32);
  for (offset_t panel =
           offset_t{simt::block_index()} * (simt::block_size() / 32) + simt::thread_index() / 32;
       panel < p.panels; panel += warps) {
    const auto j = static_cast<index_t>(panel);
    const index_t w = p.width(j);
    const unsigned char* const mine = is_start + p.begin[j];
    const unsigned low = simt::ballot(lane < w && mine[lane] != 0);
    const unsigned high = simt::ballot(lane + 32 < w && mine[lane + 32] != 0);
    if (lane == 0) starts[j] = static_cast<mask_t>(high) << 32 | low;
  }
}

/// Counts, or writes, the rows of the first column of each supernode; a warp for each.
template <bool Write>
GSOFA_KERNEL void supernode_rows_kernel(panel_view p, const index_t* begin, index_t supernodes,
                                        std::uint32_t* lengths, const offset_t* row_begin,
                                        index_t* rows) {
  simt::after_earlier_launches();
  const auto lane = static_cast<index_t>(lane_index());
  const offset_t warps = offset_t{simt::grid_size()} * (simt::block_size() / 32);
  for (offset_t s =
           offset_t{simt::block_index()} * (simt::block_size() / 32) + simt::thread_index() / 32;
       s < supernodes; s += warps) {
    const index_t column = begin[s];
    const index_t j = p.panel_of[column];
    const index_t c = column - p.begin[j];
    const offset_t first = p.position_begin[j];
    const index_t length = p.length(j);
    std::uint32_t upto = 1;
    if (Write && lane == 0) rows[row_begin[s]] = column;
    for (index_t base = c + 1; base < length; base += 32) {
      const index_t z = base + lane;
      const bool has = z < length && (p.masks[first + z].lower >> c & 1U) != 0;
      const unsigned all = simt::ballot(has);
      if (Write && has) {
        rows[row_begin[s] + upto + simt::population(all & lower_lanes())] = p.columns[first + z];
      }
      upto += simt::population(all);
    }
    if (!Write && lane == 0) lengths[s] = upto;
  }
}

/// The supernodes as the segments of columns see them.
struct supernode_view {
  const index_t* supernode;  ///< n
  const index_t* begin;      ///< first columns
  const mask_t* starts;      ///< of each panel
};

/// The rows of panel j in column f are `upper`. Returns the rows that begin a segment in a
/// supernode before the supernode of f.
GSOFA_DEVICE mask_t first_rows(const panel_view& p, const supernode_view& s, index_t j, index_t f,
                               mask_t upper) {
  const index_t b = p.begin[j];
  const index_t own = s.begin[s.supernode[f]];
  if (own <= b) return 0;  // then all of panel j is of the supernode of f
  if (own - b < mask_bits) upper &= below(own - b);
  const mask_t starts = s.starts[j];
  if ((starts & 1U) == 0 && upper != 0) {
    // A supernode goes on from panel j - 1. If that has a row in column f, its last column has one.
    const mask_t second = starts & (~starts + 1);  // the lowest one
    const mask_t head = second == 0 ? ~mask_t{0} : second - 1;
    if ((upper & head) != 0) {
      const index_t z = p.position(j - 1, f);
      if (z >= 0 &&
          (p.masks[p.position_begin[j - 1] + z].upper >> (p.width(j - 1) - 1) & 1U) != 0) {
        upper &= ~head;
      }
    }
  }
  mask_t out = 0;
  while (upper != 0) {
    const auto c = static_cast<index_t>(simt::lowest_bit(upper));
    out |= bit(c);
    const mask_t after = starts & above(c);
    if (after == 0) break;
    upper &= ~below(static_cast<index_t>(simt::lowest_bit(after)));
  }
  return out;
}

/// Counts, or writes, the segments of each column; a warp for each: those in the panels that have
/// the column in their boundary, in ascending order, then those in the column's own panel.
template <bool Write>
GSOFA_KERNEL void segments_kernel(panel_view p, target_list_view lists, supernode_view s,
                                  std::uint32_t* lengths, const offset_t* segment_begin,
                                  index_t* segments) {
  simt::after_earlier_launches();
  const unsigned lane = lane_index();
  const offset_t warps = offset_t{simt::grid_size()} * (simt::block_size() / 32);
  for (offset_t column =
           offset_t{simt::block_index()} * (simt::block_size() / 32) + simt::thread_index() / 32;
       column < p.n; column += warps) {
    const auto f = static_cast<index_t>(column);
    const index_t panel = p.panel_of[f];
    const index_t inside = f - p.begin[panel];
    const offset_t end = lists.begin[panel + 1];
    std::uint32_t before = 0;
    index_t* const out = Write ? segments + segment_begin[f] : nullptr;
    // The column's own panel is one more place of its list.
    for (offset_t base = lists.begin[panel]; base < end + 1; base += 32) {
      mask_t rows = 0;
      index_t first = 0;
      if (base + lane < end) {
        const target_block listed = lists.column_blocks[base + lane];
        if ((listed.members >> inside & 1U) != 0) {
          first = listed.columns;
          const mask_t upper =
              p.masks[listed.first +
                      static_cast<offset_t>(simt::population(listed.members & below(inside)))]
                  .upper;
          rows = first_rows(p, s, p.panel_of[first], f, upper);
        }
      } else if (base + lane == end) {
        first = p.begin[panel];
        rows = first_rows(p, s, panel, f, p.masks[p.position_begin[panel] + inside].upper);
      }
      const unsigned mine = simt::population(rows);
      unsigned upto = mine;
      for (unsigned step = 1; step < 32; step *= 2) {
        const unsigned other = simt::shuffle_up(upto, step);
        if (lane >= step) upto += other;
      }
      if (Write) {
        std::uint32_t at = before + upto - mine;
        for (; rows != 0; rows &= rows - 1) {
          out[at++] = first + static_cast<index_t>(simt::lowest_bit(rows));
        }
      }
      before += simt::shuffle(upto, 31);
    }
    if (!Write && lane == 0) lengths[f] = before;
  }
}

constexpr const char* supernode_memory = "supernodes";

/// What the ranges of `rule` say of each column; nothing where there are none.
device_array<unsigned char> bytes_of(const supernode_rule& rule, index_t n, memory_budget& budget) {
  if (rule.fixed.empty()) return {};
  std::vector<unsigned char> says(static_cast<std::size_t>(n), free_column);
  for (const column_range& r : rule.fixed) {
    says[at(r.begin)] = starts_supernode;
    for (index_t j = r.begin + 1; j < r.end; ++j) says[at(j)] = inside_supernode;
    // Nothing joins several columns; a range that begins there says the same.
    if (r.end - r.begin > 1 && r.end < n) says[at(r.end)] = starts_supernode;
  }
  device_array<unsigned char> out(budget, supernode_memory, n);
  copy_to_device(out.data(), says.data(), n);
  return out;
}

template <class T>
T last_of(const device_array<T>& a, offset_t place) {
  T out{};
  copy_to_host(&out, static_cast<const T*>(a.data() + place), 1);
  return out;
}

/// Cuts the columns into supernodes: the supernode of each column, their first columns, and which
/// columns of a panel begin one.
struct supernode_cut {
  device_array<index_t> supernode;
  device_array<mask_t> panel_starts;

  supernode_cut(const panel_view& p, const supernode_rule& rule, offset_t* partial,
                supernodal_arrays& out, memory_budget& budget)
      : supernode(budget, supernode_memory, p.n), panel_starts(budget, supernode_memory, p.panels) {
    const index_t n = p.n;
    const device_array<unsigned char> rule_bytes = bytes_of(rule, n, budget);
    const int panel_warps = blocks_for(offset_t{p.panels} * 32);
    const device_array<unsigned char> flags(budget, supernode_memory, offset_t{n} * 2);
    unsigned char* const joins = flags.data();
    unsigned char* const starts = joins + n;
    out.begin = {budget, supernode_memory, offset_t{n} + 1};
    launch_overlapping(joins_kernel, panel_warps, threads_per_block, 0, p, joins);
    auto* const partial_index = reinterpret_cast<index_t*>(partial);
    scan(supernode_scan{n, rule.most_columns, joins, rule_bytes.data(), starts}, n, partial_index);
    scan(number_scan{n, starts, supernode.data(), out.begin.data()}, n, partial_index);
    launch_overlapping(panel_starts_kernel, panel_warps, threads_per_block, 0, p,
                       static_cast<const unsigned char*>(starts), panel_starts.data());
    out.supernodes = last_of(supernode, n - 1) + 1;
  }
};

/// The row lists of L.
void list_rows(const panel_view& p, offset_t* partial, supernodal_arrays& out,
               memory_budget& budget) {
  const index_t supernodes = out.supernodes;
  const device_array<std::uint32_t> lengths(budget, supernode_memory, supernodes);
  out.row_begin = {budget, supernode_memory, offset_t{supernodes} + 1};
  const int warps = blocks_for(offset_t{supernodes} * 32);
  const index_t* const begin = out.begin.data();
  launch_overlapping(supernode_rows_kernel<false>, warps, threads_per_block, 0, p, begin,
                     supernodes, lengths.data(), static_cast<const offset_t*>(nullptr),
                     static_cast<index_t*>(nullptr));
  scan(list_scan{supernodes, lengths.data(), out.row_begin.data()}, supernodes, partial);
  out.rows = {budget, supernode_memory, last_of(out.row_begin, supernodes)};
  launch_overlapping(supernode_rows_kernel<true>, warps, threads_per_block, 0, p, begin, supernodes,
                     lengths.data(), static_cast<const offset_t*>(out.row_begin.data()),
                     out.rows.data());
}

/// The first rows of the segments of U.
void list_segments(const panel_view& p, offset_t column_blocks, const supernode_cut& cut,
                   offset_t* partial, supernodal_arrays& out, memory_budget& budget) {
  const index_t n = p.n;
  const device_array<std::uint32_t> lengths(budget, supernode_memory, n);
  out.segment_begin = {budget, supernode_memory, offset_t{n} + 1};
  const target_lists lists(p, column_blocks, budget, supernode_memory);
  const supernode_view view{cut.supernode.data(), out.begin.data(), cut.panel_starts.data()};
  const int warps = blocks_for(offset_t{n} * 32);
  launch_overlapping(segments_kernel<false>, warps, threads_per_block, 0, p, lists.view(), view,
                     lengths.data(), static_cast<const offset_t*>(nullptr),
                     static_cast<index_t*>(nullptr));
  scan(list_scan{n, lengths.data(), out.segment_begin.data()}, n, partial);
  out.segments = {budget, supernode_memory, last_of(out.segment_begin, n)};
  launch_overlapping(segments_kernel<true>, warps, threads_per_block, 0, p, lists.view(), view,
                     lengths.data(), static_cast<const offset_t*>(out.segment_begin.data()),
                     out.segments.data());
}

/// Finds the lists. Calls rows_listed() after it has enqueued the lists of L and before the lists
/// of U.
template <class Action>
void find_lists(const panel_view& p, offset_t column_blocks, const supernode_rule& rule,
                memory_budget& budget, supernodal_arrays& out, const Action& rows_listed) {
  validate_ranges(rule.fixed, p.n);
  if (column_blocks > max_index) throw budget_error("more column blocks than a list can number");
  const device_array<offset_t> partial(budget, supernode_memory, threads_per_block);
  const supernode_cut cut(p, rule, partial.data(), out, budget);
  list_rows(p, partial.data(), out, budget);
  rows_listed();
  list_segments(p, column_blocks, cut, partial.data(), out, budget);
}

}  // namespace

supernodal_arrays supernodal_of_panels(const panel_view& p, offset_t column_blocks,
                                       const supernode_rule& rule, memory_budget& budget) {
  supernodal_arrays out;
  find_lists(p, column_blocks, rule, budget, out, [] {});
  return out;
}

void supernodal_to_host(const panel_view& p, const panel_sizes& sizes, const supernode_rule& rule,
                        int threads, memory_budget& budget, supernodal_pattern& out) {
  supernodal_arrays s;
  host_copies copies(threads);
  const auto add = [&]<class T>(std::vector<T>& v, const device_array<T>& from, offset_t count) {
    copies.add(v, static_cast<const T*>(from.data()), count);
  };
  // An estimate: lists have some entries for each position of the panels.
  copies.run(static_cast<std::size_t>(sizes.positions) * 3 * sizeof(index_t), [&] {
    find_lists(p, sizes.column_blocks, rule, budget, s, [&] {
      add(out.begin, s.begin, offset_t{s.supernodes} + 1);
      add(out.row_begin, s.row_begin, s.row_begin.size());
      add(out.rows, s.rows, s.rows.size());
    });
    add(out.segment_begin, s.segment_begin, s.segment_begin.size());
    add(out.segments, s.segments, s.segments.size());
  });
  take_written(out.begin, static_cast<std::size_t>(s.supernodes) + 1);
  take_written(out.row_begin, static_cast<std::size_t>(s.row_begin.size()));
  take_written(out.rows, static_cast<std::size_t>(s.rows.size()));
  take_written(out.segment_begin, static_cast<std::size_t>(s.segment_begin.size()));
  take_written(out.segments, static_cast<std::size_t>(s.segments.size()));
}

}  // namespace gsofa::panels

#endif
