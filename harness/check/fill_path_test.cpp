#include "harness/check/fill_path.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "harness/check/test_patterns.hpp"
#include "reference/gaussian_elimination.hpp"

using namespace gsofa;

namespace {

pattern of_entries(index_t n, std::vector<std::pair<index_t, index_t>> entries) {
  triplets t;
  t.n_rows = t.n_cols = n;
  for (index_t i = 0; i < n; ++i) entries.emplace_back(i, i);
  for (const auto& [i, j] : entries) {
    t.rows.push_back(i);
    t.cols.push_back(j);
  }
  return from_triplets(t, duplicates::reject);
}

}  // namespace

TEST_CASE("a fill path there is exactly where elimination fills") {
  for (std::uint64_t k = 0; k < 60; ++k) {
    const named_pattern p = random_pattern(7, k);
    if (p.a.n_rows > 40) continue;
    const pattern filled = reference::eliminate_boolean(p.a.view());
    for (index_t i = 0; i < p.a.n_rows; ++i) {
      for (index_t j = 0; j < p.a.n_rows; ++j) {
        if (i == j) continue;
        const auto row = filled.row(i);
        const auto path = fill_path(p.a.view(), i, j);
        REQUIRE(std::ranges::binary_search(row, j) == !path.empty());
        if (path.empty()) continue;
        REQUIRE(path.front() == i);
        REQUIRE(path.back() == j);
        for (std::size_t s = 0; s + 1 < path.size(); ++s) {
          const auto next = p.a.row(path[s]);
          REQUIRE(std::ranges::binary_search(next, path[s + 1]));
          if (s > 0) REQUIRE(path[s] < std::min(i, j));
        }
      }
    }
  }
}

TEST_CASE("an entry is explained by its path, or by the vertices that lead nowhere") {
  const pattern a = of_entries(4, {{3, 0}, {0, 1}, {1, 2}, {2, 3}});
  CHECK(explain_entry(a.view(), "second run: L: row 3: (3,2) is missing") ==
        "(3,2) is in L+U: the inner vertices of the path 3 -> 0 -> 1 -> 2 are less than 2\n");
  CHECK(explain_entry(a.view(), "U: row 2: (2,3) is missing") ==
        "(2,3) is in L+U: it is an entry of A\n");
  CHECK(explain_entry(a.view(), "U: diagonal entry (1,1) is missing") ==
        "(1,1) is in L+U: it is on the diagonal\n");
  CHECK(explain_entry(a.view(), "L: row 2: (2,1) is not in the fill") ==
        "(2,1) is not in L+U: it is not in A, and row 2 of A has no vertex less than 1 that a path "
        "to 1 could lead through\n");
  const pattern b = of_entries(4, {{3, 0}, {0, 1}});
  CHECK(explain_entry(b.view(), "L: row 3: (3,2) is not in the fill") ==
        "(3,2) is not in L+U: from 3 paths lead through 2 vertices less than 2 (0, 1), none of "
        "which has 2 in its row\n");
  CHECK(explain_entry(a.view(), "row 1 of L has 2 entries, not 3").empty());
  CHECK(explain_entry(a.view(), "(9,9) is missing").empty());
}
