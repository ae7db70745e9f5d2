#pragma once

#include <cstdint>
#include <span>

#include "common/device_rows.hpp"
#include "common/mask_pattern.hpp"
#include "common/pattern.hpp"
#include "gsofa/gsofa.hpp"
#include "harness/library/cpp/elimination_input.hpp"

// From what a variant found of the eliminated pattern to what the caller requested.

namespace gsofa::library {

/// Operations of A = L U from the entries of the columns of L and of the rows of U.
double operations(std::span<const std::int32_t> l_col_counts,
                  std::span<const std::int32_t> u_row_counts);

/// Sets out.parent to the elimination tree of the eliminated pattern.
void find_tree(const elimination_input& e, analysis& out);

/// Sets out.masks in the arrays of `m`. has_rows: w.found has explicit rows.
void find_masks(bool has_rows, workspace& w, mask_pattern& m, analysis& out);

/// Sets the supernodes of columns that the options request and, where relaxed supernodes were
/// shrunk to a vertex, the counts of all rows in w.found.
void find_supernodes_of_columns(const elimination_input& e, const analysis_options& options,
                                bool has_rows, workspace& w, analysis& out);

/// Leaves the factors and supernodes of columns that the options request in device memory of the
/// caller.
void leave_on_device(leaves_device_results& v, const elimination_input& e,
                     const analysis_options& options, result& found, analysis& out);

/// Moves counts, T3 supernodes and explicit factors from w.found to `out`.
void give(const analysis_options& options, workspace& w, analysis& out);

}  // namespace gsofa::library
