#pragma once

/// The column blocks of all panels by target: what the rows of L and the columns of U of a panel
/// are read from.

#include "variants/panels/stages_device.hpp"

namespace gsofa::panels {

#if defined(GSOFA_GPU)

/// A column block as the rows of its target panel see it.
struct target_block {
  mask_t members;   ///< vertices of the target
  offset_t first;   ///< where the position of the lowest vertex is
  index_t columns;  ///< first vertex of the panel that has the column block
};

/// The column blocks in the order of their targets, those of one target in the order of panels.
struct target_list_view {
  const index_t* begin;  ///< panels + 1: where the list of each target begins
  const target_block* column_blocks;
};

class target_lists {
 public:
  /// Lists and sorts the column blocks, at most max_index of them. Throws budget_error, with
  /// nothing held. Asynchronous at its end.
  target_lists(const panel_view& panels, offset_t column_blocks, memory_budget& budget,
               const char* structure);
  [[nodiscard]] target_list_view view() const { return {begin_.data(), by_target_.data()}; }

 private:
  device_array<target_block> by_target_;
  device_array<index_t> begin_;
};

#endif

}  // namespace gsofa::panels
