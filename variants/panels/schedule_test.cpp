#include "variants/panels/schedule.hpp"

#include <doctest/doctest.h>

#include <stdexcept>

#include "common/random.hpp"

using namespace gsofa;

TEST_CASE("every panel once, after all its children and with all they wrote") {
  random_source random(4);
  for (int trial = 0; trial < 300; ++trial) {
    const auto n = static_cast<std::size_t>(random.below(60));
    std::vector<index_t> parent(n, -1);
    for (std::size_t v = 0; v < n; ++v) {
      const std::uint64_t p = v + 1 + random.below(5);
      if (p < n) parent[v] = static_cast<index_t>(p);
    }
    for (const int threads : {1, 2, 5}) {
      // Not atomic: a parent may read what its children wrote only if the schedule orders it.
      std::vector<int> below(n, 0), calls(n, 0);
      detail::for_each_panel(threads, parent, [&](int thread, index_t j) {
        CHECK(thread < threads);
        const auto at = static_cast<std::size_t>(j);
        ++calls[at];
        below[at] = 1;
        for (std::size_t c = 0; c < at; ++c) {
          if (parent[c] == j) below[at] += below[c];
        }
      });
      std::vector<int> size(n, 1);
      for (std::size_t v = 0; v < n; ++v) {
        if (parent[v] >= 0) size[static_cast<std::size_t>(parent[v])] += size[v];
      }
      CHECK(below == size);
      CHECK(calls == std::vector<int>(n, 1));
    }
  }
}

TEST_CASE("an exception of one thread ends them all and is passed on") {
  std::vector<index_t> parent(1000, -1);
  for (const int threads : {1, 3}) {
    CHECK_THROWS_AS(detail::for_each_panel(threads, parent,
                                           [](int, index_t j) {
                                             if (j == 10) throw std::runtime_error("ten");
                                           }),
                    std::runtime_error);
  }
}
