#pragma once

/// A matching of maximum cardinality that makes as many entries of the permuted matrix symmetric as
/// its searches find (to find the most is NP-hard); by pattern alone.
///
/// 1. Pairs that every perfect matching has. 2. Colours (colours.hpp); an entry whose colours agree
/// longest, both in its row and in its column, and in all rounds, is matched. 3. Greedily, in
/// rounds, the entries that make most entries symmetric, given the matches so far. 4. Augmentation.
/// 5. Exchanges of two matches. 6. Rounds that match anew by the symmetric entries that the last
/// matching gives each entry (a linearization of the quadratic objective: Frank & Wolfe 1956),
/// while they gain.
///
/// Objective: Portase & Ucar, On matrix symmetrization and sparse direct solvers, Inria RR-8977,
/// 2016. The gain of an entry (i, j) is the number of matched pairs (r, c) with entries (r, j) and
/// (i, c): these two become a symmetric pair where row i stands at j. Ties go to the least entry.
/// Long rows and columns give and get no gains, so that each step takes O(limit nnz).

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "common/augment.hpp"
#include "common/matching.hpp"
#include "variants/matchings/colours.hpp"

namespace gsofa::matchings {

/// What the steps of a search read: a pattern, its transpose, and the entries that may be matched.
struct search_input {
  const pattern_view &a, &t, &candidates;
  std::vector<index_t> row_of;  ///< of each candidate
  offset_t limit = 0;           ///< longer rows and columns give and get no gains

  search_input(const pattern_view& pattern, const pattern_view& transposed,
               const pattern_view& allowed);
  [[nodiscard]] index_t col_of(std::size_t p) const { return candidates.col_idx[p]; }
  [[nodiscard]] bool is_long(std::span<const index_t> line) const {
    return std::ssize(line) > limit;
  }
  /// give(e) for each candidate e = (i, j) that gains by the match of r and c: there are entries
  /// (r, j) and (i, c), i != r, j != c. mark: n_cols, -1 before and afterwards.
  template <class Give>
  void give_gains(index_t r, index_t c, std::vector<index_t>& mark, const Give& give) const {
    if (is_long(a.row(r)) || is_long(t.row(c))) return;
    for (const index_t j : a.row(r)) mark[at(j)] = c;
    mark[at(c)] = -1;
    for (const index_t i : t.row(c)) {
      if (i == r || is_long(a.row(i))) continue;
      const auto end = at(candidates.row_ptr[at(i) + 1]);
      for (auto e = at(candidates.row_ptr[at(i)]); e < end; ++e) {
        if (mark[at(col_of(e))] == c) give(e);
      }
    }
    for (const index_t j : a.row(r)) mark[at(j)] = -1;
  }
};

/// The steps that take most of the time. Each has one result, on however many threads.
/// Throws cancelled_error soon after *stop becomes true; null: never.
class search_steps {
 public:
  /// Keys of each half; the upper half is for entries that agree in all rounds.
  static constexpr int half = 512;

  search_steps(const search_input& in, int threads, const std::atomic<bool>* stop);
  /// As matchings::refine_colours().
  agreement refine_colours(const pairs& m);
  /// Matches entries until none has an unmatched row and column. A round takes the entries with the
  /// largest key that have a gain or, if none has, the first and those in a window behind it (early
  /// seeds must not contradict each other). It matches those that are the least of the round in
  /// their row, their column and the rows of this column, whose gains they change.
  /// keys: by candidate, without gains, which raise them.
  void match_greedily(std::span<const std::uint16_t> keys, pairs& m);
  /// The gain of each candidate.
  std::vector<std::uint16_t> gains(const pairs& m);

 private:
  const search_input& in_;
  const int threads_;
  const std::atomic<bool>* stop_;
  std::vector<std::vector<index_t>> mark_;  // by thread: -1 between uses
};

/// A matching by pattern alone. A symmetric pattern with a zero-free diagonal keeps its rows.
/// Throws cancelled_error soon after *settings.stop becomes true.
row_matching symmetric_matching(const matching_input& input, const matching_settings& settings);

/// Adds the bound of a phase to their sum. Throws overflow_error beyond 2^60: duals and distances
/// fit 64 bits, as n costs sum up to less than 2^60.
void add_bound(std::uint64_t bound, std::uint64_t& sum);

/// Options of methods that minimize costs: whether prefer_symmetric() searches.
option_spec symmetric_option();

/// If m has duals, replaces the matching by another one of the least costs with more symmetric
/// entries, if it finds one: duals prove that all of these consist of entries whose cost is the sum
/// of their duals. O(nnz) if these entries have one perfect matching.
void prefer_symmetric(const matching_input& input, const matching_settings& settings,
                      row_matching& m);

}  // namespace gsofa::matchings
