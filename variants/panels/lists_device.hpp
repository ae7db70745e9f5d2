#pragma once

/// Stage 3 on the device: panels and A -> column blocks of every panel, lengths of position lists.
/// Twin: panels.hpp.

#include <span>

#include "variants/panels/pack.hpp"
#include "variants/panels/panel_arrays.hpp"

namespace gsofa::panels {

#if defined(GSOFA_GPU)

/// Finds the column blocks of all panels that are held, and the lengths of their lists. `a`: the
/// entries that may belong to these panels. `justifies`: also counts whether the forest is the
/// elimination tree. From limits.many_vertices on the host waits for sizes. When the note arrives,
/// its totals say whether the table was too small. Throws budget_error.
void find_lists(std::span<const matrix_view> a, panel_arrays& p, const panel_limits& limits,
                memory_budget& budget, bool justifies);

/// The same of panels of `top` that other parts have packed.
void join_lists(std::span<const packed_panels* const> parts, panel_arrays& p);

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
