#pragma once

/// The last stages on one device: masks of A -> masks of L + U -> counts, wave by wave.

#include "common/run_context.hpp"
#include "variants/panels/eliminate/eliminate.hpp"
#include "variants/panels/runs/settings.hpp"
#include "variants/panels/stages_device.hpp"

namespace gsofa::panels {

#if defined(GSOFA_GPU)

/// What is counted while panels are completed.
struct counted_results {
  const row_results& rows;
  index_t n = 0;                   ///< rows of A
  index_t chunk = 0;               ///< of T3 supernodes
  index_t* column_runs = nullptr;  ///< of column_runs; null: not requested
};

/// Closes or eliminates panels, and counts what they own.
class mask_completion {
 public:
  /// Allocates the arrays for n vertices. Throws budget_error.
  void prepare(index_t n, const elimination_settings& settings, memory_budget& budget);
  /// Begins a run: `when` says whether its masks are closed.
  void begin(closing_masks when);
  /// Whether the masks of `p` are closed and not eliminated.
  [[nodiscard]] bool closes(const panel_arrays& p) const {
    return closing_ == closing_masks::always ||
           (closing_ == closing_masks::where_symmetric && p.symmetric);
  }
  /// Completes the panels of one wave, whose masks hold A and the updates of earlier waves, and
  /// counts them. Asynchronous.
  void complete(const panel_arrays& p, panel_range wave, const counted_results& counted,
                device_phases& phases, run_context& context);
  /// Valid once the device has done what complete() launched: whether closed masks were not those
  /// of L + U.
  [[nodiscard]] bool refuted() const { return refuted_[0] != 0; }
  /// Adds the work of the elimination to the counters, in the counting build.
  void report(run_context& context) const { elimination_.report(context); }

 private:
  panel_elimination elimination_;
  closing_masks closing_ = closing_masks::never;
  pinned_vector<std::uint32_t> refuted_;
};

#endif

}  // namespace gsofa::panels
