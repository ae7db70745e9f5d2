#pragma once

#include <string>
#include <vector>

#include "common/pattern.hpp"

namespace gsofa {

/// The vertices of a shortest path i -> ... -> j in the graph of a square pattern whose inner
/// vertices are all less than min(i, j), both ends included; empty if there is none. Entry (i, j)
/// is in L+U iff there is one or i = j (Rose & Tarjan 1978).
std::vector<index_t> fill_path(const pattern_view& a, index_t i, index_t j);

/// For a reason that says of an entry "(i,j) is missing" or "(i,j) is not in the fill": a line that
/// shows why it is, or is not, in L+U of `a`. Empty for other reasons.
std::string explain_entry(const pattern_view& a, const std::string& reason);

}  // namespace gsofa
