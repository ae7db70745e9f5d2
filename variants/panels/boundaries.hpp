#pragma once

/// Column blocks of all panels of large patterns, found target by target (boundaries.cu).

#include <vector>

#include "variants/device/runtime.hpp"
#include "variants/panels/panel_view.hpp"

namespace gsofa::panels {

#if defined(GSOFA_GPU)

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

/// Boundaries of all panels, found target by target (boundaries.cu).
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

#endif

}  // namespace gsofa::panels
