#include "common/elimination_forest.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "common/error.hpp"
#include "common/generators.hpp"
#include "common/preprocess.hpp"
#include "common/random.hpp"

using namespace gsofa;

namespace {

// Columns of chol(A + A^T) below the diagonal by dense elimination.
std::vector<index_t> counts_by_elimination(const pattern& a) {
  const auto n = at(a.n_rows);
  std::vector<std::vector<char>> m(n, std::vector<char>(n, 0));
  for (index_t i = 0; i < a.n_rows; ++i) {
    for (const index_t j : a.row(i)) m[at(i)][at(j)] = m[at(j)][at(i)] = 1;
  }
  std::vector<index_t> counts(n, 0);
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t i = k + 1; i < n; ++i) {
      if (m[i][k] == 0) continue;
      ++counts[k];
      for (std::size_t j = k + 1; j < n; ++j) m[i][j] = static_cast<char>(m[i][j] | m[k][j]);
    }
  }
  return counts;
}

pattern random_with_diagonal(random_source& random, index_t n, double density) {
  triplets t{n, n, {}, {}};
  for (index_t i = 0; i < n; ++i) {
    for (index_t j = 0; j < n; ++j) {
      if (i != j && !random.chance(probability(density))) continue;
      t.rows.push_back(i);
      t.cols.push_back(j);
    }
  }
  return from_triplets(t, duplicates::reject);
}

std::vector<index_t> counts_of(const pattern& a) {
  const pattern t = transpose(a);
  return counts_of_cholesky(a, t, elimination_tree_of_sum(a, t)).columns;
}

}  // namespace

TEST_CASE("column counts are those of the elimination, whatever the numbering") {
  random_source random(7);
  std::size_t fill = 0;
  for (int trial = 0; trial < 400; ++trial) {
    const auto n = static_cast<index_t>(random.between(1, 25));
    const pattern a = random_with_diagonal(random, n, trial % 4 == 0 ? 0.02 : 0.12);
    const std::vector<index_t> expected = counts_by_elimination(a);
    CHECK(counts_of(a) == expected);
    fill += at(std::accumulate(expected.begin(), expected.end(), offset_t{0}) > a.nnz() ? 1 : 0);
  }
  CHECK(fill > 50);
  CHECK(counts_of(generate("grid7:nx=6,ny=5,nz=4")) ==
        counts_by_elimination(generate("grid7:nx=6,ny=5,nz=4")));
}

TEST_CASE("the levels of a forest: children are below their parents, vertices once each") {
  random_source random(11);
  for (int trial = 0; trial < 200; ++trial) {
    const auto n = static_cast<index_t>(random.between(0, 30));
    std::vector<index_t> parent(at(n), -1);
    for (index_t v = 0; v + 1 < n; ++v) {
      parent[at(v)] = random.chance(probability(0.2))
                          ? (trial % 2 == 0 ? -1 : n)
                          : static_cast<index_t>(random.between(v + 1, n - 1));
    }
    const forest_levels found = levels_of_forest(parent);
    REQUIRE(found.begin.front() == 0);
    REQUIRE(found.begin.back() == n);
    std::vector<index_t> height(at(n), -1);
    for (std::size_t h = 0; h + 1 < found.begin.size(); ++h) {
      REQUIRE(found.begin[h] < found.begin[h + 1]);
      const std::span level(found.vertices.data() + found.begin[h],
                            found.vertices.data() + found.begin[h + 1]);
      CHECK(std::ranges::is_sorted(level));
      for (const index_t v : level) height[at(v)] = static_cast<index_t>(h);
    }
    for (index_t v = 0; v < n; ++v) {
      index_t highest = -1;
      for (index_t c = 0; c < v; ++c) {
        if (parent[at(c)] == v) highest = std::max(highest, height[at(c)]);
      }
      CHECK(height[at(v)] == highest + 1);
    }
  }
}

TEST_CASE("parents that are no forest are refused with the vertex") {
  const auto fails = [](std::vector<index_t> parent, const std::string& text) {
    CHECK_THROWS_WITH_AS(levels_of_forest(parent), text.c_str(), input_error);
  };
  fails({1, 1, -1},
        "parent: vertex 1 has 1, which is no later vertex of 3, and neither -1 nor that number");
  fails({1, 0, -1},
        "parent: vertex 1 has 0, which is no later vertex of 3, and neither -1 nor that number");
  fails({4, 2, -1},
        "parent: vertex 0 has 4, which is no later vertex of 3, and neither -1 nor that number");
  fails({-2, 2, -1},
        "parent: vertex 0 has -2, which is no later vertex of 3, and neither -1 nor that number");
  CHECK(levels_of_forest(std::vector<index_t>{}).begin == std::vector<index_t>{0});
}
