#pragma once

/// The panels as kernels see them. README.md has the terms.

#include "variants/panels/device_masks.hpp"
#include "variants/panels/waves.hpp"

namespace gsofa::panels {

#if defined(GSOFA_GPU)

/// The number of ancestors that a panel knows.
inline constexpr index_t most_steps = 8;

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

#endif

}  // namespace gsofa::panels
