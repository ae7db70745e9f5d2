#include "harness/check/shrink.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "harness/check/test_patterns.hpp"
#include "reference/gaussian_elimination.hpp"

using namespace gsofa;

namespace {

bool has_fill(const pattern& a) { return reference::eliminate_boolean(a.view()).nnz() > a.nnz(); }

}  // namespace

TEST_CASE("the least pattern with a fill-in has order 3 and two entries off the diagonal") {
  int tried = 0;
  for (std::uint64_t k = 0; k < 60; ++k) {
    const pattern a = random_pattern(5, k).a;
    if (!has_fill(a)) continue;
    ++tried;
    const pattern least = shrink(a, has_fill);
    CHECK(least.n_rows == 3);
    CHECK(least.nnz() == 5);
    CHECK(has_fill(least));
    CHECK(count_missing_diagonal(least.view()) == 0);
  }
  CHECK(tried > 20);
}

TEST_CASE("a pattern that cannot be reduced stays") {
  const auto always_whole = [](const pattern& a) { return a.n_rows == 4 && a.nnz() == 16; };
  const auto all = special_patterns();
  pattern dense;
  dense.n_rows = dense.n_cols = 4;
  for (index_t i = 0; i < 4; ++i) {
    for (index_t j = 0; j < 4; ++j) dense.col_idx.push_back(j);
    dense.row_ptr.push_back(4 * (offset_t{i} + 1));
  }
  CHECK(shrink(dense, always_whole) == dense);
  CHECK(shrink(all.front().a, [](const pattern&) { return true; }).n_rows == 1);
}

TEST_CASE("shrinking ends when its time is over, with what it has reached") {
  int calls = 0;
  const pattern a = random_pattern(5, 3).a;
  const pattern least = shrink(
      a, [&](const pattern&) { return ++calls, true; }, 0);
  CHECK(calls <= 1);
  CHECK(least.n_rows >= a.n_rows / 2);
}
