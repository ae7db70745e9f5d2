#pragma once

#include <cstdint>
#include <vector>

#include "common/pattern.hpp"
#include "common/variant.hpp"
#include "reference/certificate.hpp"

namespace gsofa::reference {

/// All results that a caller can request from a variant, derived from a known L+U.
struct truth {
  pattern l, u;                                     ///< strictly lower; upper with the diagonal
  std::vector<index_t> l_row_counts, u_row_counts;  ///< n entries each
  std::vector<std::uint64_t> row_digests;           ///< of L+U, n entries
  std::uint64_t digest = 0;                         ///< sum of row_digests modulo 2^64
  offset_t nnz_l = 0, nnz_u = 0;
};

/// Splits L+U (square, rows sorted, with the diagonal). Throws input_error if `filled` does not
/// have this form.
truth make_truth(const pattern_view& filled);

/// Compares the requested parts of `got` with the truth: the patterns first (their structure, then
/// their entries), then counts, digests, supernodes (against t3_supernodes of the truth with
/// `chunk_size`) and the totals, which are always compared. The reason names the first difference:
/// the part, the row, and both values.
verdict compare(const truth& expected, const result& got, want_set wants, index_t chunk_size);

/// The pattern that `got` is a result of: P A Q for the order of result::row_order and col_order,
/// `a` itself if the variant returned no order. Throws input_error unless these are permutations
/// that leave no zero on the diagonal.
pattern pattern_of(const pattern_view& a, const result& got);

/// compare() for a variant that orders the matrix itself: compares with the truth of pattern_of(a,
/// got). `expected` is the truth of `a`.
verdict compare_in_order(const pattern_view& a, const truth& expected, const result& got,
                         want_set wants, index_t chunk_size);

/// Checks that `got` is consistent, for matrices of order n whose truth is unknown: sizes and
/// ranges, counts against totals, pattern against counts, digests and totals, digests against their
/// sum; supernodes ascending from 0, within chunks, their row counts of U falling by one, and equal
/// to t3_supernodes if the pattern is present.
verdict check_consistency(const result& got, want_set wants, index_t n, index_t chunk_size);

}  // namespace gsofa::reference
