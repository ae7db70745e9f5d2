#include "common/pattern.hpp"

#include <doctest/doctest.h>

#include "common/random.hpp"

using namespace gsofa;

namespace {

pattern random_square(random_source& random, index_t n, double density) {
  triplets t{n, n, {}, {}};
  for (index_t i = 0; i < n; ++i) {
    for (index_t j = 0; j < n; ++j) {
      if (random.chance(probability(density))) {
        t.rows.push_back(i);
        t.cols.push_back(j);
      }
    }
  }
  return from_triplets(t, duplicates::reject);
}

bool has(const pattern& a, index_t i, index_t j) {
  for (const index_t c : a.row(i)) {
    if (c == j) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("triplets in any order become sorted rows") {
  const pattern a = from_triplets({3, 4, {2, 0, 2, 0}, {3, 2, 0, 1}}, duplicates::reject);
  CHECK(a.row_ptr == std::vector<offset_t>{0, 2, 2, 4});
  CHECK(a.col_idx == std::vector<index_t>{1, 2, 0, 3});
  validate(a, "a");
}

TEST_CASE("a repeated position is refused by name or merged") {
  const triplets t{2, 2, {0, 1, 0}, {1, 1, 1}};
  CHECK_THROWS_WITH_AS(from_triplets(t, duplicates::reject), "duplicate entry at row 1, column 2",
                       input_error);
  const pattern a = from_triplets(t, duplicates::merge);
  CHECK(a.col_idx == std::vector<index_t>{1, 1});
  CHECK(a.row_ptr == std::vector<offset_t>{0, 1, 2});
}

TEST_CASE("validate names the fault") {
  pattern a{2, 2, {0, 1, 2}, {0, 1}};
  CHECK_NOTHROW(validate(a, "a"));
  a.col_idx = {0, 2};
  CHECK_THROWS_WITH_AS(validate(a, "a"), "a: column out of range in row 1", input_error);
  a = {2, 2, {0, 2, 2}, {1, 0}};
  CHECK_THROWS_WITH_AS(validate(a, "a"), "a: columns not strictly ascending in row 0", input_error);
  a = {2, 2, {0, 3, 2}, {0, 1}};
  CHECK_THROWS_AS(validate(a, "a"), input_error);
  a = {2, 2, {0, 2}, {0, 1}};
  CHECK_THROWS_AS(validate(a, "a"), input_error);
}

TEST_CASE("transposition and permutation move every entry to its place") {
  random_source random(7);
  for (index_t n : {0, 1, 2, 5, 17, 40}) {
    const pattern a = random_square(random, n, 0.2);
    const pattern t = transpose(a);
    validate(t, "transpose");
    CHECK(transpose(t) == a);
    std::vector<index_t> p(static_cast<std::size_t>(n)), q(static_cast<std::size_t>(n));
    for (index_t k = 0; k < n; ++k) {
      p[static_cast<std::size_t>(k)] = q[static_cast<std::size_t>(k)] = k;
    }
    for (std::size_t k = p.size(); k > 1; --k) {
      std::swap(p[k - 1], p[random.below(k)]);
      std::swap(q[k - 1], q[random.below(k)]);
    }
    const pattern b = permute(a, p, q);
    validate(b, "permuted");
    REQUIRE(b.nnz() == a.nnz());
    for (index_t i = 0; i < n; ++i) {
      for (const index_t j : b.row(i)) {
        CHECK(has(a, p[static_cast<std::size_t>(i)], q[static_cast<std::size_t>(j)]));
      }
    }
  }
}

TEST_CASE("symmetrized holds exactly the union with the transpose") {
  random_source random(11);
  const pattern a = random_square(random, 25, 0.1);
  const pattern with = symmetrized(a, diagonal::keep);
  const pattern without = symmetrized(a, diagonal::drop);
  for (index_t i = 0; i < 25; ++i) {
    for (index_t j = 0; j < 25; ++j) {
      CHECK(has(with, i, j) == (has(a, i, j) || has(a, j, i)));
      CHECK(has(without, i, j) == (i != j && has(with, i, j)));
    }
  }
}

TEST_CASE("the diagonal is completed and counted") {
  const pattern a = from_triplets({3, 3, {0, 1, 2}, {1, 1, 0}}, duplicates::reject);
  CHECK(count_missing_diagonal(a) == 2);
  const pattern d = with_diagonal(a);
  validate(d, "with_diagonal");
  CHECK(d.col_idx == std::vector<index_t>{0, 1, 1, 0, 2});
  CHECK(count_missing_diagonal(d) == 0);
}

TEST_CASE("structural symmetry is the matched share of off-diagonal entries") {
  CHECK(structural_symmetry(from_triplets({3, 3, {0, 1, 2}, {0, 1, 2}}, duplicates::reject)) == 1);
  CHECK(structural_symmetry(
            from_triplets({3, 3, {0, 1, 0, 1}, {1, 0, 2, 2}}, duplicates::reject)) == 0.5);
}

TEST_CASE("permutations are checked") {
  const std::vector<index_t> good{2, 0, 1};
  CHECK_NOTHROW(validate_permutation(good, 3, "p"));
  CHECK(inverse_permutation(good) == std::vector<index_t>{1, 2, 0});
  CHECK_THROWS_WITH_AS(validate_permutation(std::vector<index_t>{0, 0, 1}, 3, "p"),
                       "p: 0 occurs twice", input_error);
  CHECK_THROWS_WITH_AS(validate_permutation(std::vector<index_t>{0, 3, 1}, 3, "p"),
                       "p: entry 1 is 3, outside [0, 3)", input_error);
  CHECK_THROWS_AS(validate_permutation(good, 4, "p"), input_error);
}

TEST_CASE("narrowing is checked") {
  CHECK(narrow<index_t>(offset_t{5}, "x") == 5);
  CHECK_THROWS_WITH_AS(narrow<index_t>(offset_t{1} << 31, "order"),
                       "order: 2147483648 does not fit in 32 bits", input_error);
  CHECK_THROWS_AS(narrow<std::uint32_t>(-1, "x"), input_error);
}
