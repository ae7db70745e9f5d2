#pragma once

/// Panels of `top` (parts.hpp) on their way from the parts to the device that joins them.

#include <span>
#include <vector>

#include "variants/device/runtime.hpp"
#include "variants/panels/panel_arrays.hpp"

namespace gsofa::panels {

#if defined(GSOFA_GPU)

/// packed_panels in memory of the host, for another process.
struct packed_on_host {
  index_t panels = 0;
  offset_t blocks = 0, masks = 0;
  std::vector<mask_pair> words{};
};

/// Packed panels as kernels see them.
struct packed_view {
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

/// Panels of `top` that a part holds, with the column blocks and the masks that are not empty of
/// each one after another, all in one array on a device. Panels are numbered as in top_panels.
class packed_panels {
 public:
  packed_panels() = default;
  /// Allocates room for these numbers of panels, blocks and masks.
  packed_panels(index_t panels, offset_t blocks, offset_t masks, memory_budget& budget);
  packed_panels(const packed_on_host& from, memory_budget& budget);
  [[nodiscard]] packed_on_host on_host() const;
  /// A copy on device `to`, the current one, of what lies on device `from`.
  [[nodiscard]] packed_panels fetched(int from, int to, memory_budget& budget) const;

  [[nodiscard]] packed_view view() const;
  [[nodiscard]] offset_t blocks() const { return blocks_; }

 private:
  index_t panels_ = 0;
  offset_t blocks_ = 0, masks_ = 0;
  device_array<mask_pair> words_;  // holds all arrays
};

/// Packs the panels of `top` that a part holds: kind says which. Throws budget_error.
packed_panels pack(const panel_arrays& p, const top_panels& top, std::span<const panel_kind> kind,
                   memory_budget& budget);

/// Takes the panels of `top` by themselves, with labels, where `all` are the arrays of one of the
/// parts: n is the number of their vertices. Throws budget_error.
void take_top(panel_arrays& p, const panel_arrays& all, const top_panels& top,
              memory_budget& budget);

/// ORs the masks of packed panels into those of the same panels, whose lists have all of their
/// vertices.
void join_masks(const packed_panels& part, const panel_arrays& p);

#endif

}  // namespace gsofa::panels
