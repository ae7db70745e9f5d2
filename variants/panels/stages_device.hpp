#pragma once

/// The stages on the device, in their order. Every call is asynchronous unless its comment says
/// otherwise.

#include <optional>

#include "common/device_rows.hpp"
#include "common/supernodal.hpp"
#include "variants/device/batch_rows.hpp"
#include "variants/device/caller_memory.hpp"
#include "variants/panels/panel_arrays.hpp"

namespace gsofa::panels {

#if defined(GSOFA_GPU)

// Stage 1, forest.cu: matrix -> elimination forest. Twin: forest.hpp.

/// Sets to their first values all arrays that the next stages need so, and the table of column
/// blocks if it is there. Asynchronous, as all stages are.
void clear_for_forest(const panel_arrays& p);

/// Finds the forest of nearest parents of A + A^T, which is the elimination tree if the numbering
/// is a postorder of it, and adds up what A lacks to be symmetric.
void find_forest(const matrix_view& a, const panel_arrays& p);

/// Finds the elimination tree and a postorder of it; vertices are labels from here on. The totals
/// are zero again. Throws budget_error.
void relabel(const matrix_view& a, panel_arrays& p, memory_budget& budget);

/// Finds the first panel of the subtree of each panel.
first_panels find_first_panels(const panel_arrays& p);

/// Finds the nearest place beyond each of `size` places whose value is up to the number of the
/// place, 2^32 - 1 where there is none. `spare` has room for the levels of minima: size / 31 + 7.
void find_nearest(const std::uint32_t* values, index_t size, std::uint32_t* spare,
                  std::uint32_t* nearest);

// Stage 2, cut.cu: elimination forest -> panels. Twin: cut.hpp.

/// Lists of the children of vertices that have several, ascending; the list of vertex p begins at
/// first_child(p). depth[v] is the number of vertices up to v whose parents are behind v: the place
/// of v on a stack where each vertex takes the place of its children.
struct sibling_lists {
  const std::uint32_t* children;
  const index_t* depth;
  index_t* list;

  /// Vertices up to p less depth[p] - 1 are the children of p and of all before it.
  GSOFA_DEVICE offset_t first_child(index_t p) const {
    return offset_t{p} + 1 - depth[p] - children[p];
  }
};

/// Counts the vertices with siblings that have an edge from their parent into their subtree. The
/// child of j above its neighbour i < j is the first that is not before i.
struct justification {
  sibling_lists siblings;
  std::uint32_t* marks;  ///< n zeros; null: nothing is counted

  /// Looks at an entry; returns 1 if it is the first found of a vertex.
  GSOFA_DEVICE std::uint32_t visit(index_t row, index_t column) const {
    const index_t i = row < column ? row : column;
    const index_t j = row < column ? column : row;
    if (i == j || siblings.children[j] < 2) return 0;
    offset_t low = siblings.first_child(j);
    for (offset_t high = low + siblings.children[j] - 1; low < high;) {
      const offset_t middle = (low + high) / 2;
      if (siblings.list[middle] < i) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    const index_t child = siblings.list[low];
    std::uint32_t* const mark = marks + child;
    return simt::load_shared_state(mark) == 0 && simt::atomic_exchange(mark, std::uint32_t{1}) == 0
               ? 1
               : 0;
  }
};

/// Cuts the forest into panels of at most `width` vertices; lists siblings unless the forest is
/// known to be the elimination tree.
void cut_panels(const panel_arrays& p, index_t width, bool is_etree);

/// What counts the vertices that are justified, if `counts`: the forest is the elimination tree iff
/// they are as many as have siblings.
justification justification_of(const panel_arrays& p, bool counts);

/// Adds one number of each thread to the total.
GSOFA_DEVICE void add_to(std::uint32_t* total, std::uint32_t mine) {
  for (unsigned step = 16; step > 0; step /= 2) mine += simt::shuffle_xor(mine, step);
  if (lane_index() == 0 && mine != 0) simt::atomic_add(total, mine);
}

// Stage 3, lists.cu: panels and A -> column blocks of every panel, lengths of position lists. Twin:
// lists.hpp.

/// Finds the column blocks of all panels, and the lengths of their lists. `justifies`: also counts
/// whether the forest is the elimination tree. For n >= limits.many_vertices the host waits for
/// sizes. When the note arrives, its totals say whether the table was too small. Throws
/// budget_error.
void find_lists(const matrix_view& a, panel_arrays& p, const panel_limits& limits,
                memory_budget& budget, bool justifies);

/// After a table was too small, in which `found` column blocks have found a place.
void grow_table(panel_arrays& p, offset_t found, const panel_limits& limits,
                const memory_budget& budget);

/// Copies the column blocks from the table, those of each panel side by side.
void collect_column_blocks(const panel_arrays& p);

/// Lists the ancestors of each panel, and sorts the first `count` column blocks by panel and
/// target.
void sort_column_blocks(const panel_arrays& p, offset_t count);

// Stage 4, positions.cu: column blocks -> position lists, places in the lists of parents, empty
// masks.

/// Writes them for all panels.
void write_positions(const panel_arrays& p);

/// Panels that are assigned a place, and the places.
struct fresh_panels {
  index_t count;
  const index_t* panel;
  const offset_t* begin;
};

/// Assigns the panels their places and writes their positions.
void write_positions(const panel_arrays& p, const fresh_panels& fresh);

// Stage 5, masks.cu: the masks of the entries of A.

/// Sets the bits of the entries of A in the panels, whose masks are empty.
void set_masks(const matrix_view& a, const panel_arrays& p);

/// The same in the panels from `from` on that have a place. A panel that had one in the wave before
/// is not factored yet, and has these bits already.
void set_masks_of_wave(const matrix_view& a, const panel_arrays& p, index_t from);

// Stage 6, close.cu and eliminate/: masks of A -> masks of L + U. close.cu closes the masks of a
// symmetric pattern without elimination; eliminate/eliminate.hpp is the interface for all others.

/// Where the entries of the rows of L and U are counted; null: they are not.
struct row_counts {
  std::uint32_t* l = nullptr;
  std::uint32_t* u = nullptr;
};

/// Completes the masks of the panels of one wave, which hold A; waves ascend. Adds the entries of
/// these panels to `counts`, as count_rows() does. Masks and counts are those of L and U unless
/// `refuted`, in pinned memory of the host, becomes 1: L was not U transposed. Asynchronous.
void close_masks(const panel_arrays& p, panel_range wave, row_counts counts,
                 std::uint32_t* refuted);

// Stage 7, counts.cu, rows.cu and supernodal.cu: masks of L + U -> counts, digests, supernodes,
// rows. Twin: results.hpp.

/// Counts the entries of the panels of a wave by row, and adds up their hashes if digests are
/// requested. Asynchronous, as all calls here are.
void count_rows(const panel_view& panels, panel_range wave, const row_results& rows);

/// Where panels are not kept, a number per column tells what T3 supernodes have to know of L: the
/// last row of the run of entries below the diagonal. The walk along the rows asks for L(s, r) only
/// where L(r + 1, r) to L(s - 1, r) are entries.
struct column_runs {
  const index_t* last;
  index_t begin = 0;
  index_t sources;

  GSOFA_DEVICE bool has(index_t slot, index_t v) const { return last[v] >= slot; }
};

/// Sets, for the columns of the panels of the wave, the last rows of column_runs, as far as the
/// chunk of the panel's last column.
void find_column_runs(const panel_view& panels, panel_range wave, index_t n, index_t chunk,
                      index_t* last);

/// Finds T3 supernodes of rows from panels that were all kept.
void find_supernodes(const panel_view& panels, row_results& rows, index_t chunk);

/// All rows as bits, read off the masks.
struct panel_rows {
  panel_view p;
  index_t n;
  index_t begin = 0;
  index_t sources;

  GSOFA_DEVICE bool has(index_t slot, index_t v) const {
    const index_t i = p.vertex(begin + slot);
    const index_t k = p.vertex(v);
    if (i == k) return true;
    const index_t low = i < k ? i : k;
    const index_t j = p.panel_of[low];
    const index_t z = p.position(j, i < k ? k : i);
    if (z < 0) return false;
    const mask_pair m = p.masks[p.position_begin[j] + z];
    return ((i < k ? m.upper : m.lower) >> (low - p.begin[j]) & 1U) != 0;
  }
};

/// Sets the bits of the rows begin .. begin + sources - 1 in a zeroed bitmap of `words` words a
/// row.
void set_row_bits(const panel_view& panels, index_t begin, index_t sources, std::size_t words,
                  std::uint32_t* bits);

/// L and U by sorted rows on the device, in the caller's numbering.
class panel_expansion {
 public:
  /// Expands factored panels that were not relabelled (a row's columns ascend with panels and
  /// positions then). The counts are those of all rows, u_counts with the diagonal. Returns false,
  /// with nothing held, if the budget does not admit the result. Asynchronous at its end.
  bool run(const panel_view& panels, const std::uint32_t* l_counts, const std::uint32_t* u_counts,
           offset_t column_blocks, memory_budget& budget);
  void release();
  /// Copies both to the host, on at most `threads` host threads.
  void to_host(index_t n, int threads, pattern& l, pattern& u) const;
  /// Where they are on the device, valid until release().
  [[nodiscard]] device_rows l_there(index_t n) const { return there(n, l_ptr_, l_idx_); }
  [[nodiscard]] device_rows u_there(index_t n) const { return there(n, u_ptr_, u_idx_); }

 private:
  static device_rows there(index_t n, const device_array<offset_t>& ptr,
                           const device_array<index_t>& idx) {
    return {n, idx.size(), ptr.data(), idx.data()};
  }
  device_array<offset_t> l_ptr_, u_ptr_;
  device_array<index_t> l_idx_, u_idx_;
};

/// supernodal_pattern on the device.
struct supernodal_arrays {
  index_t supernodes = 0;
  device_array<index_t> begin{}, rows{}, segments{};
  device_array<offset_t> row_begin{}, segment_begin{};
};

/// L + U by supernodes of columns, from factored panels that were not relabelled. Throws
/// budget_error if the budget does not admit it, input_error for a fault of `rule`.
supernodal_arrays supernodal_of_panels(const panel_view& panels, offset_t column_blocks,
                                       const supernode_rule& rule, memory_budget& budget);

/// The same of the padded pattern, where each vertex of these panels stands for the columns `of` of
/// it and `s` was cut with contraction::fixed, in memory of the caller; `added` becomes
/// added_columns(). Asynchronous at its end.
device_supernodal_pattern expand_leaves(const supernodal_arrays& s,
                                        std::span<const column_range> of, memory_budget& budget,
                                        const caller_memory& memory,
                                        std::vector<std::uint32_t>& added);

/// Sizes of a structure.
struct panel_sizes {
  offset_t positions = 0;
  offset_t column_blocks = 0;
};
/// The same on the host, in the memory that `out` has as far as it reaches; copied by at most
/// `threads` host threads, the rows while the device finds the segments.
void supernodal_to_host(const panel_view& panels, const panel_sizes& sizes,
                        const supernode_rule& rule, int threads, memory_budget& budget,
                        supernodal_pattern& out);

#endif

}  // namespace gsofa::panels
