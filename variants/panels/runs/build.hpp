#pragma once

/// From a matrix on one device to masks set to A: the stages one after another.

#include <functional>
#include <span>

#include "variants/panels/panel_arrays.hpp"
#include "variants/panels/runs/wave_places.hpp"

namespace gsofa::panels {

#if defined(GSOFA_GPU)

/// Builds tree, panels, lists, positions and masks of A for all panels. Returns false if
/// the limits do not admit the positions; then only the arrays of prepare() are held, and
/// p.bytes_missing is the budget that would suffice, as far as it is known. Asynchronous at its
/// end. If the limits admit only a part of the positions at a time, `waves` has several waves, and
/// waves.begin() writes the position lists and masks.
bool build(const matrix_view& a, panel_arrays& p, wave_places& waves, const panel_limits& limits,
           memory_budget& budget, run_context& context);

/// Finds the panels of all vertices, by label where the numbering is no postorder, and calls
/// known() when the device has them: once more where they change. Returns false where the limits do
/// not admit the labels. Throws budget_error.
bool find_panels(const matrix_view& a, panel_arrays& p, const panel_limits& limits,
                 memory_budget& budget, const std::function<void()>& known);

/// Calls enter() to find the lists until the table is large enough, which it is emptied for.
/// Returns false where the limits do not admit the table. Throws budget_error.
bool enter_lists(panel_arrays& p, const panel_limits& limits, memory_budget& budget,
                 run_context& context, const std::function<void()>& enter);

/// Sorts the column blocks and writes the position lists by set_masks(), or plans waves where
/// `waves` is not null. Returns false where the limits do not admit them. Throws budget_error.
bool fill(panel_arrays& p, const panel_limits& limits, memory_budget& budget,
          const std::function<void()>& set_masks, wave_places* waves = nullptr);

#endif

}  // namespace gsofa::panels
