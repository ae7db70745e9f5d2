#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/parallel.hpp"
#include "common/types.hpp"

namespace gsofa::detail {

/// First rows of the T3 supernodes (Demmel et al. 1999; the paper's Definition 1): row s joins the
/// supernode that begins at r and ends at s - 1 iff |U(s,:)| = |U(s-1,:)| - 1 and L(s, r) != 0.
/// A supernode never crosses a multiple of chunk_size (0: unlimited).
/// has_l(s, r) returns whether L(s, r) != 0; it is called only where the counts agree.
template <class HasL>
std::vector<index_t> t3_post_pass(std::span<const index_t> u_counts, index_t chunk_size,
                                  HasL&& has_l, int threads = 1) {
  const auto n = static_cast<index_t>(u_counts.size());
  const auto may_join = [&](index_t s) {
    const auto at = static_cast<std::size_t>(s);
    return s > 0 && (chunk_size == 0 || s % chunk_size != 0) &&
           u_counts[at] == u_counts[at - 1] - 1;
  };
  // Appends the supernodes of rows s .. end - 1, of which s begins one.
  const auto walk = [&](index_t s, index_t end, std::vector<index_t>& starts) {
    for (index_t r = s; s < end; ++s) {
      if (may_join(s) && has_l(s, r)) continue;
      starts.push_back(s);
      r = s;
    }
  };
  // A row that cannot join the previous row begins a supernode, independently of earlier rows.
  constexpr index_t rows_that_pay = 8192;
  const int teams = useful_threads(threads, n / rows_that_pay);
  std::vector<index_t> first(static_cast<std::size_t>(teams) + 1, n);
  std::vector<std::vector<index_t>> starts(static_cast<std::size_t>(teams));
  for (int t = 0; t < teams; ++t) {
    index_t s = static_cast<index_t>(std::int64_t{n} * t / teams);
    while (s < n && may_join(s)) ++s;
    first[static_cast<std::size_t>(t)] = s;
  }
  parallel_parts(teams, [&](int t) {
    const auto k = static_cast<std::size_t>(t);
    walk(first[k], first[k + 1], starts[k]);
  });
  for (std::size_t k = 1; k < starts.size(); ++k) {
    starts[0].insert(starts[0].end(), starts[k].begin(), starts[k].end());
  }
  return std::move(starts[0]);
}

/// The paper's two-phase detection (Section 5, Figure 8), chunk by chunk. Phase I: one bit per row,
/// set iff its U count is one less than its predecessor's; rows with a clear bit are leaders and go
/// to a queue. Phase II: every leader independently follows the set bits behind it and tests L(s,
/// r). If the test fails, s leads a new supernode and the walk continues with r = s: a walk that
/// stopped there would lose or misplace the later supernodes. Encoding: bit k of `bitmap` is row
/// (chunk begin + k); `queue` holds leaders relative to the chunk. Without a limit the whole matrix
/// is one chunk.
template <class HasL>
std::vector<index_t> t3_two_phase(std::span<const index_t> u_counts, index_t chunk_size,
                                  int threads, HasL&& has_l) {
  const auto n = static_cast<index_t>(u_counts.size());
  const index_t chunk = chunk_size == 0 ? n : chunk_size;
  std::vector<char> is_start(static_cast<std::size_t>(n), 0);
  const index_t chunks = n == 0 ? 0 : (n - 1) / chunk + 1;
  parallel_ranges<index_t>(threads, chunks, 1, [&](int, index_t c, index_t) {
    const index_t begin = c * chunk;
    const index_t size = n - begin < chunk ? n - begin : chunk;
    std::vector<std::uint64_t> bitmap(static_cast<std::size_t>(size) / 64 + 1, 0);
    std::vector<index_t> queue;
    for (index_t k = 0; k < size; ++k) {
      const auto s = static_cast<std::size_t>(begin + k);
      if (k > 0 && u_counts[s] == u_counts[s - 1] - 1) {
        bitmap[static_cast<std::size_t>(k) / 64] |= std::uint64_t{1} << (k % 64);
      } else {
        queue.push_back(k);
      }
    }
    auto bit = [&](index_t k) {
      return (bitmap[static_cast<std::size_t>(k) / 64] >> (k % 64) & 1U) != 0;
    };
    for (const index_t leader : queue) {
      index_t r = leader;
      is_start[static_cast<std::size_t>(begin + leader)] = 1;
      for (index_t k = leader + 1; k < size && bit(k); ++k) {
        if (!has_l(begin + k, begin + r)) {
          is_start[static_cast<std::size_t>(begin + k)] = 1;
          r = k;
        }
      }
    }
  });
  std::vector<index_t> starts;
  for (index_t s = 0; s < n; ++s) {
    if (is_start[static_cast<std::size_t>(s)] != 0) starts.push_back(s);
  }
  return starts;
}

}  // namespace gsofa::detail
