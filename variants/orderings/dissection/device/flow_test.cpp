// labels: oracle
// program: emulated
// Minimum separators of many graphs at once are those of the host.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "common/generators.hpp"
#include "common/random.hpp"
#include "variants/orderings/dissection/test_graphs.hpp"

using namespace gsofa;
using orders::graph;
using orders::trial;

namespace {

// A wide separator of g: some of the vertices around the middle of a search, or at random.
trial wide_separator(const graph& g, std::uint64_t seed) {
  trial t;
  t.g = &g;
  t.side.resize(at(g.n));
  random_source random(seed);
  orders::scratch s;
  trial level;
  if (g.n > 0 && seed % 3 != 0 && orders::level_separator(g, seed, level, s)) {
    t.side = level.side;
  } else {
    for (index_t v = 0; v < g.n; ++v) t.side[at(v)] = 2 * v < g.n ? 0 : 1;
  }
  const std::uint64_t share = random.below(8);
  for (index_t v = 0; v < g.n; ++v) {
    const bool meets = std::ranges::any_of(
        g.row(v), [&](index_t u) { return t.side[at(u)] == 1 && t.side[at(v)] == 0; });
    if (meets || random.below(60) < share) t.side[at(v)] = orders::separator;
  }
  orders::collect_separator(t);
  return t;
}

// Compares the separators of all graphs; returns how many the flow has made smaller.
int check_separators(const std::vector<graph>& graphs, std::uint64_t seed) {
  gpu::memory_budget budget = orders::test::budget_of_tests();
  orders::device::host_link link;
  orders::device::flow_space space(budget);
  orders::device::level whole(budget);
  std::vector<const graph*> all;
  for (const graph& g : graphs) all.push_back(&g);
  orders::test::put_level(whole, all, {});
  orders::flow_space host_space;
  std::vector<trial> host;
  std::vector<index_t> chosen;
  std::vector<orders::device::winner> winners;
  std::vector<std::uint8_t> side;
  int smaller = 0;
  for (index_t i = 0; i < static_cast<index_t>(graphs.size()); ++i) {
    if ((at(i) + seed) % 5 == 4) continue;  // a leaf
    trial t = wide_separator(graphs[at(i)], seed + at(i));
    chosen.push_back(i);
    winners.push_back({side.size(), {t.weight[0], t.weight[1], t.weight[2]}});
    side.insert(side.end(), t.side.begin(), t.side.end());
    side.push_back(77);
    const offset_t before = t.weight[orders::separator];
    if (t.weight[0] > 0 && t.weight[1] > 0) orders::minimum_separator(t, host_space);
    smaller += t.weight[orders::separator] < before ? 1 : 0;
    host.push_back(std::move(t));
  }
  orders::device::growing_array<std::uint8_t> d_side(budget, "sides");
  orders::test::put(d_side, side);
  orders::device::minimum_separators(link, space, whole, d_side.data(), chosen, winners);
  const auto found = orders::test::values_of(d_side, static_cast<offset_t>(side.size()));
  for (std::size_t k = 0; k < host.size(); ++k) {
    CAPTURE(k);
    CAPTURE(graphs[at(chosen[k])].n);
    CHECK(std::ranges::equal(winners[k].weight, host[k].weight));
    const auto* const own = found.data() + winners[k].first;
    CHECK(std::equal(host[k].side.begin(), host[k].side.end(), own));
  }
  return smaller;
}

}  // namespace

TEST_CASE("minimum separators of many graphs at once are those of the host") {
  std::vector<graph> all;
  for (const pattern& s : orders::test::subjects()) {
    all.push_back(orders::test::graph_of(s));
    all.push_back(orders::test::weighted(all.back(), 9));
  }
  int smaller = 0;
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) smaller += check_separators(all, seed);
  CHECK(smaller > 40);
}

TEST_CASE("minimum separators of few graphs are found by clusters of blocks") {
  int smaller = 0;
  for (const char* spec : {"grid7:nx=14", "grid5:nx=45,ny=31,drop=0.2,seed=3", "grid27:nx=9",
                           "circuit:n=1200,hubs=3,seed=1", "random:n=900,degree=4,seed=2"}) {
    CAPTURE(spec);
    const graph g = orders::test::graph_of(generate(spec));
    for (const std::uint64_t seed : {5U, 6U}) {
      smaller += check_separators({g, orders::test::weighted(g, 5)}, seed);
    }
  }
  CHECK(smaller > 5);
}
