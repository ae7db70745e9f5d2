#pragma once

/// From a matrix on one device to masks set to A: the stages one after another.

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

#endif

}  // namespace gsofa::panels
