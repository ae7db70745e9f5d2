#include "common/mask_pattern.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "common/random.hpp"

using namespace gsofa;

TEST_CASE("every entry off the diagonal is one bit, at one position") {
  random_source random(5);
  for (const index_t n : {1, 2, 63, 64, 65, 130, 200}) {
    CAPTURE(n);
    triplets lower{n, n, {}, {}}, upper{n, n, {}, {}};
    for (index_t i = 0; i < n; ++i) {
      for (index_t j = 0; j < n; ++j) {
        if (i != j && !random.chance(probability(0.05))) continue;
        triplets& to = j < i ? lower : upper;
        to.rows.push_back(i);
        to.cols.push_back(j);
      }
    }
    const pattern l = from_triplets(lower, duplicates::reject);
    const pattern u = from_triplets(upper, duplicates::reject);
    const mask_pattern found = masks_of(l, u);
    REQUIRE(found.panels() == (n + 63) / 64);
    REQUIRE(found.begin.back() == n);
    REQUIRE(2 * found.vertices.size() == found.masks.size());
    triplets lower_again{n, n, {}, {}}, upper_again{n, n, {}, {}};
    for (index_t p = 0; p < found.panels(); ++p) {
      const index_t b = found.begin[at(p)];
      const auto from = at(found.position_begin[at(p)]);
      const auto to = at(found.position_begin[at(p) + 1]);
      CHECK(std::is_sorted(found.vertices.begin() + static_cast<std::ptrdiff_t>(from),
                           found.vertices.begin() + static_cast<std::ptrdiff_t>(to)));
      for (index_t c = b; c < found.begin[at(p) + 1]; ++c) {
        REQUIRE(found.vertices[from + at(c - b)] == c);
        upper_again.rows.push_back(c);
        upper_again.cols.push_back(c);
      }
      for (std::size_t z = from; z < to; ++z) {
        const index_t f = found.vertices[z];
        for (index_t c = 0; c < 64; ++c) {
          const std::uint64_t bit = std::uint64_t{1} << c;
          if ((found.masks[2 * z + 1] & bit) != 0) {
            REQUIRE(b + c < f);
            lower_again.rows.push_back(f);
            lower_again.cols.push_back(b + c);
          }
          if ((found.masks[2 * z] & bit) != 0) {
            REQUIRE(b + c < f);
            upper_again.rows.push_back(b + c);
            upper_again.cols.push_back(f);
          }
        }
      }
    }
    CHECK(from_triplets(lower_again, duplicates::reject).col_idx == l.col_idx);
    const pattern again = from_triplets(upper_again, duplicates::reject);
    CHECK(again.row_ptr == u.row_ptr);
    CHECK(again.col_idx == u.col_idx);
  }
}
