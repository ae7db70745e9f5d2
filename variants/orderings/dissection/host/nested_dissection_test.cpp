#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <thread>

#include "common/generators.hpp"
#include "common/preprocess.hpp"
#include "variants/orderings/dissection/host/stages.hpp"

using namespace gsofa;
using namespace gsofa::orders;

namespace {

graph graph_of(const std::string& spec) {
  const pattern a = generate(spec);
  const pattern s = symmetrized(a, diagonal::drop);
  graph g;
  g.n = s.n_rows;
  g.total = s.n_rows;
  g.entries = s.nnz();
  g.begin.assign(s.row_ptr.begin(), s.row_ptr.end() - 1);
  g.end.assign(s.row_ptr.begin() + 1, s.row_ptr.end());
  g.adj = s.col_idx;
  g.edge.assign(s.col_idx.size(), 1);
  g.weight.assign(at(g.n), 1);
  return g;
}

const char* const specs[] = {"grid5:nx=40",           "grid27:nx=12",   "circuit:n=3000,hubs=4",
                             "random:n=900,degree=4", "diagonal:n=200", "tridiagonal:n=500"};

graph coarsened(const graph& g, std::uint64_t hash_key) {
  team alone;
  workspace w;
  scratch s;
  graph coarse;
  CHECK(coarsen(alone, w, &s, g, most_weight(g.total), hash_key, coarse));
  return coarse;
}

bool separates(const trial& t) {
  for (index_t v = 0; v < t.g->n; ++v) {
    for (const index_t u : t.g->row(v)) {
      if (t.side[at(v)] + t.side[at(u)] == side_a + side_b && t.side[at(v)] != t.side[at(u)])
        return false;
    }
  }
  return true;
}

// The sides by the minimum separator next to the sink, of all sets of at most 15 vertices of the
// band.
std::vector<std::uint8_t> sides_by_enumeration(const trial& t) {
  const graph& g = *t.g;
  std::vector<std::uint8_t> in_band(at(g.n), 0);
  for (const index_t v : t.members) in_band[at(v)] = 1;
  for (int layer = 0; layer < band_layers; ++layer) {
    const std::vector<std::uint8_t> before = in_band;
    for (index_t v = 0; v < g.n; ++v) {
      for (const index_t u : g.row(v)) in_band[at(u)] |= before[at(v)];
    }
  }
  std::vector<index_t> band;
  for (index_t v = 0; v < g.n; ++v) {
    if (in_band[at(v)] != 0) band.push_back(v);
  }
  REQUIRE(band.size() <= 15);
  const std::uint8_t source = source_side(t.weight[side_a], t.weight[side_b]);
  const auto sink = static_cast<std::uint8_t>(1 - source);
  std::pair<offset_t, index_t> least{g.total + 1, 0};  // weight, vertices next to the sink
  std::vector<std::uint8_t> best;
  for (std::uint32_t set = 0; set < 1U << band.size(); ++set) {
    std::vector<std::uint8_t> sides(at(g.n), source);
    offset_t weight = 0;
    for (std::size_t i = 0; i < band.size(); ++i) {
      if ((set >> i) % 2 == 0) continue;
      sides[at(band[i])] = separator;
      weight += g.weight[at(band[i])];
    }
    std::vector<index_t> reached;
    const auto reach = [&](index_t v) {
      if (sides[at(v)] != source) return;
      sides[at(v)] = sink;
      reached.push_back(v);
    };
    for (index_t v = 0; v < g.n; ++v) {
      if (in_band[at(v)] == 0 && t.side[at(v)] == sink) reach(v);
    }
    for (std::size_t k = 0; k < reached.size(); ++k) {
      for (const index_t u : g.row(reached[k])) reach(u);
    }
    const bool cuts = std::ranges::none_of(
        reached, [&](index_t v) { return in_band[at(v)] == 0 && t.side[at(v)] == source; });
    const std::pair own{weight, static_cast<index_t>(reached.size())};
    if (!cuts || !(own < least)) continue;
    least = own;
    best = sides;
  }
  return best;
}

// Whether weights, cost and members are those of the sides.
bool is_consistent(const trial& t) {
  trial other;
  other.g = t.g;
  other.side = t.side;
  collect_separator(other);
  std::vector<index_t> members = t.members;
  std::ranges::sort(members);
  return std::ranges::equal(other.weight, t.weight) && other.cost == t.cost &&
         other.members == members;
}

}  // namespace

TEST_CASE("coarsening keeps weights, merges edges and bounds what it merges") {
  for (const char* spec : specs) {
    CAPTURE(spec);
    const graph g = graph_of(spec);
    const graph c = coarsened(g, 5);
    CHECK(has_shrunk(g.n, c.n));
    CHECK(std::accumulate(c.weight.begin(), c.weight.begin() + c.n, offset_t{0}) == g.total);
    CHECK(std::ranges::max(std::span(c.weight).first(at(c.n))) <= most_weight(g.total));
    std::map<std::pair<index_t, index_t>, index_t> expected;
    std::vector<index_t> parts(at(c.n), 0);
    for (index_t v = 0; v < g.n; ++v) {
      ++parts[at(c.from_finer[at(v)])];
      for (const index_t u : g.row(v)) {
        const std::pair ends(c.from_finer[at(v)], c.from_finer[at(u)]);
        if (ends.first != ends.second) ++expected[ends];
      }
    }
    CHECK(std::ranges::min(parts) >= 1);
    CHECK(std::ranges::max(parts) <= 2);
    std::map<std::pair<index_t, index_t>, index_t> found;
    for (index_t v = 0; v < c.n; ++v) {
      for (offset_t e = c.begin[at(v)]; e < c.end[at(v)]; ++e) {
        CHECK(found.emplace(std::pair(v, c.adj[at(e)]), c.edge[at(e)]).second);
      }
    }
    CHECK(found == expected);
    CHECK(c.entries == static_cast<offset_t>(found.size()));
  }
}

TEST_CASE("a level of a search separates; on grids along axes it is smaller than a plane") {
  for (const char* spec : specs) {
    CAPTURE(spec);
    const graph g = graph_of(spec);
    for (std::uint64_t key = 0; key < 5; ++key) {
      trial t;
      scratch s;
      if (!level_separator(g, key, t, s)) continue;
      CHECK(separates(t));
      CHECK(is_consistent(t));
      CHECK(are_even(t.weight[side_a], t.weight[side_b], g.total));
    }
  }
  for (std::uint64_t key = 0; key < 5; ++key) {
    trial t;
    scratch s;
    const graph cube = graph_of("grid7:nx=20");
    REQUIRE(level_separator(cube, key, t, s));
    CHECK(t.weight[separator] <= 300);  // a plane has 400
    team alone;
    bisector of_one_replica(alone, {.replicas = 1});
    REQUIRE(of_one_replica.bisect(cube, key, 0));
    CHECK(of_one_replica.best().weight[separator] <= 300);
    const graph square = graph_of("grid5:nx=60");
    REQUIRE(level_separator(square, key, t, s));
    CHECK(t.weight[separator] < 60);
    // One level has most of the vertices, or all but some are farther than a search goes.
    CHECK_FALSE(level_separator(graph_of("diagonal:n=200"), key, t, s));
    CHECK_FALSE(level_separator(graph_of("tridiagonal:n=20000"), key, t, s));
  }
}

TEST_CASE("a level is taken if it is smaller by more than 3 % and about as even, never if empty") {
  const cost_function cost(1000);
  const offset_t plane[3] = {450, 450, 100};
  for (const offset_t width : {96, 98, 100}) {
    const offset_t level[3] = {500 - width / 2, 500 - width / 2, width};
    CHECK(cost.takes_level(level, plane) == (width < 97));
  }
  const offset_t uneven[3] = {600, 305, 95};
  CHECK_FALSE(cost.takes_level(uneven, plane));
  const offset_t none[3] = {1000, 0, 0};
  const offset_t beyond[3] = {900, 5, 95};  // more uneven than any other may be
  CHECK_FALSE(cost.takes_level(none, plane));
  CHECK_FALSE(cost.takes_level(none, beyond));
}

TEST_CASE("a minimum separator is taken if it costs less and no side becomes too large") {
  const cost_function cost(1000);
  const offset_t now[3] = {440, 440, 120};
  for (const offset_t width : {118, 122}) {
    const offset_t even[3] = {500 - width / 2, 500 - width / 2, width};
    CHECK(cost.takes_minimum(even, now) == (width < 120));
  }
  for (const offset_t large : {550, 580}) {  // 61 and 64 % of both sides
    const offset_t uneven[3] = {900 - large, large, 100};
    CHECK(cost.takes_minimum(uneven, now) == (large == 550));
    const offset_t as_large[3] = {large, 880 - large, 120};
    CHECK(cost.takes_minimum(uneven, as_large));
  }
}

TEST_CASE("first separators separate, and refinement never makes one worse") {
  for (const char* spec : specs) {
    CAPTURE(spec);
    const graph g = graph_of(spec);
    scratch s;
    team alone;
    for (std::uint64_t hash_key = 0; hash_key < 3; ++hash_key) {
      trial t;
      t.g = &g;
      t.key = hash_key;
      first_cut(t, s);
      CHECK(separates(t));
      CHECK(is_consistent(t));
      const std::uint64_t before = t.cost;
      trial* const own = &t;
      refine(alone, &s, std::span(&own, 1), later_passes, 200, hash_key);
      CHECK(separates(t));
      CHECK(is_consistent(t));
      CHECK(t.cost <= before);
    }
  }
}

TEST_CASE("rounds refine a wide separator, and separate") {
  const graph g = graph_of("grid27:nx=6,ny=24,nz=90");
  // Every third layer across the long side: far from a minimum, 1,500 vertices and more in S.
  trial t;
  t.g = &g;
  t.key = 3;
  t.side.resize(at(g.n));
  const index_t layer = 6 * 24;
  for (index_t v = 0; v < g.n; ++v) {
    const index_t z = v / layer;
    t.side[at(v)] = z > 39 && z < 51 ? separator : z < 45 ? side_a : side_b;
  }
  collect_separator(t);
  REQUIRE(movers_of(static_cast<std::uint32_t>(t.members.size())) > 8);
  CHECK(separates(t));
  scratch s;
  team alone;
  trial* const own = &t;
  refine(alone, &s, std::span(&own, 1), 8, 200, 1);
  CHECK(separates(t));
  CHECK(is_consistent(t));
  CHECK(t.weight[separator] <= 2 * layer);
}

TEST_CASE("the flow finds the minimum separator of the band that is next to the sink") {
  int better = 0;
  flow_space space;
  for (int seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    // Thirteen rows of three vertices, of which the seventh separates.
    graph g = graph_of("grid9:nx=3,ny=13,drop=0.2,seed=" + std::to_string(seed));
    g.total = 0;
    for (index_t v = 0; v < g.n; ++v) {
      g.weight[at(v)] = 1 + static_cast<index_t>(keyed_random(at(seed), at(v), 0) % 4);
      g.total += g.weight[at(v)];
    }
    trial t;
    t.g = &g;
    for (index_t v = 0; v < g.n; ++v) {
      t.side.push_back(v / 3 < 6 ? side_a : v / 3 == 6 ? separator : side_b);
    }
    collect_separator(t);
    trial expected = t;
    expected.side = sides_by_enumeration(t);
    collect_separator(expected);
    if (cost_function(g.total).takes_minimum(expected.weight, t.weight)) {
      ++better;
    } else {
      expected = t;
    }
    minimum_separator(t, space);
    CHECK(t.side == expected.side);
    CHECK(separates(t));
    CHECK(is_consistent(t));
    CHECK(std::ranges::all_of(space.number, [](index_t k) { return k == -1; }));
  }
  CHECK(better > 10);
}

TEST_CASE("the minimum separator never costs more") {
  for (const char* spec : specs) {
    CAPTURE(spec);
    const graph g = graph_of(spec);
    scratch s;
    flow_space space;
    for (std::uint64_t hash_key = 0; hash_key < 3; ++hash_key) {
      trial t;
      t.g = &g;
      t.key = hash_key;
      first_cut(t, s);
      const std::uint64_t before = t.cost;
      minimum_separator(t, space);
      CHECK(separates(t));
      CHECK(is_consistent(t));
      CHECK(t.cost <= before);
    }
  }
}

TEST_CASE("keys of rounds without branches are those of the arithmetic of host and device") {
  std::vector<index_t> distances;
  for (index_t d = 0; d < 300; ++d) distances.push_back(d);
  for (int shift = 8; shift < 31; ++shift) {
    for (const index_t more : {-1, 0, 1, 1 << (shift - 3), 1 << (shift - 2)}) {
      distances.push_back((index_t{1} << shift) + more);
    }
  }
  for (const index_t reference : {0, 7, -100, 1 << 20}) {
    for (const index_t distance : distances) {
      for (const index_t age : {0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 17, 18, 1000}) {
        for (const index_t gain : {reference - distance, reference + distance / 2}) {
          if (branchless_round_key(reference, gain, age, 12345, 99) !=
              round_key(reference, gain, age, 12345, 99)) {
            FAIL("reference " << reference << ", gain " << gain << ", age " << age);
          }
        }
      }
    }
    CHECK(branchless_round_key(reference, least_gain, 3, 5, 1) == no_round_key);
  }
}

TEST_CASE("a separator keeps its weights where it is projected") {
  const graph g = graph_of("grid5:nx=50");
  const graph c = coarsened(g, 9);
  trial t;
  t.g = &c;
  scratch s;
  first_cut(t, s);
  const trial before = t;
  project(t, g);
  CHECK(std::ranges::equal(before.weight, t.weight));
  CHECK(before.cost == t.cost);
  CHECK(separates(t));
  CHECK(is_consistent(t));
}

TEST_CASE("leaves are ordered by minimum fill with their halo") {
  for (const char* spec : {"grid5:nx=12", "random:n=150,degree=3", "circuit:n=160,hubs=1"}) {
    CAPTURE(spec);
    const graph g = graph_of(spec);
    std::vector<index_t> leaf;
    for (index_t v = 10; v < 80; v += 1 + v % 2) leaf.push_back(v);
    // The elimination graph as sets; vertices of the halo are adjacent to each other.
    std::set<index_t> inside(leaf.begin(), leaf.end());
    std::set<index_t> halo;
    std::map<index_t, std::set<index_t>> adjacent;
    for (const index_t v : leaf) {
      for (const index_t u : g.row(v)) {
        adjacent[v].insert(u);
        adjacent[u].insert(v);
        if (!inside.contains(u)) halo.insert(u);
      }
    }
    for (const index_t u : halo) {
      for (const index_t w : halo) {
        if (u != w) adjacent[u].insert(w);
      }
    }
    const auto missing = [&](index_t v) {
      index_t pairs = 0;
      for (const index_t u : adjacent[v]) {
        for (const index_t w : adjacent[v]) pairs += u < w && !adjacent[u].contains(w) ? 1 : 0;
      }
      return pairs;
    };
    std::vector<index_t> result = leaf;
    scratch s;
    s.local.assign(at(g.n), -1);
    order_leaf(g, result, s);
    CHECK(std::ranges::is_permutation(result, leaf));
    CHECK(std::ranges::count(s.local, -1) == g.n);
    for (const index_t v : result) {
      index_t least = std::numeric_limits<index_t>::max();
      for (const index_t u : inside) least = std::min(least, missing(u));
      CHECK(missing(v) == least);
      for (const index_t u : adjacent[v]) {
        adjacent[u].erase(v);
        for (const index_t w : adjacent[v]) {
          if (u != w && w != v) adjacent[u].insert(w);
        }
      }
      adjacent.erase(v);
      inside.erase(v);
    }
  }
}

TEST_CASE("blocks are the classes of equal closed neighbourhoods, hubs included") {
  team alone;
  const std::optional<vertex_blocks> one =
      find_blocks(alone, symmetrized(generate("dense:n=600"), diagonal::drop));
  REQUIRE(one);
  CHECK(one->weight == std::vector<index_t>{600});
  CHECK(one->rows.nnz() == 0);
  CHECK(one->expand(std::vector<index_t>{0}).size() == 600);
  const pattern s = symmetrized(generate("elasticity3d:nx=3,ny=4,nz=3"), diagonal::drop);
  const std::optional<vertex_blocks> points = find_blocks(alone, s);
  REQUIRE(points);
  CHECK(size_of_blocks(s) == doctest::Approx(3));
  CHECK(points->rows.n_rows == 36);
  CHECK(points->weight == std::vector<index_t>(36, 3));
  std::vector<index_t> order(36);
  std::iota(order.begin(), order.end(), 0);
  CHECK(std::ranges::is_permutation(points->expand(order), identity_order(s.n_rows)));
  CHECK(!find_blocks(alone, symmetrized(generate("grid5:nx=9"), diagonal::drop)));
}

TEST_CASE("the order of a large leaf depends on no order of a row or of the leaf") {
  const graph g = graph_of("grid5:nx=60");
  std::vector<index_t> leaf(1500);  // rows of the grid, with a halo at either end
  std::iota(leaf.begin(), leaf.end(), 900);
  REQUIRE(leaf.size() > at(largest_first_cut));
  scratch s;
  s.local.assign(at(g.n), -1);
  std::vector<index_t> order = leaf;
  order_leaf(g, order, s);
  CHECK(std::ranges::is_permutation(order, leaf));
  CHECK(std::ranges::count(s.local, -1) == g.n);
  graph other = g;
  for (index_t v = 0; v < g.n; ++v) {
    std::reverse(other.adj.begin() + g.begin[at(v)], other.adj.begin() + g.end[at(v)]);
  }
  std::vector<index_t> again(leaf.rbegin(), leaf.rend());
  order_leaf(other, again, s);
  CHECK(again == order);
  const std::atomic<bool> stop{true};
  CHECK_THROWS_AS(order_leaf(g, again, s, &stop), cancelled_error);
}

TEST_CASE("a dissection stops at any time, on any number of threads, or is complete") {
  const pattern s = symmetrized(generate("grid7:nx=14"), diagonal::drop);
  const dissection whole = nested_dissection(s, {});
  int stopped = 0;
  for (int k = 0; k < 120; ++k) {
    std::atomic<bool> stop{false};
    std::jthread later([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(100 * k));
      stop = true;
    });
    try {
      const dissection d = nested_dissection(s, {.threads = 1 + k % 4, .stop = &stop});
      CHECK(d.order == whole.order);
    } catch (const cancelled_error&) {
      ++stopped;
    }
  }
  CHECK(stopped > 0);
}

TEST_CASE("costs and ranks stay in their widths") {
  const offset_t huge = offset_t{1} << 40;
  const cost_function cost(huge);
  CHECK(cost(huge / 2, huge / 2, 0) == 0);
  CHECK(cost(huge, 0, 0) > cost(huge / 2 - huge / 8, huge / 2 - huge / 8, huge / 4));
  CHECK(cost(huge / 3, huge / 3, huge / 3) < (std::uint64_t{1} << 61));
  CHECK(move_rank(1, 0, 0, 0) > move_rank(0, most_stamp, 7, 3));
  CHECK(move_rank(-5, 9, 0, 0) > move_rank(-5, 8, 7, 3));
  CHECK(trials_kept(1000, 1000, 4, 1) == 1);
  CHECK(trials_kept(100000, 50, 1, 1) == most_kept);
  CHECK(idle_limit(0, 64) == 0);
  CHECK(idle_limit(5, 64) == 10);
  CHECK(idle_limit(100, 64) == 64);
  CHECK(idle_limit(0x7fffffffU, 10000) == 10000);
  CHECK(movers_of(0) == 1);
  CHECK(movers_of(100) == 3);
  CHECK(movers_of(0x7fffffffU) == most_movers);
  CHECK(movers_of_step(0) == 1);
  CHECK(movers_of_step(50) == 3);
  CHECK(movers_of_step(255) == most_movers_of_step);
  CHECK(idle_limit_of_rounds(1, 100) == 100);
  CHECK(idle_limit_of_rounds(0x7fffffffU, 100) == idle_rounds * most_movers);
  // The better gain first, then the later change.
  CHECK(round_key(3, 3, 300, 0, 0) < round_key(3, 2, 0, 7, 3));
  CHECK(round_key(-5, -5, 2, 0, 0) < round_key(-5, -5, 3, 7, 3));
  CHECK(round_key(0, 0, 18, 4, 0) == round_key(0, 0, 1 << 30, 4, 0));
  for (index_t gain = 40; gain > -5000; --gain) {
    CHECK(gain_class(0, gain) <= gain_class(0, gain - 1));
  }
  CHECK(gain_class(0, 0x7fffffff) == 0);
  CHECK(gain_class(0, 5) < gain_class(0, 4));
  CHECK(gain_class(0, -14) < gain_class(0, -15));
  CHECK(gain_class(0, -4095) < gain_class(0, -8192));
  CHECK(gain_class(0x7fffffff, least_gain + 1) == gain_classes - 1);
  CHECK(round_key(0x7fffffff, least_gain + 1, 0x7fffffff, 9, 9) < no_round_key);
  // All of a class, a share of it.
  CHECK(key_bound(3, 5, 5) == (4U << 16));
  CHECK(key_bound(3, 1, 4) == (3U << 16) + (1U << 14));
}
