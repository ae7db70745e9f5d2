#pragma once

#include <string>

#include "common/matching.hpp"

namespace gsofa::reference {

/// The first fault of a matching of a square pattern, in one line; empty if the matching is
/// correct. Rows are matched once and by entries (with costs: by candidates); no alternating path
/// leads from an unmatched column to an unmatched row, so that the cardinality is maximal (Berge
/// 1957). If the matching has duals, no entry costs less than the sum of its duals and no matched
/// entry more than that sum and m.most_slack. If that is 0, this proves the sum of the costs
/// minimal among all matchings of the same rows and columns. Exact integers; O(nnz). costs: null if
/// the method ignores values.
std::string fault_of_matching(const pattern_view& a, const matching_costs* costs,
                              const row_matching& m);

}  // namespace gsofa::reference
