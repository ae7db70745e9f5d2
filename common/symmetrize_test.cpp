#include "common/symmetrize.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "common/generators.hpp"

using namespace gsofa;

TEST_CASE("A + A^T does not depend on the number of threads") {
  // Few entries, and enough of them for several threads.
  for (const char* spec : {"diagonal:n=0", "grid5:nx=20", "random:n=30000,degree=4,seed=2",
                           "circuit:n=20000,hubs=9,seed=3", "arrow:n=30000"}) {
    CAPTURE(spec);
    const pattern a = generate(spec);
    for (const diagonal mode : {diagonal::keep, diagonal::drop}) {
      const pattern one = symmetrized(a, mode);
      for (const int threads : {1, 2, 5}) CHECK(symmetrized(a, mode, threads) == one);
    }
  }
  CHECK(generate("random:n=30000,degree=4,seed=2").nnz() >= (1 << 16));
}

TEST_CASE("symmetric patterns, with some of the diagonal, and all but symmetric ones") {
  const pattern full = generate("elasticity3d:nx=9");
  REQUIRE(full.nnz() >= (1 << 16));
  pattern a;
  a.n_rows = a.n_cols = full.n_rows;
  for (index_t i = 0; i < full.n_rows; ++i) {
    for (const index_t j : full.row(i)) {
      if (j != i || i % 3 == 0) a.col_idx.push_back(j);
    }
    a.row_ptr.push_back(static_cast<offset_t>(a.col_idx.size()));
  }
  const auto check = [](const pattern& b) {
    for (const diagonal mode : {diagonal::keep, diagonal::drop}) {
      const pattern one = symmetrized(b, mode);
      for (const int threads : {2, 3, 16}) CHECK(symmetrized(b, mode, threads) == one);
      for (const pattern& c : {b, one}) {
        pattern copy;
        const pattern_view g = graph_of(c, 2, copy);
        CHECK((g.col_idx.data() == c.col_idx.data()) == (c == symmetrized(c, diagonal::drop)));
        CHECK(std::ranges::equal(g.col_idx, symmetrized(c, diagonal::drop).col_idx));
      }
    }
  };
  check(a);
  CHECK(symmetrized(a, diagonal::keep, 3) == a);
  const auto remove = [](pattern& b, index_t row, bool front) {
    const offset_t place = front ? b.row_ptr[at(row)] : b.row_ptr[at(row) + 1] - 1;
    b.col_idx.erase(b.col_idx.begin() + place);
    for (std::size_t i = at(row) + 1; i < b.row_ptr.size(); ++i) --b.row_ptr[i];
  };
  for (const index_t row : {index_t{0}, a.n_rows / 2, a.n_rows - 1}) {
    for (const bool front : {true, false}) {
      pattern b = a;
      remove(b, row, front);
      check(b);
    }
    // As many entries below the diagonal as above it, but the images of two are missing.
    pattern b = a;
    remove(b, 0, false);
    remove(b, std::max<index_t>(1, row), true);
    check(b);
  }
}
