#include "common/symmetrize.hpp"

#include <doctest/doctest.h>

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
