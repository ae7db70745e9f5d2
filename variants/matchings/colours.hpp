#pragma once

#include <cstdint>
#include <vector>

#include "common/augment.hpp"

namespace gsofa::matchings {

/// Matches a row or column with a single entry, drops both and repeats. Every perfect matching has
/// these pairs (Karp & Sipser 1981). O(nnz). t: the transpose of `a`.
void match_forced(const pattern_view& a, const pattern_view& t, pairs& m);

/// How long the colours of the ends of each candidate agree.
struct agreement {
  std::vector<std::uint8_t>
      depth;       ///< by candidate: rounds in which the colours of row and column are equal
  int rounds = 0;  ///< the most
};

/// Colours rows and columns by their degrees, then refines the colour of a row by those of its
/// columns and of a column by those of its rows (Weisfeiler & Leman 1968), as 64-bit hashes that
/// ignore the numbering; entries of matched rows and columns do not exist. If some permutation of
/// the rows makes the pattern symmetric, it moves a row to a column whose colour agrees in all
/// rounds. At most 20 rounds of O(nnz); they end when less than 1/64 of the agreeing
/// candidates cease to agree.
agreement refine_colours(const pattern_view& a, const pattern_view& t,
                         const pattern_view& candidates, const pairs& m, int threads);

}  // namespace gsofa::matchings
