#include "common/digest.hpp"

#include <doctest/doctest.h>

using namespace gsofa;

TEST_CASE("entry hashes are those of splitmix64") {
  // The first output of splitmix64 seeded with 0 (position (0,0)), published with the generator.
  CHECK(entry_hash(0, 0) == 0xe220a8397b1dcdafULL);
  CHECK(entry_hash(0, 1) != entry_hash(1, 0));
}

TEST_CASE("a row digest ignores the order and notices a repeated entry") {
  const std::vector<index_t> a{1, 5, 9}, b{9, 1, 5}, twice{1, 5, 9, 9}, other{1, 5, 8};
  CHECK(row_digest(3, a) == row_digest(3, b));
  CHECK(row_digest(3, a) != row_digest(4, a));
  CHECK(row_digest(3, a) != row_digest(3, twice));
  CHECK(row_digest(3, a) != row_digest(3, other));
}

TEST_CASE("a pattern's digest is the sum over its rows") {
  const pattern a{2, 3, {0, 2, 3}, {0, 2, 1}};
  CHECK(pattern_digest(a) == entry_hash(0, 0) + entry_hash(0, 2) + entry_hash(1, 1));
}
