#pragma once

/// Stage 3 on the device: panels and A -> column blocks of every panel, lengths of position lists.
/// Twin: panels.hpp.

#include "variants/panels/panel_arrays.hpp"

namespace gsofa::panels {

#if defined(GSOFA_GPU)

/// Finds the column blocks of all panels, and the lengths of their lists. `justifies`: also counts
/// whether the forest is the elimination tree. For n >= limits.many_vertices the host waits for
/// sizes. When the note arrives, its totals say whether the table was too small. Throws
/// budget_error.
void find_lists(const matrix_view& a, panel_arrays& p, const panel_limits& limits,
                memory_budget& budget, bool justifies);

/// After a table was too small, in which `found` column blocks have found a place.
void grow_table(panel_arrays& p, offset_t found, const panel_limits& limits,
                const memory_budget& budget);

/// Copies the column blocks from the table, those of each panel side by side.
void collect_column_blocks(const panel_arrays& p);

/// Lists the ancestors of each panel, and sorts the first `count` column blocks by panel and
/// target.
void sort_column_blocks(const panel_arrays& p, offset_t count);

#endif

}  // namespace gsofa::panels
