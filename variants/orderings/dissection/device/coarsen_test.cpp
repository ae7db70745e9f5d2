// labels: oracle
// program: emulated
// Matching and contraction of many graphs at once are those of the host.
#include <doctest/doctest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "common/generators.hpp"
#include "common/random.hpp"
#include "variants/orderings/dissection/test_graphs.hpp"

using namespace gsofa;
using orders::graph;

namespace {

// Coarsens graphs with several keys each, level by level, on host and device.
void check_coarsening(const std::vector<graph>& finest, std::uint64_t seed) {
  gpu::memory_budget budget = orders::test::budget_of_tests();
  orders::device::host_link link;
  orders::device::coarsening_space space(budget);
  orders::device::level fine(budget);
  orders::device::level coarse(budget);
  orders::test::put_graphs(fine, finest);
  std::vector<graph> expected_fine = finest;
  orders::team crew;
  orders::workspace w;
  w.per_thread.resize(1);
  for (int depth = 0; depth < 5; ++depth) {
    std::vector<orders::coarsening> wanted;
    std::vector<index_t> places;
    std::vector<graph> expected;
    for (index_t i = 0; i < fine.graphs(); ++i) {
      const int copies = depth == 0 ? i % 3 : 1;
      for (int copy = 0; copy < copies; ++copy) {
        const graph& g = expected_fine[at(i)];
        const std::uint64_t key = keyed_random(seed, static_cast<std::uint64_t>(depth),
                                               static_cast<std::uint64_t>(3 * i + copy));
        const offset_t most = copy == 1 ? 2 + depth : orders::most_weight(g.total);
        graph next;
        if (orders::coarsen(crew, w, w.per_thread.data(), g, most, key, next)) {
          places.push_back(static_cast<index_t>(wanted.size()));
          expected.push_back(std::move(next));
        }
        wanted.push_back({i, key, most});
      }
    }
    CHECK(orders::device::coarsen(link, space, fine, wanted, coarse) == places);
    const std::vector<graph> found = orders::test::graphs_of(coarse);
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      CAPTURE(depth);
      CAPTURE(i);
      CHECK(coarse.parent[i] == wanted[at(places[i])].parent);
      CHECK(found[i].from_finer == expected[i].from_finer);
      CHECK(orders::test::same(found[i], expected[i]));
    }
    if (expected.empty()) return;
    std::swap(expected_fine, expected);
    // A level is not moved: its arrays are.
    std::swap(fine.first, coarse.first);
    std::swap(fine.total, coarse.total);
    std::swap(fine.parent, coarse.parent);
    std::swap(fine.map_first, coarse.map_first);
    std::swap(fine.room, coarse.room);
    std::swap(fine.weighted, coarse.weighted);
    fine.d_first.swap(coarse.d_first);
    fine.d_owner.swap(coarse.d_owner);
    fine.d_adj.swap(coarse.d_adj);
    fine.d_edge.swap(coarse.d_edge);
    fine.d_weight.swap(coarse.d_weight);
    fine.d_begin.swap(coarse.d_begin);
    fine.d_end.swap(coarse.d_end);
    fine.d_total.swap(coarse.d_total);
    fine.d_entries.swap(coarse.d_entries);
  }
}

}  // namespace

TEST_CASE("coarsening on the device is that of the host") {
  std::vector<graph> small;
  std::vector<graph> all;
  for (const pattern& s : orders::test::subjects()) {
    all.push_back(orders::test::graph_of(s));
    if (s.n_rows <= 100) small.push_back(orders::test::graph_of(s));
    orders::team alone;
    all.push_back(orders::compress(alone, s).g);
    if (all.back().n <= 100) small.push_back(all.back());
  }
  for (const std::uint64_t seed : {1U, 2U}) {
    CAPTURE(seed);
    check_coarsening(small, seed);
    check_coarsening(all, seed);
    std::ranges::reverse(small);
    std::ranges::reverse(all);
  }
  check_coarsening({}, 3);
}
