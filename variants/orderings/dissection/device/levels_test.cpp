// labels: oracle
// program: emulated
// Levels of searches of many graphs at once are those of the host.
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "common/generators.hpp"
#include "common/random.hpp"
#include "variants/orderings/dissection/test_graphs.hpp"

using namespace gsofa;
using orders::graph;
using orders::trial;

TEST_CASE("levels of searches of many graphs at once are those of the host") {
  std::vector<graph> graphs;
  for (const char* spec :
       {"diagonal:n=40", "tridiagonal:n=30", "tridiagonal:n=3000", "arrow:n=700", "dense:n=50",
        "grid5:nx=40", "grid5:nx=40,ny=30,drop=0.3,seed=2", "grid7:nx=12", "grid27:nx=8",
        "circuit:n=1200,hubs=3,seed=1", "random:n=300,degree=3,seed=3", "diagonal:n=1"}) {
    graphs.push_back(orders::test::graph_of(generate(spec)));
    graphs.push_back(orders::test::weighted(graphs.back(), 9));
  }
  // Every fifth graph is not searched.
  std::vector<const graph*> all;
  std::vector<index_t> searched;
  std::vector<std::uint64_t> keys;
  for (index_t k = 0; k < static_cast<index_t>(graphs.size()); ++k) {
    all.push_back(&graphs[at(k)]);
    if (k % 5 == 4) continue;
    searched.push_back(k);
    keys.push_back(mix64(at(k)));
  }
  gpu::memory_budget budget;
  budget.set_limit(offset_t{1} << 30);
  orders::device::level l(budget);
  orders::test::put_level(l, all, {});
  orders::device::host_link link;
  orders::device::search_space space(budget);
  int separators = 0;
  for (int round = 0; round < 2; ++round) {
    orders::device::search_levels(link, space, l, searched, keys);
    orders::device::join(space);
    std::vector<orders::device::found_level> found(graphs.size());
    gpu::copy_to_host(found.data(), orders::device::found(space).found,
                      static_cast<offset_t>(found.size()));
    std::vector<std::uint32_t> level(at(l.first.back()));
    gpu::copy_to_host(level.data(), orders::device::found(space).level,
                      static_cast<offset_t>(level.size()));
    for (std::size_t k = 0; k < searched.size(); ++k) {
      const index_t i = searched[k];
      CAPTURE(i);
      trial t;
      orders::scratch s;
      const bool is = orders::level_separator(graphs[at(i)], keys[k], t, s);
      const orders::device::found_level& f = found[at(i)];
      REQUIRE((f.is != 0) == is);
      if (!is) continue;
      ++separators;
      CHECK(f.cost == t.cost);
      CHECK(std::ranges::equal(f.weight, t.weight));
      std::vector<std::uint8_t> side;
      for (index_t v = l.first[at(i)]; v < l.first[at(i) + 1]; ++v) {
        const std::uint32_t own = level[at(v)];
        side.push_back(own == f.level  ? orders::separator
                       : own < f.level ? orders::side_a
                                       : orders::side_b);
      }
      CHECK(side == t.side);
    }
  }
  CHECK(separators > 16);
}
