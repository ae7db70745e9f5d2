#pragma once

#include <vector>

#include "common/variant.hpp"
#include "variants/panels/panels.hpp"

namespace gsofa::detail {

/// Adds the row counts of panel j to the caller's: its rows of U with the diagonal, and the
/// entries of its columns of L to their rows. Other threads may count panels meanwhile that have
/// rows after panel `own`.
void count_panel(const ordered_graph& g, const panel_set& s, index_t j, index_t own,
                 std::vector<index_t>& l_row_counts, std::vector<index_t>& u_row_counts);

/// True if L(i, k) != 0, k < i in the numbering of `g`. O(log blocks).
bool has_l(const panel_set& s, index_t i, index_t k);

/// Digests and explicit rows of L and U, in the caller's numbering, of factored panels.
/// The counts are those of count_panel over all panels. Adds to `out` the digest and the pattern as
/// far as `wants` has them. O(positions + entries); rows are sorted where the numbering differs.
void expand(const ordered_graph& g, const panel_set& s, std::span<const index_t> l_row_counts,
            std::span<const index_t> u_row_counts, want_set wants, result& out);

/// Column counts of L and the density of L + U, in the caller's numbering, of factored panels.
/// O(positions) where vertices are in the caller's order, else O(entries).
factor_profile profile_panels(const ordered_graph& g, const panel_set& s, index_t cells);

}  // namespace gsofa::detail
