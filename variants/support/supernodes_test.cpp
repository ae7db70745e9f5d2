#include "variants/support/supernodes.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "common/random.hpp"
#include "reference/row_union.hpp"
#include "reference/supernodes.hpp"

using namespace gsofa;

TEST_CASE("post-pass and two-phase detection agree with the definition") {
  random_source random(5);
  int restarts = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    const index_t n = static_cast<index_t>(random.between(1, 30));
    const probability p(0.02 + 0.01 * static_cast<double>(random.below(20)));
    triplets t{n, n, {}, {}};
    for (index_t i = 0; i < n; ++i) {
      for (index_t j = 0; j < n; ++j) {
        if (i == j || random.chance(p)) {
          t.rows.push_back(i);
          t.cols.push_back(j);
        }
      }
    }
    const pattern filled = reference::row_union(from_triplets(t, duplicates::reject));
    std::vector<index_t> counts;
    for (index_t i = 0; i < n; ++i) {
      counts.push_back(static_cast<index_t>(
          std::ranges::count_if(filled.row(i), [i](index_t j) { return j >= i; })));
    }
    auto has_l = [&](index_t s, index_t r) { return std::ranges::binary_search(filled.row(s), r); };
    for (index_t chunk : {0, 1, 2, 3, 7, 128}) {
      const auto expected = reference::t3_supernodes(filled, chunk);
      CHECK(detail::t3_post_pass(counts, chunk, has_l) == expected);
      CHECK(detail::t3_two_phase(counts, chunk, 1, has_l) == expected);
      CHECK(detail::t3_two_phase(counts, chunk, 2, has_l) == expected);
      // A supernode that starts inside a run of flagged rows: the failed L(s, r) test.
      if (chunk == 0) {
        for (const index_t s : expected) {
          const auto k = static_cast<std::size_t>(s);
          restarts += s > 0 && counts[k] == counts[k - 1] - 1 ? 1 : 0;
        }
      }
    }
  }
  CHECK(restarts > 100);
}

TEST_CASE("several threads find the supernodes of one") {
  random_source random(6);
  for (int trial = 0; trial < 60; ++trial) {
    // Long runs of rows that may join, of which some do not.
    const auto n = static_cast<index_t>(random.between(1, 100000));
    const auto most = static_cast<index_t>(random.between(1, 60000));
    const probability ends(trial % 3 == 0 ? 0.0 : 0.01);
    const std::uint64_t salt = random.below(1000);
    std::vector<index_t> counts;
    index_t left = 0;
    for (index_t i = 0; i < n; ++i) {
      left = left <= 1 || random.chance(ends) ? most : left - 1;
      counts.push_back(left);
    }
    const auto has_l = [&](index_t s, index_t r) {
      return mix64(salt + static_cast<std::uint64_t>(s)) % 100 != 0 || s - r > 1000;
    };
    for (const index_t chunk : {0, 128, 5000}) {
      const auto expected = detail::t3_post_pass(counts, chunk, has_l);
      for (const int threads : {2, 3, 7}) {
        CHECK(detail::t3_post_pass(counts, chunk, has_l, threads) == expected);
      }
    }
  }
}

TEST_CASE("no rows, no supernodes") {
  auto never = [](index_t, index_t) { return false; };
  CHECK(detail::t3_post_pass({}, 128, never).empty());
  CHECK(detail::t3_two_phase({}, 0, 1, never).empty());
}
