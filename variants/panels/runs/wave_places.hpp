#pragma once

/// Panels one wave after another, where the budget does not admit all positions at once
/// (waves.hpp).

#include <algorithm>
#include <vector>

#include "variants/panels/panel_arrays.hpp"
#include "variants/panels/waves.hpp"

namespace gsofa::panels {

#if defined(GSOFA_GPU)

/// The waves of panels, which ascend, and where the panels of each have their positions.
class wave_places {
 public:
  /// Divides the panels into waves, for which the host waits, and allocates their positions.
  /// Returns false where the limits do not admit a panel and its ancestors. Throws budget_error.
  bool plan(panel_arrays& p, const panel_limits& limits, memory_budget& budget);
  void release();
  /// Number of waves.
  [[nodiscard]] index_t count() const {
    return std::max<index_t>(1, static_cast<index_t>(waves_.size()));
  }
  /// Assigns places to the panels of wave k and to the ancestors that they update, releases those
  /// of the waves before, and writes position lists and masks of A; in ascending order of k. Does
  /// nothing where there is one wave. Returns the panels of the wave.
  panel_range begin(index_t k, const matrix_view& a, const panel_arrays& p);

 private:
  std::vector<panel_wave> waves_;
  device_array<index_t> fresh_;    // panels that a wave assigns places to
  device_array<offset_t> places_;  // their places
};

#endif

}  // namespace gsofa::panels
