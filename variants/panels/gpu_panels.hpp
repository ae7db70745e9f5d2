#pragma once

/// Panels of the elimination tree of A + A^T as bit masks on the device: see README.md and
/// gpu_bitmap_panels.cu.

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "common/device_rows.hpp"
#include "common/run_context.hpp"
#include "common/supernodal.hpp"
#include "variants/device/batch_rows.hpp"
#include "variants/device/caller_memory.hpp"
#include "variants/device/gpu_variant.hpp"
#include "variants/device/runtime.hpp"
#include "variants/panels/eliminate/elimination_settings.hpp"
#include "variants/panels/parts.hpp"
#include "variants/panels/waves.hpp"

namespace gsofa::gpu {

using panels::elimination_settings;
using panels::handing_over;

#if defined(GSOFA_GPU)

/// A set of columns (or rows) of one panel: bit c is vertex begin + c.
using mask_t = std::uint64_t;
inline constexpr index_t mask_bits = 64;

GSOFA_DEVICE mask_t bit(index_t c) { return mask_t{1} << c; }
/// Bits 0 .. c-1, for 0 <= c <= 63.
GSOFA_DEVICE mask_t below(index_t c) { return bit(c) - 1; }
/// Bits c+1 .. 63, for 0 <= c <= 63.
GSOFA_DEVICE mask_t above(index_t c) { return ~mask_t{0} << 1 << c; }

/// Rows l and l + 32 of a 64 x 64 bit matrix, in lane l of a warp.
struct row_pair {
  mask_t low, high;
};

/// Transposes matrices side by side, so that the shuffles of one matrix do not wait for those of
/// another.
template <int Count>
GSOFA_DEVICE void transpose(row_pair (&m)[Count]) {
  // Each 32 x 32 block is transposed by itself, and the two off the diagonal change places. In a
  // step the lanes l and l + step exchange halves of groups of 2 step bits.
  std::uint32_t words[Count][4];
  GSOFA_UNROLL for (int q = 0; q < Count; ++q) {
    words[q][0] = static_cast<std::uint32_t>(m[q].low);
    words[q][1] = static_cast<std::uint32_t>(m[q].high);
    words[q][2] = static_cast<std::uint32_t>(m[q].low >> 32);
    words[q][3] = static_cast<std::uint32_t>(m[q].high >> 32);
  }
  constexpr std::uint32_t lower_bits[] = {0x0000ffffU, 0x00ff00ffU, 0x0f0f0f0fU, 0x33333333U,
                                          0x55555555U};
  GSOFA_UNROLL for (int k = 0; k < 5; ++k) {
    const unsigned step = 16U >> k;
    const bool first = (lane_index() & step) == 0;
    const std::uint32_t keep = first ? lower_bits[k] : ~lower_bits[k];
    const unsigned turn = first ? step : 32 - step;
    GSOFA_UNROLL for (int q = 0; q < Count; ++q) {
      GSOFA_UNROLL for (std::uint32_t& mine : words[q]) {
        const std::uint32_t other = simt::rotate_left(simt::shuffle_xor(mine, step), turn);
        mine = (mine & keep) | (other & ~keep);
      }
    }
  }
  GSOFA_UNROLL for (int q = 0; q < Count; ++q) {
    m[q] = {static_cast<mask_t>(words[q][1]) << 32 | words[q][0],
            static_cast<mask_t>(words[q][3]) << 32 | words[q][2]};
  }
}

/// The number of ancestors that a panel knows.
inline constexpr index_t most_steps = 8;

/// What one position z of a panel with vertices b .. b+w-1 says of f = F[z].
struct alignas(16) mask_pair {
  mask_t upper;  ///< bit c: U(b+c, f) != 0, f > b+c
  mask_t lower;  ///< bit c: L(f, b+c) != 0, f > b+c
};

/// The panels as kernels see them. The position list F_J of panel J is its own vertices, then its
/// boundary, ascending. The boundary is also held as column blocks: for every panel T that it
/// meets, in ascending order, the mask of its vertices in T. Element position_begin[J] + z of the
/// last three arrays belongs to position z of J, element column_block_begin[J] + q of the column
/// block arrays to column block q. Where panels are eliminated in waves, position_begin[J] is
/// negative while no place is assigned to J.
struct panel_view {
  index_t n;
  index_t panels;
  const index_t* order;                ///< caller's number of each vertex; null: the same
  const index_t* label;                ///< its inverse
  const index_t* begin;                ///< panels + 1: first vertex of each
  const index_t* panel_of;             ///< n
  const index_t* parent;               ///< panel of q(J); -1: none
  const index_t* above;                ///< most_steps each: the next panels on the way up; -1: none
  const index_t* single_child_steps;   ///< how many of these, from the first on, have one child
  const offset_t* column_block_begin;  ///< panels + 1
  const offset_t* position_begin;      ///< of each panel
  const index_t* lengths;              ///< number of positions of each panel
  const index_t* column_block_panel;
  const mask_t* column_block_mask;
  const index_t* column_block_first;  ///< position of the lowest vertex of the column block
  const index_t* columns;             ///< F lists
  const index_t* in_parent;           ///< of a boundary position: its position in the parent panel
  mask_pair* masks;
  /// Where the structure is that of a part of the panels: of each panel; else null.
  const panel_kind* kind;

  GSOFA_DEVICE bool holds(index_t j) const {
    return kind == nullptr || kind[j] != panel_kind::foreign;
  }
  GSOFA_DEVICE bool owns(index_t j) const { return kind == nullptr || kind[j] == panel_kind::own; }
  GSOFA_DEVICE index_t width(index_t j) const { return begin[j + 1] - begin[j]; }
  GSOFA_DEVICE index_t length(index_t j) const { return lengths[j]; }
  GSOFA_DEVICE index_t caller(index_t v) const { return order == nullptr ? v : order[v]; }
  GSOFA_DEVICE index_t vertex(index_t row) const { return label == nullptr ? row : label[row]; }

  /// Position of vertex f in the list of panel j; -1 if it is not there. O(log column blocks).
  GSOFA_DEVICE index_t position(index_t j, index_t f) const {
    const index_t t = panel_of[f];
    const index_t inside = f - begin[t];
    if (t == j) return inside;
    offset_t low = column_block_begin[j];
    const offset_t end = column_block_begin[j + 1];
    for (offset_t high = end; low < high;) {
      const offset_t middle = low + (high - low) / 2;
      if (column_block_panel[middle] < t) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    if (low == end || column_block_panel[low] != t) return -1;
    const mask_t mask = column_block_mask[low];
    if ((mask >> inside & 1U) == 0) return -1;
    return column_block_first[low] + static_cast<index_t>(simt::population(mask & below(inside)));
  }
};

// From so many vertices on boundaries are found target by target, with waits of the host in
// between, which smaller patterns would notice.
#if defined(__CUDACC__)
inline constexpr index_t many_vertices = 400'000;
#else
inline constexpr index_t many_vertices = 24;
#endif

/// The limits of a structure.
struct panel_limits {
  index_t width = mask_bits;      ///< most vertices of a panel, 1..64
  offset_t most_positions = 0;    ///< at once; 0: as many as the budget admits
  offset_t reserve = 0;           ///< bytes of the budget to leave for others
  offset_t reserve_of_waves = 0;  ///< in addition, where there are several
  bool waves = false;             ///< panels may be released when they have updated their ancestors
  index_t many_vertices = gpu::many_vertices;
};

/// Words that are all to be set to one value; they begin at a multiple of 16 bytes.
struct word_fill {
  std::uint32_t* words = nullptr;
  offset_t count = 0;
  std::uint32_t value = 0;
};

/// Bytes of the three arrays per position.
inline constexpr offset_t bytes_per_position = sizeof(mask_pair) + 2 * sizeof(index_t);

struct structure_totals;
/// Key (J + 1) << 32 | T, and the mask of the vertices of panel T in the boundary of panel J. An
/// unused slot is zero.
struct alignas(16) column_block {
  std::uint64_t key;
  mask_t mask;

  GSOFA_DEVICE index_t panel() const { return static_cast<index_t>((key >> 32) - 1); }
  GSOFA_DEVICE index_t target() const { return static_cast<index_t>(key & 0xffffffffU); }
};

/// The column blocks of each panel side by side, in no order, and the first position of each.
struct loose_column_blocks {
  column_block* column_blocks;
  index_t* first;
};

GSOFA_DEVICE std::uint64_t column_block_key(index_t panel, index_t target) {
  return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(panel) + 1) << 32) |
         static_cast<std::uint32_t>(target);
}

/// The first panel in the subtree of each panel. Panels are in postorder: with the numbers
/// mirrored, it lies before the nearest one beyond whose parent is not below (minima::nearest).
struct first_panels {
  index_t panels;
  const std::uint32_t* nearest;

  [[nodiscard]] GSOFA_DEVICE index_t first(index_t j) const {
    const auto mirrored = static_cast<index_t>(nearest[panels - 1 - j]);
    return mirrored < 0 ? 0 : panels - mirrored;
  }
};

/// What is counted of the boundary of each panel.
struct boundary_sizes {
  std::uint32_t* blocks;
  unsigned long long* members;
};

/// Boundaries of all panels, found target by target (gpu_boundaries.cu).
class boundary_lists {
 public:
  /// Lists the column blocks of a table, which are those of A's entries. Returns their number.
  offset_t list_first(const column_block* slots, offset_t capacity, index_t panels,
                      memory_budget& budget);
  /// Finds the column blocks of all panels, and adds to their sizes. Returns false where their
  /// number exceeds that of 32-bit places. Throws budget_error.
  bool climb(const index_t* panel_parent, const first_panels& subtrees, const boundary_sizes& sizes,
             memory_budget& budget);
  [[nodiscard]] offset_t count() const { return count_; }
  /// Writes them in the order of panels, and of targets in each; gives back all memory. begin:
  /// first vertices of the panels; first: positions of lowest members. Throws budget_error.
  void sort(const index_t* begin, const loose_column_blocks& sorted, index_t* targets,
            mask_t* masks, index_t* first, memory_budget& budget);
  void clear();

 private:
  int bits_ = 0;  // of the number of a panel
  offset_t count_ = 0;
  device_array<std::uint64_t> keys_;
  device_array<mask_t> first_masks_;
  device_array<column_block> blocks_;
  device_array<std::uint32_t> panels_;
};

/// packed_panels in memory of the host, for another process.
struct packed_on_host {
  index_t panels = 0;
  offset_t blocks = 0, masks = 0;
  std::vector<mask_pair> words{};
};

/// Panels of `top` that a part holds, with the column blocks and the masks that are not empty of
/// each one after another, all in one array on a device. Panels are numbered as in top_panels.
class packed_panels {
 public:
  packed_panels() = default;
  /// Room for so many.
  packed_panels(index_t panels, offset_t blocks, offset_t masks, memory_budget& budget);
  packed_panels(const packed_on_host& from, memory_budget& budget);
  [[nodiscard]] packed_on_host on_host() const;
  /// A copy on device `to`, the current one, of what lies on device `from`.
  [[nodiscard]] packed_panels fetched(int from, int to, memory_budget& budget) const;

  struct view_type {
    index_t panels;
    mask_pair* masks;
    mask_t* block_mask;
    offset_t* block_begin;  ///< panels + 1
    offset_t* mask_begin;   ///< panels + 1
    index_t* block_target;
    index_t* block_first;  ///< position in the part's list
    index_t* position;     ///< of each mask in the part's list
    index_t* panel;        ///< the number of each
  };
  [[nodiscard]] view_type view() const;
  [[nodiscard]] offset_t blocks() const { return blocks_; }

 private:
  index_t panels_ = 0;
  offset_t blocks_ = 0, masks_ = 0;
  device_array<mask_pair> words_;  // holds all arrays
};

/// Elimination tree, panels, position lists, and masks set to A.
class panel_structure {
 public:
  /// Takes the arrays over vertices, of one of `parts` parts. Throws budget_error if they do not
  /// fit.
  void prepare(index_t n, memory_budget& budget, int parts = 1);
  /// Computes all of it from the matrix on the device (square, rows in any order). Returns false,
  /// with nothing but the arrays of prepare() held, where the limits do not admit the positions.
  /// Asynchronous at its end. Where the limits admit a part of the positions at a time only,
  /// waves() is more than 1, and position lists and masks are those that begin_wave() has written.
  bool build(const device_matrix& a, offset_t nnz, const panel_limits& limits,
             memory_budget& budget, run_context& context);
  /// What divides panels, given the first vertex of each, one number more, and their parents.
  using division = std::function<panel_parts(std::span<const index_t>, std::span<const index_t>)>;
  /// The same for part k of the panels, which `divide` divides: position lists and masks are those
  /// of the part's own panels, and of the panels of `top` as far as own panels, and A there, add to
  /// them. row_ptr: of A, on the host.
  bool build_part(const device_matrix& a, std::span<const offset_t> row_ptr,
                  const panel_limits& limits, memory_budget& budget, run_context& context,
                  const division& divide, std::size_t k);
  /// Of the last build_part().
  [[nodiscard]] const panel_parts& parts() const { return parts_; }
  [[nodiscard]] const top_panels& top() const { return top_; }
  /// The panels of the part's range, without those of `top` at its beginning.
  [[nodiscard]] panel_range own_range() const { return own_; }
  /// Rows begin .. end - 1 of A, and their entries.
  struct row_range {
    index_t begin, end;
    offset_t first_entry, end_of_entries;
  };
  /// The rows that the part may have entries of L + U in; empty: all.
  [[nodiscard]] std::span<const row_range> held_rows() const { return ranges_; }
  /// Packs the panels of `top` that the part holds.
  [[nodiscard]] packed_panels pack(memory_budget& budget) const;
  /// Joins the panels of `top` that all parts hold, on one device, where `one` is the structure of
  /// one of the parts: the lists of all their positions, and the masks of all parts. Returns false
  /// where the limits do not admit them.
  bool build_top(const panel_structure& one, std::span<const packed_panels* const> parts,
                 const panel_limits& limits, memory_budget& budget);
  /// Gives back what build() has taken: only the arrays of prepare() are held then.
  void release();
  /// Number of waves of panels that have to be eliminated one after another.
  [[nodiscard]] index_t waves() const {
    return std::max<index_t>(1, static_cast<index_t>(waves_.size()));
  }
  /// Assigns places to the panels of wave k and to the ancestors that they update, releases those
  /// of the waves before, and writes position lists and masks of A; in ascending order of k. Does
  /// nothing where there is one wave. Returns the panels of the wave.
  panel_range begin_wave(index_t k, const device_matrix& a, offset_t nnz);
  /// After build() has returned false: bytes of the budget with which it would not have, as far as
  /// that is known; 0: it is not.
  [[nodiscard]] offset_t bytes_missing() const { return bytes_missing_; }
  /// Valid after build() has returned true, until the next call of build().
  [[nodiscard]] panel_view view() const;
  [[nodiscard]] offset_t positions() const { return positions_; }
  /// Positions that are held at once.
  [[nodiscard]] offset_t positions_held() const { return held_; }
  [[nodiscard]] offset_t column_blocks() const { return column_blocks_; }
  /// Number of positions of the longest panel.
  [[nodiscard]] index_t longest() const { return longest_; }
  [[nodiscard]] bool relabelled() const { return relabelled_; }
  /// Whether A is symmetric, by a sum of hashes: false is certain, true is not.
  [[nodiscard]] bool symmetric() const { return symmetric_; }
  /// The parent of each vertex in the elimination tree; of a root a number that is no vertex.
  [[nodiscard]] const std::uint32_t* tree_parent() const { return tree_parent_.data(); }
  /// Number of children of each panel.
  [[nodiscard]] const std::uint32_t* children() const;
  /// After build(): a zero for each panel, and control_words zeros more.
  [[nodiscard]] std::uint32_t* finished() const;
  [[nodiscard]] std::uint32_t* control() const;
  static constexpr offset_t control_words = sizeof(panels::elimination_control) / 4;

 private:
  void first_pass(const device_matrix& a, offset_t nnz, const panel_limits& limits,
                  memory_budget& budget);
  void clear_for_tree(word_fill table);
  void find_tree(const device_matrix& a, offset_t nnz, index_t width);
  void find_column_blocks(const device_matrix& a, offset_t nnz, const panel_limits& limits,
                          memory_budget& budget, bool justifies = false);
  void find_first_panels();
  void nearest_parents(const device_matrix& a, offset_t nnz);
  void cut(index_t width, bool is_etree);
  void relabel(const device_matrix& a, offset_t nnz, memory_budget& budget);
  bool make_table(const panel_limits& limits, memory_budget& budget);
  void climb_by_targets(const panel_limits& limits, memory_budget& budget);
  bool sort_boundaries(const panel_limits& limits, memory_budget& budget,
                       const std::function<void()>& set_masks);
  void take_loose(memory_budget& budget);
  void take_column_blocks(memory_budget& budget);
  void take_positions(offset_t positions, memory_budget& budget);
  void drop_positions();
  bool find_structure(const device_matrix& a, offset_t nnz, const panel_limits& limits,
                      memory_budget& budget, run_context& context);
  bool fill_structure(const panel_limits& limits, memory_budget& budget,
                      const std::function<void()>& set_masks);
  void grow_table(offset_t found, const panel_limits& limits, const memory_budget& budget);
  void justify(const device_matrix& a, offset_t nnz);
  bool find_panels(const device_matrix& a, const panel_limits& limits, memory_budget& budget,
                   const std::function<void()>& divide);
  bool relabel_panels(const device_matrix& a, const panel_limits& limits, memory_budget& budget,
                      const std::function<void()>& divide);
  void fetch_tree();
  [[nodiscard]] bool is_empty_part() const { return parts_.cut[part_] == parts_.cut[part_ + 1]; }
  [[nodiscard]] std::span<const index_t> begins_on_host() const;
  [[nodiscard]] std::span<const index_t> parents_on_host() const;
  void take_part(std::span<const offset_t> row_ptr, memory_budget& budget);
  bool count_part(const device_matrix& a, const panel_limits& limits, memory_budget& budget,
                  run_context& context);
  void take_top(const panel_structure& one, memory_budget& budget);
  bool join_column_blocks(std::span<const packed_panels* const> parts, const panel_limits& limits,
                          memory_budget& budget);
  void adopt(const structure_totals& found);
  void measure();
  void place_lists();
  bool plan(const panel_limits& limits, memory_budget& budget);
  void collect_column_blocks();
  void sort_column_blocks(offset_t count);
  template <class Visit>
  void for_each_range(const device_matrix& a, offset_t nnz, Visit&& visit) const;
  void write_positions();
  void place(const device_matrix& a, offset_t nnz);
  [[nodiscard]] loose_column_blocks loose() const;

  /// One array holds all that is zero at first: totals, control words, then arrays of n words.
  enum zero_array : int {
    in_length = 0,  ///< n words of 8 bytes
    in_column_block_count = 2,
    in_cursor,
    in_children,
    in_big_children,
    in_panel_children,
    in_marks,
    in_root,
    in_finished,
    zero_arrays
  };
  [[nodiscard]] std::uint32_t* zeros(zero_array which) const;
  [[nodiscard]] unsigned long long* length() const;
  [[nodiscard]] structure_totals* totals() const;

  index_t n_ = 0;
  index_t panels_ = 0;
  offset_t positions_ = 0, held_ = 0, column_blocks_ = 0, bytes_missing_ = 0;
  index_t longest_ = 0;
  bool relabelled_ = false, symmetric_ = false;
  device_array<std::uint32_t> zeroed_, tree_parent_, hint_, minima_;
  device_array<index_t> low_, depth_, siblings_, panel_of_, begin_, panel_parent_, order_, label_;
  device_array<unsigned char> partial_;  // of a scan
  device_array<offset_t> column_block_begin_, position_begin_;
  pinned_vector<unsigned char> note_;  // totals, on the host
  device_array<column_block> slots_;   // the table of column blocks
  boundary_lists boundaries_;          // where there are many panels
  bool by_targets_ = false;            // boundaries_ has the column blocks, or had them
  bool too_many_ = false;              // column blocks for 32-bit numbers
  offset_t capacity_ = 0;              // of it
  offset_t first_capacity_ = 0;        // of the first attempt
  // Of the result: several arrays in each, see view().
  [[nodiscard]] index_t* lengths() const;
  [[nodiscard]] index_t* above() const;
  [[nodiscard]] index_t* single_child_steps() const;
  [[nodiscard]] index_t* column_block_panel() const;
  [[nodiscard]] index_t* column_block_first() const;
  [[nodiscard]] index_t* columns() const;
  [[nodiscard]] index_t* in_parent() const;
  device_array<index_t> by_panel_, by_position_;
  device_array<mask_t> by_column_block_;
  device_array<mask_pair> masks_;
  device_array<column_block> loose_;  // column blocks before they are sorted
  // Where there are several waves.
  std::vector<panel_wave> waves_;
  device_array<index_t> fresh_;         // panels that a wave assigns places to
  device_array<offset_t> fresh_begin_;  // their places
  // Where the structure is that of a part.
  panel_parts parts_;
  top_panels top_;
  panel_range own_{0, 0};
  pinned_vector<panel_kind> kinds_;
  pinned_vector<index_t> tree_on_host_;
  device_array<panel_kind> kind_;
  std::vector<row_range> ranges_;
  std::size_t part_ = 0;
};

/// Where the entries of the rows of L and U are counted; null: they are not.
struct row_counts {
  std::uint32_t* l = nullptr;
  std::uint32_t* u = nullptr;
};

/// Completes the masks of a structure whose masks hold A, without elimination, where L is U
/// transposed; finds out where it is not.
class symmetric_closure {
 public:
  void prepare() { refuted_.assign(1, 0); }
  /// Completes the masks of the panels of one wave, all of them where there is one; waves ascend.
  /// Adds the entries of these panels to `counts`, as count_rows() does. Asynchronous. Masks and
  /// counts are those of L and U unless refuted().
  void run(const panel_structure& structure, panel_range wave, row_counts counts = {});
  /// Before the first wave.
  void expect() { refuted_[0] = 0; }
  /// Whether L was not U transposed in the waves since expect(), once the device has done what
  /// run() launched.
  [[nodiscard]] bool refuted() const { return refuted_[0] != 0; }

 private:
  pinned_vector<std::uint32_t> refuted_;
};

/// Finds the nearest place beyond each of `size` places whose value is up to the number of the
/// place, 2^32 - 1 where there is none. `spare` has room for the levels of minima: size / 31 + 7.
/// Asynchronous.
void find_nearest(const std::uint32_t* values, index_t size, std::uint32_t* spare,
                  std::uint32_t* nearest);

/// Where first rows of T3 supernodes are marked, zeros before; null: they are not. chunk: 0:
/// unlimited.
struct supernode_marks {
  unsigned char* is_start = nullptr;
  index_t chunk = 0;
};

/// Counts the rows of L and U of a symmetric pattern from its elimination tree alone, where the
/// numbering is a postorder of it; finds out where either is not so (gpu_symmetric_counts.cu).
class symmetric_counts {
 public:
  /// Takes the arrays; returns false, with nothing held, where the budget does not admit them.
  bool prepare(index_t n, memory_budget& budget);
  void release();
  [[nodiscard]] bool prepared() const { return zeroed_.size() > 0; }
  /// Adds to counts of zero. The launches depend on nothing but the size; asynchronous.
  void run(const device_rows& rows, row_counts counts, supernode_marks supernodes = {});
  /// Whether the counts of the last run() are those of L and U, once the device has done what it
  /// launched. If not, they are void.
  [[nodiscard]] bool exact() const { return note_[0] != 0; }

 private:
  device_array<std::uint32_t> zeroed_, first_, parent_, maxima_, minima_, partial_;
  offset_t header_ = 0;
  pinned_vector<std::uint32_t> note_;
};

/// L and U by sorted rows on the device, in the caller's numbering.
class panel_expansion {
 public:
  /// Expands factored panels that were not relabelled (a row's columns ascend with panels and
  /// positions then). The counts are those of all rows, u_counts with the diagonal. Returns false,
  /// with nothing held, if the budget does not admit the result. Asynchronous at its end.
  bool run(const panel_view& panels, const std::uint32_t* l_counts, const std::uint32_t* u_counts,
           offset_t column_blocks, memory_budget& budget);
  void release();
  /// Copies both to the host, on at most so many host threads.
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

/// Where panels are not kept, a number per column tells what T3 supernodes have to know of L: the
/// last row of the run of entries below the diagonal. The walk along the rows asks for L(s, r) only
/// where L(r + 1, r) to L(s - 1, r) are entries.
struct column_runs {
  const index_t* last;
  index_t begin = 0;
  index_t sources;

  GSOFA_DEVICE bool has(index_t slot, index_t v) const { return last[v] >= slot; }
};

/// Sets, by column that panels of the wave own, the last rows of column_runs, as far as the chunk
/// of the panel's last column. Asynchronous.
void find_column_runs(const panel_view& panels, panel_range wave, index_t n, index_t chunk,
                      index_t* last);

/// Counts the entries of the panels of a wave, as far as they are owned, by row, and adds up their
/// hashes if digests are wanted. Asynchronous.
void count_rows(const panel_view& panels, panel_range wave, const row_results& rows);

/// Add what another part has of `count` rows or columns: counts, digests, or the last rows of
/// column_runs, of which the greatest counts. Asynchronous.
void add_counts(offset_t count, const std::uint32_t* from, std::uint32_t* to);
void add_digests(offset_t count, const std::uint64_t* from, std::uint64_t* to);
void join_runs(offset_t count, const index_t* from, index_t* to);

/// The work of a search of all rows in the units of most_update_work.
std::int64_t work_of_search(index_t n, offset_t nnz);

/// Where masks are completed as those of a symmetric pattern before panels are eliminated: where A
/// is symmetric as far as counted, or nowhere, or everywhere.
enum class closing_masks : char { where_symmetric, never, always };

/// Settings of gpu_bitmap_panels that tests vary and users need not.
struct panel_tuning {
  elimination_settings elimination{};
  bool search = true;  ///< most_update_work is that of a search of rows, not that of `elimination`
  offset_t most_positions = 0;        ///< as in panel_limits
  bool waves = true;                  ///< where not all positions are admitted at once
  double longest_silent_search = 60;  ///< seconds of a search that the user is not told of
  closing_masks closing = closing_masks::where_symmetric;
  index_t many_vertices = gpu::many_vertices;  ///< as in panel_limits
};
std::unique_ptr<variant> make_bitmap_panels(const panel_tuning& tuning);

/// The same of gpu_bitmap_panels_multi.
struct multi_tuning {
  elimination_settings elimination{};
  closing_masks closing = closing_masks::where_symmetric;
};
std::unique_ptr<variant> make_bitmap_panels_multi(const multi_tuning& tuning);

#endif

}  // namespace gsofa::gpu
