#pragma once

/// Stage 1 on the device: matrix -> elimination forest. Twin: forest.hpp.

#include "variants/panels/panel_arrays.hpp"

namespace gsofa::panels {

#if defined(GSOFA_GPU)

/// Sets to their first values all arrays that the next stages need so, and the table of column
/// blocks if it is there. Asynchronous, as all stages are.
void clear_for_forest(const panel_arrays& p);

/// Finds the forest of nearest parents of A + A^T, which is the elimination tree if the numbering
/// is a postorder of it, and adds up what A lacks to be symmetric.
void find_forest(const matrix_view& a, const panel_arrays& p);

/// Finds the elimination tree and a postorder of it; vertices are labels from here on. The totals
/// are zero again. Throws budget_error.
void relabel(const matrix_view& a, panel_arrays& p, memory_budget& budget);

/// Finds the first panel of the subtree of each panel.
first_panels find_first_panels(const panel_arrays& p);

/// Finds the nearest place beyond each of `size` places whose value is up to the number of the
/// place, 2^32 - 1 where there is none. `spare` has room for the levels of minima: size / 31 + 7.
void find_nearest(const std::uint32_t* values, index_t size, std::uint32_t* spare,
                  std::uint32_t* nearest);

#endif

}  // namespace gsofa::panels
