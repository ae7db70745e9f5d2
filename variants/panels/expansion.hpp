#pragma once

#include <vector>

#include "common/variant.hpp"
#include "variants/panels/panels.hpp"

namespace gsofa::detail {

/// Adds the column blocks from .. to - 1 of panel j, which are factored, to the row counts: entries
/// of the panel's columns of L to their rows, and of its rows of U beside the diagonal. Other
/// threads may count blocks meanwhile, of panel j if it is after panel `own`, and rows after `own`.
void count_blocks(const ordered_graph& g, const panel_set& s, index_t j, std::size_t from,
                  std::size_t to, index_t own, std::vector<index_t>& l_row_counts,
                  std::vector<index_t>& u_row_counts) noexcept;

/// True if L(i, k) != 0, k < i in the numbering of `g`. O(log blocks).
bool has_l(const panel_set& s, index_t i, index_t k);

/// Digests and explicit rows of L and U, in the caller's numbering, of factored panels.
/// The counts are those of count_blocks over all panels, and 1 in each row of U. Adds to `out` the
/// digest and the pattern as far as `wants` has them. O(positions + entries); rows are sorted where
/// the numbering differs.
void expand(const ordered_graph& g, const panel_set& s, std::span<const index_t> l_row_counts,
            std::span<const index_t> u_row_counts, want_set wants, result& out);

/// Column counts of L and the density of L + U, in the caller's numbering, of factored panels.
/// O(positions) where vertices are in the caller's order, else O(entries).
factor_profile profile_panels(const ordered_graph& g, const panel_set& s, index_t cells);

}  // namespace gsofa::detail
