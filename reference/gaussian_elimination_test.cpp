// labels: oracle
#include "reference/gaussian_elimination.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string>

#include "reference/prime_field.hpp"
#include "reference/row_union.hpp"
#include "reference/test_patterns.hpp"

namespace gsofa::reference {

namespace {

using namespace testing;

template <class Oracle>
void check_hand_examples(Oracle eliminate) {
  CHECK(eliminate(pattern{}) == pattern{});
  const pattern one = from_rows({{0}});
  CHECK(eliminate(one) == one);

  // A forward arrow fills completely, a backward one not at all.
  const pattern forward = from_predicate(9, [](index_t i, index_t j) { return i == 0 || j == 0; });
  const pattern dense = from_predicate(9, [](index_t, index_t) { return true; });
  CHECK(eliminate(forward) == dense);
  CHECK(eliminate(dense) == dense);
  const pattern backward = from_predicate(9, [](index_t i, index_t j) { return i == 8 || j == 8; });
  CHECK(eliminate(backward) == backward);
  const pattern band =
      from_predicate(9, [](index_t i, index_t j) { return j - i == 1 || i - j == 1; });
  CHECK(eliminate(band) == band);

  // A ring 0 -> 1 -> ... -> n-1 -> 0: the last row fills from column 0 on, and nothing else.
  const pattern ring = from_predicate(9, [](index_t i, index_t j) { return j == (i + 1) % 9; });
  const pattern filled =
      from_predicate(9, [](index_t i, index_t j) { return j == i + 1 || i == 8; });
  CHECK(eliminate(ring) == filled);

  // The path 2 -> 0 -> 1 has an intermediate vertex below both ends; 0 -> 2 -> 1 has not.
  CHECK(eliminate(from_rows({{0, 1}, {1}, {0, 2}})) == from_rows({{0, 1}, {1}, {0, 1, 2}}));
  CHECK(eliminate(from_rows({{0, 2}, {1}, {1, 2}})) == from_rows({{0, 2}, {1}, {1, 2}}));
}

// Message of the input_error that f() throws; empty if it throws none.
template <class F>
std::string message_of(F f) {
  try {
    f();
  } catch (const input_error& e) {
    return e.what();
  }
  return {};
}

}  // namespace

TEST_CASE("Boolean elimination: hand examples") { check_hand_examples(eliminate_boolean); }

TEST_CASE("prime field elimination: hand examples") {
  for (const std::uint64_t seed : {0ULL, 1ULL, 20210507ULL}) {
    check_hand_examples([seed](const pattern& a) { return eliminate_prime_field(a, seed); });
  }
}

TEST_CASE("prime field: arithmetic") {
  using namespace prime_field;
  CHECK(prime == 2305843009213693951ULL);
  CHECK(multiply(prime - 1, prime - 1) == 1);
  CHECK(multiply(prime - 1, 2) == prime - 2);
  CHECK(multiply(std::uint64_t{1} << 60, 2) == 1);
  CHECK(multiply(std::uint64_t{1} << 40, std::uint64_t{1} << 40) == std::uint64_t{1} << 19);
  CHECK(multiply(0, prime - 1) == 0);
  CHECK(subtract(0, 1) == prime - 1);
  CHECK(subtract(5, 5) == 0);
  CHECK(subtract(prime - 1, 0) == prime - 1);
  CHECK(inverse(1) == 1);
  CHECK(inverse(2) == std::uint64_t{1} << 60);
  std::mt19937_64 engine(61);
  for (int trial = 0; trial < 1000; ++trial) {
    const std::uint64_t x = 1 + engine() % (prime - 1);
    const std::uint64_t y = engine() % prime;
    REQUIRE(multiply(x, inverse(x)) == 1);
    REQUIRE(multiply(multiply(y, x), inverse(x)) == y);
    // x (y - 1) = x y - x.
    REQUIRE(multiply(x, subtract(y, 1)) == subtract(multiply(x, y), x));
  }
}

TEST_CASE("oracles: refusals") {
  const pattern no_diagonal = from_rows({{0, 1}, {0}, {2}});
  pattern wide = from_rows({{0}});
  wide.n_cols = 2;
  pattern unsorted = from_rows({{0, 1}, {1}});
  std::swap(unsorted.col_idx[0], unsorted.col_idx[1]);
  const auto boolean = [](const pattern& a) { return message_of([&] { eliminate_boolean(a); }); };
  const auto field = [](const pattern& a) {
    return message_of([&] { eliminate_prime_field(a, 1); });
  };
  CHECK(boolean(no_diagonal) == "Boolean elimination: the diagonal of row 1 is structurally zero");
  CHECK(field(no_diagonal) ==
        "prime field elimination: the diagonal of row 1 is structurally zero");
  CHECK(boolean(wide) == "Boolean elimination: the matrix is 1 x 2, not square");
  CHECK(field(wide) == "prime field elimination: the matrix is 1 x 2, not square");
  CHECK(boolean(unsorted).find("ascending") != std::string::npos);
  const auto identity = [](index_t n) {
    return from_rows([n] {
      std::vector<std::vector<index_t>> rows;
      for (index_t i = 0; i < n; ++i) rows.push_back({i});
      return rows;
    }());
  };
  CHECK(boolean(identity(max_boolean_order + 1)) ==
        "Boolean elimination: order 6001 exceeds the limit of 6000 for dense elimination");
  CHECK(field(identity(max_prime_field_order + 1)) ==
        "prime field elimination: order 601 exceeds the limit of 600 for dense elimination");
  const pattern largest = identity(max_prime_field_order);
  CHECK(eliminate_prime_field(largest, 3) == largest);
}

TEST_CASE("oracles agree on small random patterns, and with the fill-path theorem") {
  std::mt19937_64 engine(1978);
  index_t filled_more = 0;
  for (int trial = 0; trial < 4000; ++trial) {
    constexpr std::array<index_t, 8> densities = {0, 2, 5, 8, 12, 20, 35, 60};
    const index_t n = 1 + draw(engine, trial % 2 == 0 ? 8 : 40);
    const pattern a = random_pattern(engine, n, densities[static_cast<std::size_t>(trial / 2 % 8)]);
    const pattern f = eliminate_boolean(a);
    CAPTURE(trial);
    CAPTURE(n);
    REQUIRE(eliminate_prime_field(a, engine()) == f);
    REQUIRE(row_union(a) == f);
    if (n <= 8) REQUIRE(fill_path_closure(a) == f);
    filled_more += f.nnz() > a.nnz() ? 1 : 0;
  }
  // The sparsest and the smallest trials have no fill; many of the others do.
  CHECK(filled_more > 1500);
}

TEST_CASE("oracles agree on every pattern of order 4") {
  for (unsigned bits = 0; bits < (1U << 12); ++bits) {
    const pattern a = from_predicate(4, [bits](index_t i, index_t j) {
      return ((bits >> (3 * i + (j > i ? j - 1 : j))) & 1U) != 0;
    });
    const pattern f = fill_path_closure(a);
    CAPTURE(bits);
    REQUIRE(eliminate_boolean(a) == f);
    REQUIRE(row_union(a) == f);
    REQUIRE(eliminate_prime_field(a, bits) == f);
  }
}

}  // namespace gsofa::reference
