// labels: oracle
// program: emulated
// The graphs of the sides, and the positions of the vertices, are those of the host.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>
#include <vector>

#include "common/generators.hpp"
#include "common/random.hpp"
#include "variants/orderings/dissection/test_graphs.hpp"

using namespace gsofa;
using orders::graph;

namespace {

// Splits some of the graphs.
void check_splitting(const std::vector<graph>& graphs, std::uint64_t seed) {
  gpu::memory_budget budget = orders::test::budget_of_tests();
  orders::device::host_link link;
  orders::device::splitting_space space(budget);
  orders::device::level whole(budget);
  orders::device::level sides(budget);
  orders::device::growing_array<index_t> next_vertex(budget, "vertices");
  orders::test::put_graphs(whole, graphs);
  const index_t n = whole.first.back();
  random_source random(seed);
  orders::team alone;
  std::vector<orders::device::ending> endings;
  std::vector<std::uint8_t> side;
  std::vector<index_t> vertex(at(n));
  std::iota(vertex.begin(), vertex.end(), 1000);
  std::ranges::reverse(vertex);
  std::vector<index_t> order(at(n), -1);
  std::vector<index_t> expected_order(at(n), -1);
  std::vector<index_t> expected_vertex;
  std::vector<graph> expected;
  std::vector<std::array<index_t, 3>> expected_count;
  index_t position = n;
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    const graph& g = graphs[i];
    position -= g.n;  // positions are not in the order of the graphs
    orders::device::ending e{random.below(4) != 0, side.size(), {0, 0}, position, {0, 0, 0}};
    std::vector<std::uint8_t> own(at(g.n), 0);
    if (e.splits) {
      // At random or the first half; then what is in A and next to B separates.
      const std::uint64_t kind = random.below(4);
      for (index_t v = 0; v < g.n; ++v) {
        own[at(v)] = static_cast<std::uint8_t>(kind == 3   ? 1
                                               : kind == 2 ? (2 * v < g.n ? 0 : 1)
                                                           : random.below(kind + 1));
      }
      const auto in_b = [&](index_t u) { return own[at(u)] == 1; };
      for (index_t v = 0; v < g.n; ++v) {
        if (own[at(v)] == 0 && std::ranges::any_of(g.row(v), in_b)) own[at(v)] = 2;
      }
      side.insert(side.end(), own.begin(), own.end());
      side.push_back(77);
    }
    orders::trial t;
    t.g = &g;
    t.side = own;
    orders::collect_separator(t);
    std::vector<index_t> local(at(g.n));
    std::array<index_t, 3> count{0, 0, 0};
    for (index_t v = 0; v < g.n; ++v) local[at(v)] = count[own[at(v)]]++;
    expected_count.push_back(count);
    index_t next = position;
    for (std::uint8_t s = 0; s < 3; ++s) {
      for (index_t v = 0; v < g.n; ++v) {
        if (own[at(v)] != s) continue;
        expected_order[at(next++)] = vertex[at(whole.first[i] + v)];
        if (s < 2 && e.splits) expected_vertex.push_back(vertex[at(whole.first[i] + v)]);
      }
    }
    if (e.splits) {
      graph children[2];
      orders::split_graph(alone, g, t, local, count.data(), children);
      for (int s = 0; s < 2; ++s) {
        e.weight[s] = t.weight[s];
        expected.push_back(std::move(children[s]));
      }
    }
    endings.push_back(e);
  }
  orders::device::growing_array<std::uint8_t> d_side(budget, "sides");
  orders::device::growing_array<index_t> d_vertex(budget, "vertices");
  orders::device::growing_array<index_t> d_order(budget, "order");
  orders::test::put(d_side, side);
  orders::test::put(d_vertex, vertex);
  orders::test::put(d_order, order);
  orders::device::split(link, space, whole, d_side.data(), endings, d_vertex.data(), d_order.data(),
                        sides, next_vertex);
  CHECK(orders::test::values_of(d_order, n) == expected_order);
  const auto found = orders::test::graphs_of(sides);
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(orders::test::same(found[i], expected[i]));
  CHECK(orders::test::values_of(next_vertex, sides.first.back()) == expected_vertex);
  for (std::size_t i = 0; i < endings.size(); ++i) {
    CHECK(std::equal(endings[i].count, endings[i].count + 3, expected_count[i].begin()));
  }
}

}  // namespace

TEST_CASE("splitting on the device gives the graphs of the host") {
  std::vector<graph> all;
  for (const pattern& s : orders::test::subjects()) {
    all.push_back(orders::test::graph_of(s));
    orders::team alone;
    all.push_back(orders::compress(alone, s).g);
  }
  for (const std::uint64_t seed : {1U, 2U, 3U}) check_splitting(all, seed);
  check_splitting({orders::test::graph_of(generate("diagonal:n=0"))}, 4);
  check_splitting({}, 5);
}
