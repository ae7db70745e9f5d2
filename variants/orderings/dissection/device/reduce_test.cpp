// labels: oracle
// program: emulated
// The device reduces a graph as the host does.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "common/generators.hpp"
#include "common/ordering.hpp"
#include "variants/orderings/dissection/test_graphs.hpp"

using namespace gsofa;

namespace {

// Fronts as sets.
std::vector<index_t> sorted_fronts(orders::reduction r) {
  for (std::size_t k = 0; k < r.removed.size(); ++k) {
    std::sort(r.front.begin() + r.front_start[k], r.front.begin() + r.front_start[k + 1]);
  }
  return r.front;
}

// Returns whether vertices are removed.
bool check_reduction(const pattern& s, int degree) {
  gpu::memory_budget budget = orders::test::budget_of_tests();
  gpu::patterns::device_pattern graph = gpu::patterns::upload(s, budget);
  const orders::reduction found = orders::device::reduce(graph, degree, budget);
  const orders::reduction expected = orders::reduce(s, degree, 1);
  CHECK(found.removed == expected.removed);
  CHECK(found.kept == expected.kept);
  CHECK(found.front_start == expected.front_start);
  CHECK(sorted_fronts(found) == sorted_fronts(expected));
  CHECK(found.rest == pattern{});
  CHECK(gpu::patterns::download(graph) == (expected.removed.empty() ? s : expected.rest));
  return !expected.removed.empty();
}

}  // namespace

TEST_CASE("the device reduces a graph as the host does") {
  std::mt19937 random(3);
  int reduced = 0;
  for (const pattern& s : orders::test::subjects()) {
    CAPTURE(s.n_rows);
    CAPTURE(s.nnz());
    std::vector<index_t> order = identity_order(s.n_rows);
    std::ranges::shuffle(order, random);
    const pattern shuffled = permute(s, order, order);
    for (const int degree : {0, 1, 3, 8}) {
      reduced += check_reduction(s, degree) ? 1 : 0;
      check_reduction(shuffled, degree);
    }
  }
  CHECK(reduced > 20);
}

TEST_CASE("elements of many rounds are absorbed on the device as on the host") {
  // Trees with some more edges between vertices of near numbers: small separators, long chains.
  std::mt19937 random(11);
  for (const index_t step : {3, 5, 40}) {
    triplets edges{2000, 2000, {}, {}};
    const auto join = [&](index_t v, index_t u) {
      edges.rows.push_back(v);
      edges.cols.push_back(u);
    };
    for (index_t v = 1; v < edges.n_rows; ++v) {
      join(v, std::max(0, v - 1 - static_cast<index_t>(random() % 6)));
      if (v % step == 0) join(v, std::max(0, v - 25));
    }
    const pattern s = symmetrized(from_triplets(edges, duplicates::merge), diagonal::drop);
    CAPTURE(step);
    CHECK(check_reduction(s, 8));
    CHECK(check_reduction(s, 16));
  }
}
