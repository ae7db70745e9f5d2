#pragma once

/// Device memory that the stages from the matrix to the masks of A share.

#include <vector>

#include "common/run_context.hpp"
#include "variants/device/batch_rows.hpp"
#include "variants/device/matrix_entries.hpp"
#include "variants/panels/boundaries.hpp"
#include "variants/panels/device_tuning.hpp"
#include "variants/panels/eliminate/elimination_settings.hpp"
#include "variants/panels/panel_view.hpp"

namespace gsofa::panels {

#if defined(GSOFA_GPU)

/// The limits of a structure.
struct panel_limits {
  index_t width = mask_bits;      ///< most vertices of a panel, 1..64
  offset_t most_positions = 0;    ///< at once; 0: as many as the budget admits
  offset_t reserve = 0;           ///< bytes of the budget to leave for others
  offset_t reserve_of_waves = 0;  ///< additional bytes to leave if there are several waves
  bool waves = false;             ///< panels may be released when they have updated their ancestors
  index_t many_vertices = list_tuning::many_vertices;

  /// Bytes of the budget that a structure may take.
  [[nodiscard]] offset_t bytes_left(const memory_budget& budget) const {
    return budget.limit() - budget.used() - reserve;
  }
  [[nodiscard]] offset_t positions_at_once() const;
};

/// Bytes of a column block in the table, loose, or sorted.
inline constexpr offset_t bytes_per_column_block = sizeof(column_block);

/// Bytes of a value of the scans over vertices and panels.
inline constexpr offset_t most_scanned = 24;

/// Bytes of the three arrays per position.
inline constexpr offset_t bytes_per_position = sizeof(mask_pair) + 2 * sizeof(index_t);
/// What the device reports to the host.
struct structure_totals {
  offset_t column_blocks;
  offset_t positions;
  offset_t longest;  ///< positions of the longest panel
  std::uint32_t panels;
  std::uint32_t overflow;   ///< nonzero: the table of column blocks was too small
  std::uint32_t siblings;   ///< vertices with siblings in the forest of nearest parents
  std::uint32_t justified;  ///< those of them in whose subtree the parent has a neighbour
  /// Sum of a hash of every entry of A above the diagonal less those of the partners of the entries
  /// below: zero where A is symmetric, and hardly anywhere else.
  unsigned long long unbalance;

  /// Whether that forest is the elimination tree.
  GSOFA_DEVICE bool is_etree() const { return siblings == justified; }
};

/// The same on the host.
inline bool is_elimination_tree(const structure_totals& found) {
  return found.siblings == found.justified;
}

/// A copy of the totals in memory of the host.
struct structure_note {
  structure_totals totals;
  std::uint32_t number;  ///< 1 as soon as the totals are there
};

/// The arrays. A stage reads what earlier stages have written; sizes are known once the host has
/// read the totals. Arrays over vertices are allocated once for a matrix, the others by the stage
/// that fills them. One allocation may hold several arrays.
struct panel_arrays {
  /// Allocates the arrays over vertices. Throws budget_error if they do not fit.
  void prepare(index_t vertices, memory_budget& budget);
  /// Gives back everything else.
  void release();
  void release_positions();
  /// Allocates the table of column blocks. Returns false where the limits do not admit it.
  bool take_table(const panel_limits& limits, memory_budget& budget);
  void take_loose(memory_budget& budget);
  void take_column_blocks(memory_budget& budget);
  void take_positions(offset_t count, memory_budget& budget);
  /// Takes over the sizes that the device has found.
  void adopt(const structure_totals& found);
  [[nodiscard]] panel_view view() const;

  // Sizes.
  index_t n = 0;
  index_t panels = 0;
  offset_t positions = 0;  ///< of all panels
  offset_t held = 0;       ///< positions that are held at once
  offset_t column_blocks = 0;
  index_t longest = 0;         ///< positions of the longest panel
  offset_t bytes_missing = 0;  ///< bytes of the budget that building has come to need; 0: unknown
  bool relabelled = false;     ///< vertices are labels: the numbering was no postorder
  bool symmetric = false;      ///< A is, by a sum of hashes: false is certain, true is not

  // Forest. Parent of each vertex in the elimination tree; roots hold a value >= n.
  device_array<std::uint32_t> tree_parent;
  device_array<index_t> order, label;
  device_array<std::uint32_t> hint;    ///< n words, first the least neighbours
  device_array<std::uint32_t> minima;  ///< their minima by groups
  // Panels.
  device_array<index_t> low, depth, siblings, panel_of, begin, panel_parent;
  // Lists.
  device_array<offset_t> column_block_begin, position_begin;
  device_array<column_block> table;
  offset_t capacity = 0, first_capacity = 0;  ///< places of the table, and of the first one
  boundary_lists boundaries;                  ///< column blocks of many panels
  bool by_targets = false;                    ///< boundaries has them, or had them
  bool too_many = false;                      ///< column blocks for 32-bit numbers
  device_array<column_block> loose_blocks;    ///< before they are sorted
  device_array<index_t> by_panel, by_position;
  device_array<mask_t> by_column_block;
  device_array<mask_pair> masks;
  // Zero before the forest is found.
  device_array<std::uint32_t> zeroed;
  device_array<unsigned char> partial;  ///< of a scan
  pinned_vector<unsigned char> note_words;

  /// Arrays of n words in `zeroed`, behind the totals and the control words.
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
  [[nodiscard]] structure_totals* totals() const {
    return reinterpret_cast<structure_totals*>(zeroed.data());
  }
  /// An elimination_control, zero once the panels are cut.
  [[nodiscard]] std::uint32_t* control() const;
  [[nodiscard]] unsigned long long* boundary_length() const {
    return reinterpret_cast<unsigned long long*>(zeros(in_length));
  }
  /// Number of children of each panel.
  [[nodiscard]] const std::uint32_t* children() const { return zeros(in_panel_children); }
  /// A zero for each panel once the panels are cut.
  [[nodiscard]] std::uint32_t* finished() const { return zeros(in_finished); }
  [[nodiscard]] structure_note& note() {
    return *reinterpret_cast<structure_note*>(note_words.data());
  }
  [[nodiscard]] index_t* lengths() const { return low.data(); }
  [[nodiscard]] index_t* above() const { return by_panel.data(); }
  [[nodiscard]] index_t* single_child_steps() const {
    return by_panel.data() + offset_t{panels} * most_steps;
  }
  [[nodiscard]] index_t* column_block_panel() const {
    return reinterpret_cast<index_t*>(by_column_block.data() + column_blocks);
  }
  [[nodiscard]] index_t* column_block_first() const { return column_block_panel() + column_blocks; }
  [[nodiscard]] index_t* columns() const { return by_position.data(); }
  [[nodiscard]] index_t* in_parent() const { return by_position.data() + held; }
  [[nodiscard]] loose_column_blocks loose() const {
    return {loose_blocks.data(), reinterpret_cast<index_t*>(loose_blocks.data() + column_blocks)};
  }
};

/// All entries of a matrix on the device.
inline matrix_view view_of(const device_matrix& a) {
  return entries_of(a.row_ptr(), a.col_idx(), a.rows().n, a.rows().nnz);
}

#endif

}  // namespace gsofa::panels
