#include "variants/orderings/minimum_degree.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/error.hpp"
#include "variants/orderings/leaves_of_hubs.hpp"

using namespace gsofa;
using namespace gsofa::orders;

namespace {

// The graph as sets of neighbours: elimination by the definition.
struct neighbour_sets {
  std::vector<std::set<index_t>> row;
  std::vector<index_t> weight{};
  std::vector<std::uint8_t> halo{};

  [[nodiscard]] index_t n() const { return static_cast<index_t>(row.size()); }
  void join(index_t u, index_t v) {
    if (u == v) return;
    row[at(u)].insert(v);
    row[at(v)].insert(u);
  }
  [[nodiscard]] index_t weight_of(index_t v) const { return weight.empty() ? 1 : weight[at(v)]; }
  [[nodiscard]] bool in_halo(index_t v) const { return !halo.empty() && halo[at(v)] != 0; }
  [[nodiscard]] offset_t degree(index_t v) const {
    offset_t sum = 0;
    for (const index_t u : row[at(v)]) sum += weight_of(u);
    return sum;
  }
  // Returns the edges that the elimination of v adds.
  offset_t eliminate(index_t v) {
    const std::set<index_t> clique = std::exchange(row[at(v)], {});
    offset_t before = 0;
    offset_t after = 0;
    for (const index_t u : clique) {
      before += static_cast<offset_t>(row[at(u)].size());
      row[at(u)].erase(v);
      for (const index_t w : clique) {
        if (u != w) row[at(u)].insert(w);
      }
      after += static_cast<offset_t>(row[at(u)].size());
    }
    return (after - before + static_cast<offset_t>(clique.size())) / 2;
  }
};

neighbour_sets empty(index_t n) { return {.row = std::vector<std::set<index_t>>(at(n))}; }

neighbour_sets random_graph(index_t n, index_t edges, std::mt19937& random) {
  neighbour_sets g = empty(n);
  std::uniform_int_distribution<index_t> vertex(0, n - 1);
  for (index_t k = 0; k < edges; ++k) g.join(vertex(random), vertex(random));
  return g;
}

neighbour_sets path(index_t n) {
  neighbour_sets g = empty(n);
  for (index_t v = 1; v < n; ++v) g.join(v - 1, v);
  return g;
}

neighbour_sets clique(index_t n) {
  neighbour_sets g = empty(n);
  for (index_t v = 1; v < n; ++v) {
    for (index_t u = 0; u < v; ++u) g.join(u, v);
  }
  return g;
}

neighbour_sets grid(index_t side) {
  neighbour_sets g = empty(side * side);
  for (index_t v = 0; v < side * side; ++v) {
    if (v % side != 0) g.join(v, v - 1);
    if (v >= side) g.join(v, v - side);
  }
  return g;
}

// Leaves that each touch `degree` of the hubs, which have the last numbers.
neighbour_sets cover(index_t leaves, index_t hubs, index_t degree, std::mt19937& random) {
  neighbour_sets g = empty(leaves + hubs);
  std::uniform_int_distribution<index_t> hub(leaves, leaves + hubs - 1);
  for (index_t v = 0; v < leaves; ++v) {
    for (index_t k = 0; k < degree; ++k) g.join(v, hub(random));
  }
  return g;
}

// The rows of a graph, which lives as long.
struct row_lists {
  explicit row_lists(const neighbour_sets& g) : of(g) {
    for (const auto& row : g.row) {
      adj.insert(adj.end(), row.begin(), row.end());
      begin.push_back(static_cast<offset_t>(adj.size()));
    }
  }
  [[nodiscard]] weighted_rows view() const {
    return {.begin = begin, .adj = adj, .weight = of.weight, .halo = of.halo};
  }
  const neighbour_sets& of;
  std::vector<offset_t> begin{0};
  std::vector<index_t> adj;
};

std::vector<index_t> order_of(const neighbour_sets& g, minimum_degree_settings settings = {}) {
  return minimum_degree(row_lists(g).view(), settings);
}

bool holds_all_outside_halo(const neighbour_sets& g, std::vector<index_t> order) {
  std::vector<index_t> expected;
  for (index_t v = 0; v < g.n(); ++v) {
    if (!g.in_halo(v)) expected.push_back(v);
  }
  std::ranges::sort(order);
  return order == expected;
}

offset_t fill_of(neighbour_sets g, const std::vector<index_t>& order) {
  offset_t fill = 0;
  for (const index_t v : order) fill += g.eliminate(v);
  return fill;
}

// Fill of the order that always eliminates a vertex of least degree, the smallest number first.
offset_t greedy_fill(neighbour_sets g) {
  offset_t fill = 0;
  std::set<index_t> left;
  for (index_t v = 0; v < g.n(); ++v) left.insert(v);
  while (!left.empty()) {
    const index_t v = *std::ranges::min_element(left, {}, [&](index_t u) { return g.degree(u); });
    left.erase(v);
    fill += g.eliminate(v);
  }
  return fill;
}

const pivot_score both[] = {pivot_score::degree, pivot_score::fill};

}  // namespace

TEST_CASE("minimum_degree: special graphs are ordered completely") {
  neighbour_sets star = empty(400);  // the centre is a dense row
  for (index_t v = 1; v < 400; ++v) star.join(0, v);
  neighbour_sets parts = empty(60);
  for (index_t v = 1; v < 20; ++v) parts.join(v - 1, v);
  for (index_t v = 40; v < 60; ++v) parts.join(v, 40 + (v + 1) % 20);
  neighbour_sets arrow = path(500);
  for (index_t v = 0; v < 500; ++v) arrow.join(250, v);
  for (const neighbour_sets& g : {empty(0), empty(1), empty(30), path(2), path(90), clique(2),
                                  clique(40), star, parts, arrow, grid(13)}) {
    CAPTURE(g.n());
    for (const pivot_score score : both) {
      const std::vector<index_t> order = order_of(g, {.score = score});
      CHECK(holds_all_outside_halo(g, order));
      CHECK(order_of(g, {.score = score}) == order);
    }
  }
  CHECK(minimum_degree({}, {}).empty());
  CHECK(order_of(star).back() == 0);
  CHECK(order_of(arrow).back() == 250);
}

TEST_CASE("minimum_degree: trees have no fill, and cycles one edge less than three per vertex") {
  std::mt19937 random(3);
  for (index_t n = 2; n < 200; n += 7) {
    neighbour_sets tree = empty(n);
    for (index_t v = 1; v < n; ++v) {
      tree.join(v, std::uniform_int_distribution<index_t>(0, v - 1)(random));
    }
    neighbour_sets cycle = path(n + 2);
    cycle.join(0, n + 1);
    for (const pivot_score score : both) {
      CHECK(fill_of(tree, order_of(tree, {.score = score})) == 0);
      CHECK(fill_of(path(n), order_of(path(n), {.score = score})) == 0);
      CHECK(fill_of(cycle, order_of(cycle, {.score = score})) == n - 1);
    }
  }
}

TEST_CASE("minimum_degree: bounds hold, and the fill is that of exact minimum degree or near it") {
  std::mt19937 random(11);
  for (const pivot_score score : both) {
    offset_t ours = 0;
    offset_t exact = 0;
    offset_t told_heights = 0, heights = 0;
    for (int trial = 0; trial < 300; ++trial) {
      const index_t n = 2 + trial % 40;
      const neighbour_sets g = random_graph(n, n * (1 + trial % 3), random);
      std::vector<index_t> bounds;
      elimination_cost cost;
      const std::vector<index_t> order =
          order_of(g, {.score = score, .degree_bounds = &bounds, .cost = &cost});
      REQUIRE(holds_all_outside_halo(g, order));
      neighbour_sets left = g;
      std::vector<index_t> height(at(n), 1);
      for (const index_t v : order) {
        if (bounds[at(v)] >= 0) CHECK(bounds[at(v)] >= left.degree(v));
        for (const index_t u : left.row[at(v)]) {
          height[at(u)] = std::max(height[at(u)], height[at(v)] + 1);
        }
        left.eliminate(v);
      }
      const index_t highest = std::ranges::max(height);
      if (cost.entries >= 0) {  // no leaves of hubs
        CHECK(cost.height >= highest);
        told_heights += cost.height;
        heights += highest;
      }
      ours += fill_of(g, order);
      exact += greedy_fill(g);
    }
    CHECK(ours <= exact + exact / 50);
    CHECK(ours >= exact - exact / 10);
    CHECK(told_heights <= heights + heights / 8);
  }
}

TEST_CASE(
    "minimum_degree: the first vertex of a graph with weights has the least weight around it") {
  std::mt19937 random(5);
  for (int trial = 0; trial < 100; ++trial) {
    neighbour_sets g = random_graph(12, 30, random);
    g.weight.resize(12);
    for (index_t& w : g.weight) w = std::uniform_int_distribution<index_t>(1, 50)(random);
    std::vector<index_t> bounds;
    const std::vector<index_t> order =
        order_of(g, {.score = pivot_score::degree, .degree_bounds = &bounds});
    REQUIRE(holds_all_outside_halo(g, order));
    offset_t least = g.degree(0);
    for (index_t v = 1; v < 12; ++v) least = std::min(least, g.degree(v));
    // Some step, the first one, selected a vertex of that degree.
    CHECK(std::ranges::count(bounds, static_cast<index_t>(least)) > 0);
    neighbour_sets left = g;
    for (const index_t v : order) {
      if (bounds[at(v)] >= 0) CHECK(bounds[at(v)] >= left.degree(v));
      left.eliminate(v);
    }
  }
}

// A vertex of weight w stands for w vertices with one closed neighbourhood.
TEST_CASE("minimum_degree: weights give orders as good as copies of the vertices") {
  std::mt19937 random(29);
  for (const pivot_score score : both) {
    offset_t of_weights = 0;
    offset_t of_copies = 0;
    for (int trial = 0; trial < 100; ++trial) {
      neighbour_sets heavy = random_graph(15, 30, random);
      std::vector<std::vector<index_t>> copies(15);
      neighbour_sets wide = empty(0);
      for (auto& copy : copies) {
        copy.resize(at(std::uniform_int_distribution<index_t>(1, 6)(random)));
        heavy.weight.push_back(static_cast<index_t>(copy.size()));
        std::iota(copy.begin(), copy.end(), wide.n());
        wide.row.resize(wide.row.size() + copy.size());
      }
      const auto join_all = [&](index_t u, index_t v) {
        for (const index_t a : copies[at(u)]) {
          for (const index_t b : copies[at(v)]) wide.join(a, b);
        }
      };
      for (index_t v = 0; v < 15; ++v) {
        join_all(v, v);
        for (const index_t u : heavy.row[at(v)]) join_all(u, v);
      }
      std::vector<index_t> expanded;
      for (const index_t v : order_of(heavy, {.score = score})) {
        expanded.insert(expanded.end(), copies[at(v)].begin(), copies[at(v)].end());
      }
      of_weights += fill_of(wide, expanded);
      of_copies += fill_of(wide, order_of(wide, {.score = score}));
    }
    CHECK(of_weights <= of_copies + of_copies / 50);
  }
  neighbour_sets heavy = path(2);
  heavy.weight = {2147483647, 1};
  CHECK_THROWS_AS(order_of(heavy), overflow_error);
}

TEST_CASE("minimum_degree: the halo is never eliminated and repels") {
  // Vertex 0 has three neighbours in the halo, the other vertices of the path have none.
  neighbour_sets g = path(5);
  for (index_t h = 5; h < 8; ++h) {
    g.row.emplace_back();
    g.join(0, h);
  }
  g.halo = {0, 0, 0, 0, 0, 1, 1, 1};
  for (const pivot_score score : both) {
    const std::vector<index_t> order = order_of(g, {.score = score});
    CHECK(holds_all_outside_halo(g, order));
    CHECK(order.back() == 0);
  }
  g.halo.assign(8, 1);
  CHECK(order_of(g).empty());

  std::mt19937 random(17);
  offset_t with = 0;
  offset_t without = 0;
  for (int trial = 0; trial < 200; ++trial) {
    neighbour_sets r = random_graph(40, 80, random);
    r.halo.resize(40);
    for (index_t v = 28; v < 40; ++v) r.halo[at(v)] = 1;
    std::vector<index_t> bounds;
    const std::vector<index_t> order =
        order_of(r, {.score = both[trial % 2], .degree_bounds = &bounds});
    REQUIRE(holds_all_outside_halo(r, order));
    // Edges inside the halo change nothing.
    neighbour_sets apart = r;
    for (index_t v = 28; v < 40; ++v) {
      std::erase_if(apart.row[at(v)], [](index_t u) { return u >= 28; });
    }
    CHECK(order_of(apart, {.score = both[trial % 2]}) == order);
    neighbour_sets left = r;
    for (const index_t v : order) {
      if (bounds[at(v)] >= 0) CHECK(bounds[at(v)] >= left.degree(v));
      left.eliminate(v);
    }
    neighbour_sets inner = r;
    for (index_t v = 28; v < 40; ++v) {
      for (const index_t u : std::exchange(inner.row[at(v)], {})) inner.row[at(u)].erase(v);
    }
    with += fill_of(r, order);
    std::vector<index_t> blind = order_of(inner, {.score = both[trial % 2]});
    std::erase_if(blind, [](index_t v) { return v >= 28; });
    without += fill_of(r, blind);
  }
  CHECK(with < without);
}

TEST_CASE("leaves of hubs go first, and the core is the graph of their elimination") {
  std::mt19937 random(31);
  for (int trial = 0; trial < 20; ++trial) {
    neighbour_sets g = cover(300, 20, 3, random);
    for (index_t k = 0; k < 10; ++k) g.join(k, k + 20);  // no leaves any more
    for (index_t v = 0; v < 300; ++v) {
      if (v % 3 != 0) g.join(v, 319);  // a long row
    }
    for (index_t v = 0; v < 320; ++v) g.weight.push_back(1 + v % 3);
    g.halo.assign(320, 0);
    g.halo[at(trial % 320)] = g.halo[310] = g.halo[311] = 1;
    const row_lists rows(g);
    const std::optional<hub_core> core = eliminate_leaves_of_hubs(rows.view(), 178);
    REQUIRE(core);
    CHECK(core->long_rows == std::vector<index_t>{319});
    CHECK(core->leaves.size() + core->vertices.size() == 319);
    neighbour_sets left = g;
    for (const index_t u : std::exchange(left.row[319], {})) left.row[at(u)].erase(319);
    const neighbour_sets without_long_row = left;
    for (std::size_t k = 0; k < core->leaves.size(); ++k) {
      const index_t v = core->leaves[k];
      CHECK(core->leaf_degrees[k] == without_long_row.degree(v));
      for (const index_t u : without_long_row.row[at(v)]) {
        CHECK(without_long_row.row[at(u)].size() >= 4 * without_long_row.row[at(v)].size());
      }
      CHECK(!g.in_halo(v));
      left.eliminate(v);
    }
    for (std::size_t i = 0; i < core->vertices.size(); ++i) {
      const index_t v = core->vertices[i];
      std::set<index_t> row;
      for (offset_t p = core->begin[i]; p < core->begin[i + 1]; ++p) {
        row.insert(core->vertices[at(core->adj[at(p)])]);
      }
      CHECK(row == left.row[at(v)]);
      CHECK(at(core->begin[i + 1] - core->begin[i]) == row.size());
      CHECK(core->weight[i] == g.weight_of(v));
      CHECK((core->halo[i] != 0) == g.in_halo(v));
    }
    for (const pivot_score score : both) {
      std::vector<index_t> bounds;
      const std::vector<index_t> order = order_of(g, {.score = score, .degree_bounds = &bounds});
      CHECK(holds_all_outside_halo(g, order));
      CHECK(std::equal(core->leaves.begin(), core->leaves.end(), order.begin()));
    }
  }
  // No leaves; hubs of few leaves; a core of more than four times the entries.
  for (const neighbour_sets& g :
       {grid(20), cover(300, 400, 3, random), cover(12000, 2000, 25, random)}) {
    CHECK(!eliminate_leaves_of_hubs(row_lists(g).view(), 1000));
  }
}

TEST_CASE("minimum_degree: a graph of leaves and hubs has the fill of exact minimum degree") {
  std::mt19937 random(37);
  for (const pivot_score score : both) {
    const neighbour_sets g = cover(600, 60, 3, random);
    const std::vector<index_t> order = order_of(g, {.score = score});
    REQUIRE(holds_all_outside_halo(g, order));
    const offset_t exact = greedy_fill(g);
    CHECK(fill_of(g, order) <= exact + exact / 50);
  }
}

TEST_CASE("minimum_degree: long lists are moved when the workspace is full") {
  std::mt19937 random(23);
  for (const pivot_score score : both) {
    const neighbour_sets g = random_graph(400, 1200, random);
    const std::vector<index_t> order = order_of(g, {.score = score});
    CHECK(holds_all_outside_halo(g, order));
    const offset_t exact = greedy_fill(g);
    CHECK(fill_of(g, order) < exact + exact / 10);
  }
}

TEST_CASE("minimum_degree: less fill by the score fill than by the degree on grids") {
  const neighbour_sets g = grid(40);
  CHECK(fill_of(g, order_of(g, {.score = pivot_score::fill})) <
        fill_of(g, order_of(g, {.score = pivot_score::degree})));
}

TEST_CASE("minimum_degree: ends as cancelled") {
  const std::atomic<bool> stop{true};
  CHECK_THROWS_AS(order_of(grid(5), {.stop = &stop}), cancelled_error);
}
