// labels: oracle
#include "reference/row_union.hpp"

#include <doctest/doctest.h>

#include "reference/certificate.hpp"
#include "reference/gaussian_elimination.hpp"
#include "reference/test_patterns.hpp"

namespace gsofa::reference {

namespace {
using namespace testing;
}

TEST_CASE("row union: empty, single and refused patterns") {
  CHECK(row_union(pattern{}) == pattern{});
  CHECK(row_union(from_rows({{0}})) == from_rows({{0}}));
  CHECK_THROWS_WITH_AS(row_union(from_rows({{0}, {0}})),
                       "row union: the diagonal of row 1 is structurally zero", input_error);
  pattern wide = from_rows({{0}});
  wide.n_cols = 2;
  CHECK_THROWS_WITH_AS(row_union(wide), "row union: the matrix is not square", input_error);
}

TEST_CASE("row union: columns at the edges of 64-bit words and of 4096-column summaries") {
  // Row i > 0 of the lower part is reached only through entries added while row i is scanned.
  for (const index_t n : {63, 64, 65, 127, 128, 129, 200}) {
    const pattern ring = from_predicate(n, [n](index_t i, index_t j) { return j == (i + 1) % n; });
    const pattern filled =
        from_predicate(n, [n](index_t i, index_t j) { return j == i + 1 || i == n - 1; });
    CAPTURE(n);
    CHECK(row_union(ring) == filled);
  }
  // (8999,0) with the chain 0 -> 4095 -> 4096 -> 8191 -> 8192 fills (8999, those).
  constexpr index_t n = 9000;
  std::vector<std::vector<index_t>> rows;
  for (index_t i = 0; i < n; ++i) rows.push_back({i});
  rows[0].push_back(4095);
  rows[4095].push_back(4096);
  rows[4096].push_back(8191);
  rows[8191].push_back(8192);
  rows[n - 1].push_back(0);
  const pattern f = row_union(from_rows(rows));
  rows[n - 1] = {0, 4095, 4096, 8191, 8192, n - 1};
  CHECK(f == from_rows(rows));
}

TEST_CASE("row union agrees with Boolean elimination on medium patterns") {
  std::mt19937_64 engine(93);
  for (const index_t n : {100, 257, 400}) {
    // About two off-diagonal entries a row.
    const pattern a = from_predicate(n, [&](index_t, index_t) { return draw(engine, n) < 2; });
    const pattern f = eliminate_boolean(a);
    CAPTURE(n);
    CHECK(f.nnz() > 2 * a.nnz());
    CHECK(row_union(a) == f);
  }
  const pattern grid = five_point_grid(17);
  CHECK(row_union(grid) == eliminate_boolean(grid));
}

TEST_CASE("row union of a grid of order 3600 passes the certificate") {
  const pattern a = five_point_grid(60);
  const pattern f = row_union(a);
  const verdict v = check_certificate(a, lower(f), upper(f), 2);
  CHECK(v.ok);
  CHECK(v.reason == "");
}

}  // namespace gsofa::reference
