#include "variants/panels/bits.hpp"

#include <doctest/doctest.h>

#include "common/random.hpp"

using namespace gsofa;
using namespace gsofa::panels;

namespace {

bool get(const bit_matrix& m, int i, int j) { return (m[i] >> j & 1U) != 0; }

// Leading w x w block with about `percent` of its entries, and the diagonal.
bit_matrix random_block(random_source& random, int w, std::uint64_t percent) {
  bit_matrix m{};
  for (int i = 0; i < w; ++i) {
    for (int j = 0; j < w; ++j) {
      if (i == j || random.below(100) < percent) m[i] |= bit(j);
    }
  }
  return m;
}

}  // namespace

TEST_CASE("masks of neighbours of a bit") {
  CHECK(below(0) == 0);
  CHECK(below(63) == ~mask_t{0} >> 1);
  CHECK(above(63) == 0);
  CHECK(above(0) == ~mask_t{1});
  for (int c = 0; c < mask_bits; ++c) CHECK((below(c) ^ bit(c) ^ above(c)) == ~mask_t{0});
}

TEST_CASE("transposed bit matrix") {
  random_source random(1);
  for (int trial = 0; trial < 50; ++trial) {
    const bit_matrix m = random_block(random, 64, random.below(101));
    bit_matrix t = m;
    transpose(t);
    bool same = true;
    for (int i = 0; i < 64; ++i) {
      for (int j = 0; j < 64; ++j) same = same && get(m, i, j) == get(t, j, i);
    }
    CHECK(same);
  }
}

TEST_CASE("elimination and closure of blocks against loops over entries") {
  random_source random(2);
  for (int trial = 0; trial < 600; ++trial) {
    const int w = static_cast<int>(random.between(1, 64));
    const bit_matrix a = random_block(random, w, random.below(12));

    bit_matrix expected = a;
    for (int k = 0; k < w; ++k) {
      for (int i = k + 1; i < w; ++i) {
        for (int j = k + 1; j < w; ++j) {
          if (get(expected, i, k) && get(expected, k, j)) expected[i] |= bit(j);
        }
      }
    }
    bit_matrix filled = a;
    eliminate(filled, w);
    CHECK(filled.rows == expected.rows);

    bit_matrix edges{};
    for (int k = 0; k < w; ++k) edges[k] = a[k] & above(k);
    bit_matrix paths = edges;
    for (int k = 0; k < w; ++k) {
      for (int i = 0; i < w; ++i) {
        if (get(paths, i, k)) paths[i] |= paths[k];
      }
    }
    bit_matrix reach = edges;
    close_ascending(reach, w);
    CHECK(reach.rows == paths.rows);

    const mask_t inside = w == 64 ? ~mask_t{0} : below(w);
    const mask_t m = mix64(static_cast<std::uint64_t>(trial)) & inside;
    mask_t all = m;
    mask_t free = 0;
    for (int k = 0; k < w; ++k) {
      if ((m & bit(k)) == 0) continue;
      all |= paths[k];
      if ((paths[k] & m) == 0) free |= bit(k);
    }
    CHECK(closure(m, reach) == all);
    CHECK(closure_by_edges(m, edges) == all);
    CHECK(uncovered(m, m, reach) == free);
    const mask_t some = m & mix64(random.below(1U << 31));
    CHECK(uncovered(some, m, reach) == (free & some));
  }
}

TEST_CASE("counts of bits and of members") {
  random_source random(3);
  for (int trial = 0; trial < 200; ++trial) {
    const auto length = static_cast<std::size_t>(random.below(trial < 20 ? 3000 : 40));
    const mask_t rare = random.below(3) == 0 ? bit(5) : ~mask_t{0};
    bit_counter counter(length);
    std::array<std::uint64_t, 64> expected{};
    std::array<mask_t, 8> eight{};
    std::size_t waiting = 0;
    for (std::size_t z = 0; z < length; ++z) {
      const mask_t word = mix64(random.below(1U << 31)) & rare;
      int members = 0;
      for (std::size_t c = 0; c < 64; ++c) {
        expected[c] += word >> c & 1U;
        members += static_cast<int>(word >> c & 1U);
      }
      CHECK(count(word) == members);
      if (trial % 2 == 0) {
        counter.add(word);
        continue;
      }
      eight[waiting++] = word;
      if (waiting == 8) counter.add(eight);
      waiting %= 8;
    }
    for (std::size_t k = 0; k < waiting; ++k) counter.add(eight[k]);
    CHECK(counter.counts().rows == expected);
    const int w = static_cast<int>(random.between(1, 64));
    const bit_matrix first = counter.counts(w);
    CHECK(std::equal(expected.begin(), expected.begin() + w, first.rows.begin()));
  }
}

TEST_CASE("a block transposed entry by entry") {
  random_source random(4);
  for (int trial = 0; trial < 100; ++trial) {
    const int w = static_cast<int>(random.between(1, 64));
    const bit_matrix m = random_block(random, w, random.below(101));
    bit_matrix expected = m;
    transpose(expected);
    bit_matrix t = m;
    transpose_entries(t, w);
    CHECK(t.rows == expected.rows);
    CHECK(count(first_bits(w)) == w);
  }
}
