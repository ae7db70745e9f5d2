#pragma once

/// A matching of maximum cardinality that makes as many entries of the permuted matrix symmetric as
/// its searches find (to find the most is NP-hard); by pattern alone.
///
/// 1. Pairs that every perfect matching has. 2. Colours (colours.hpp); an entry whose colours agree
/// longest, both in its row and in its column, and in all rounds, is matched. 3. Greedily the entry
/// that makes most entries symmetric, given the matches so far. 4. Augmentation. 5. Exchanges of
/// two matches. 6. Rounds that match anew by the symmetric entries that the last matching gives
/// each entry (a linearization of the quadratic objective: Frank & Wolfe 1956), while they gain.
///
/// Objective: Portase & Ucar, On matrix symmetrization and sparse direct solvers, Inria RR-8977,
/// 2016. The gain of an entry (i, j) is the number of matched pairs (r, c) with entries (r, j) and
/// (i, c): these two become a symmetric pair where row i stands at j. Ties go to the entry found
/// first. Rows and columns longer than limit_ give and get no gains, so that each step takes
/// O(limit_ nnz).

#include "variants/matchings/augment.hpp"

namespace gsofa::matchings {

/// Searches such a matching. Here and below, t is the transpose of `a`. Throws cancelled_error soon
/// after *stop becomes true; null: never.
pairs search_symmetric(const pattern_view& a, const pattern_view& t, const std::atomic<bool>* stop);

/// `first`, a perfect matching of the entries `allowed` of `a`, or another one of them with more
/// symmetric entries; all entries of `a` count as symmetric or not. O(nnz of `allowed`) if it has
/// no other perfect matching.
pairs more_symmetric(const pattern_view& a, const pattern_view& t, const pattern_view& allowed,
                     pairs first);

}  // namespace gsofa::matchings
