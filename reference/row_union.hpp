#pragma once

#include "common/pattern.hpp"

namespace gsofa::reference {

/// Pattern of L+U, rows sorted, by unions of sparse rows: row i of L+U is A(i,:) united with the
/// strictly upper part of U(k,:) for every k in L(i,:), taken in ascending order while the row
/// grows. (Elimination by rows, the rule behind fill1 of Rose & Tarjan 1978.)
/// Rows are held as 64-bit words of columns, so that dense trailing rows unite 64 columns at a
/// time: O(sum over L(i,k) of the nonzero words of U(k,:)) plus the scan of at most n / 4096
/// summary words per entry of L; 12 bytes for each nonzero word of U in addition to the result.
/// Throws input_error if `a` is not square or a diagonal position is structurally zero.
pattern row_union(const pattern_view& a);

}  // namespace gsofa::reference
