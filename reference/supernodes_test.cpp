// labels: unit
#include "reference/supernodes.hpp"

#include <doctest/doctest.h>

#include "reference/gaussian_elimination.hpp"
#include "reference/test_patterns.hpp"

namespace gsofa::reference {

namespace {

using namespace testing;
using rows_t = std::vector<index_t>;

rows_t all_rows(index_t n) {
  rows_t rows;
  for (index_t i = 0; i < n; ++i) rows.push_back(i);
  return rows;
}

// Definition 1 read from end to start: s is no first row iff, with r the largest smaller start, the
// conditions hold; the U counts are taken from a dense copy.
rows_t by_dense_definition(const pattern& f, index_t chunk) {
  const auto n = static_cast<std::size_t>(f.n_rows);
  std::vector<std::vector<char>> dense(n, std::vector<char>(n, 0));
  for (index_t i = 0; i < f.n_rows; ++i) {
    for (const index_t j : f.row(i))
      dense[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)] = 1;
  }
  std::vector<char> start(n, 1);
  for (std::size_t s = 1; s < n; ++s) {
    std::size_t r = s - 1;
    while (start[r] == 0) --r;
    const auto now =
        std::count(dense[s].begin() + static_cast<std::ptrdiff_t>(s), dense[s].end(), 1);
    const auto before = std::count(dense[s - 1].begin() + static_cast<std::ptrdiff_t>(s) - 1,
                                   dense[s - 1].end(), 1);
    const bool boundary = chunk > 0 && s % static_cast<std::size_t>(chunk) == 0;
    if (!boundary && now == before - 1 && dense[s][r] != 0) start[s] = 0;
  }
  rows_t out;
  for (std::size_t s = 0; s < n; ++s) {
    if (start[s] != 0) out.push_back(static_cast<index_t>(s));
  }
  return out;
}

}  // namespace

TEST_CASE("T3 supernodes: degenerate orders and arguments") {
  CHECK(t3_supernodes(pattern{}, 0).empty());
  CHECK(t3_supernodes(pattern{}, 128).empty());
  CHECK(t3_supernodes(from_rows({{0}}), 0) == rows_t{0});
  CHECK(t3_supernodes(from_rows({{0}}), 1) == rows_t{0});
  CHECK_THROWS_WITH_AS(t3_supernodes(from_rows({{0}}), -1),
                       "supernodes: the chunk size is negative", input_error);
  pattern wide = from_rows({{0}});
  wide.n_cols = 2;
  CHECK_THROWS_WITH_AS(t3_supernodes(wide, 0), "supernodes: the filled pattern is not square",
                       input_error);
}

TEST_CASE("T3 supernodes: a dense matrix is one, cut at multiples of the chunk size") {
  const pattern dense = from_predicate(10, [](index_t, index_t) { return true; });
  CHECK(t3_supernodes(dense, 0) == rows_t{0});
  CHECK(t3_supernodes(dense, 100) == rows_t{0});
  CHECK(t3_supernodes(dense, 10) == rows_t{0});
  CHECK(t3_supernodes(dense, 4) == rows_t{0, 4, 8});
  CHECK(t3_supernodes(dense, 9) == rows_t{0, 9});
  CHECK(t3_supernodes(dense, 1) == all_rows(10));
}

TEST_CASE("T3 supernodes: both conditions are needed") {
  // Upper triangular: the counts fall by one everywhere but L is empty.
  CHECK(t3_supernodes(from_predicate(5, [](index_t i, index_t j) { return j > i; }), 0) ==
        all_rows(5));
  // Lower triangular: L is full, but every row of U has one entry.
  CHECK(t3_supernodes(from_predicate(5, [](index_t i, index_t j) { return j < i; }), 0) ==
        all_rows(5));
  // Tridiagonal: |U| is 2, ..., 2, 1, so only the last row joins.
  CHECK(t3_supernodes(
            from_predicate(5, [](index_t i, index_t j) { return i - j == 1 || j - i == 1; }), 0) ==
        rows_t{0, 1, 2, 3});
}

TEST_CASE("T3 supernodes: L(s,r) is asked of the first row r, not of row s-1") {
  // Counts of U: 4, 3, 2, 1. (2,1) is an entry but (2,0) is not, so that row 2 starts a supernode;
  // row 3 then joins through (3,2).
  const pattern f = from_rows({{0, 1, 2, 3}, {0, 1, 2, 3}, {1, 2, 3}, {2, 3}});
  CHECK(t3_supernodes(f, 0) == rows_t{0, 2});
  // With (2,0) in place of (2,1) row 2 joins; (3,0) is missing, and row 3 starts a supernode.
  const pattern g = from_rows({{0, 1, 2, 3}, {0, 1, 2, 3}, {0, 2, 3}, {2, 3}});
  CHECK(t3_supernodes(g, 0) == rows_t{0, 3});
  // A chunk boundary moves r: with chunks of 2, row 2 leads and row 3 joins it through (3,2).
  CHECK(t3_supernodes(g, 2) == rows_t{0, 2});
}

TEST_CASE("T3 supernodes: both overloads agree with a dense reading of the definition") {
  std::mt19937_64 engine(1999);
  for (int trial = 0; trial < 400; ++trial) {
    const index_t n = 1 + draw(engine, 40);
    const pattern f = eliminate_boolean(random_pattern(engine, n, 2 + draw(engine, 20)));
    for (const index_t chunk : {0, 1, 2, 3, 7, 16, 128}) {
      CAPTURE(trial);
      CAPTURE(chunk);
      const rows_t want = by_dense_definition(f, chunk);
      REQUIRE(t3_supernodes(f, chunk) == want);
      REQUIRE(t3_supernodes(lower(f), upper(f), chunk) == want);
    }
  }
}

}  // namespace gsofa::reference
