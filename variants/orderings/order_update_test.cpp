// Repaired orders, and when they are compared with new ones.

#include "variants/orderings/order_update.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/generators.hpp"
#include "common/preprocess.hpp"
#include "common/random.hpp"

using namespace gsofa;

namespace {

using edge_table = std::vector<std::vector<char>>;

edge_table random_edges(random_source& random, index_t n, double density) {
  edge_table m(at(n), std::vector<char>(at(n), 0));
  for (index_t i = 0; i < n; ++i) {
    for (index_t j = 0; j < i; ++j) {
      m[at(i)][at(j)] = m[at(j)][at(i)] = random.chance(probability(density)) ? 1 : 0;
    }
  }
  return m;
}

pattern pattern_of_edges(const edge_table& m) {
  const auto n = static_cast<index_t>(m.size());
  triplets t{n, n, {}, {}};
  for (index_t i = 0; i < n; ++i) {
    for (index_t j = 0; j < n; ++j) {
      if (i != j && m[at(i)][at(j)] == 0) continue;
      t.rows.push_back(i);
      t.cols.push_back(j);
    }
  }
  return from_triplets(t, duplicates::reject);
}

std::vector<index_t> shuffled_vertices(random_source& random, index_t n) {
  std::vector<index_t> order = identity_order(n);
  for (std::size_t k = order.size(); k > 1; --k) {
    std::swap(order[k - 1], order[at(random.between(0, static_cast<std::int64_t>(k) - 1))]);
  }
  return order;
}

// related[u][v]: one of both is the other or its ancestor.
edge_table related_vertices(const ordered_tree& t) {
  edge_table related(t.order.size(), std::vector<char>(t.order.size(), 0));
  for (std::size_t p = 0; p < t.order.size(); ++p) {
    for (index_t q = static_cast<index_t>(p); q != -1; q = t.parent[at(q)]) {
      related[at(t.order[p])][at(t.order[at(q)])] = related[at(t.order[at(q)])][at(t.order[p])] = 1;
    }
  }
  return related;
}

}  // namespace

TEST_CASE("rows that differ are found under any numbering") {
  random_source random(10);
  for (int trial = 0; trial < 200; ++trial) {
    const auto n = static_cast<index_t>(random.between(1, 20));
    edge_table before = random_edges(random, n, 0.2);
    const pattern first = pattern_of_edges(before);
    std::vector<index_t> previous = shuffled_vertices(random, n);
    // Some vertices go, others come.
    previous.resize(at(random.between(0, n)));
    for (auto k = random.between(0, 2); k > 0; --k) previous.push_back(-1);
    const std::size_t now = previous.size();
    edge_table edges(now, std::vector<char>(now, 0));
    std::vector<index_t> expected;
    for (std::size_t i = 0; i < now; ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const bool both = previous[i] != -1 && previous[j] != -1;
        const bool was = both && before[at(previous[i])][at(previous[j])] != 0;
        edges[i][j] = edges[j][i] = was != random.chance(probability(0.02)) ? 1 : 0;
      }
    }
    for (std::size_t i = 0; i < now; ++i) {
      bool same = previous[i] != -1;
      for (index_t u = 0; same && u < n; ++u) {
        const auto j = std::ranges::find(previous, u);
        const bool is = j != previous.end() && edges[i][at(j - previous.begin())] != 0;
        same = u == previous[i] || is == (before[at(previous[i])][at(u)] != 0);
      }
      for (std::size_t j = 0; j < now; ++j) {
        if (previous[j] == -1 && edges[i][j] != 0) same = false;
      }
      if (!same) expected.push_back(static_cast<index_t>(i));
    }
    const pattern second = pattern_of_edges(edges);
    for (const int threads : {1, 3}) {
      CHECK(changed_rows(second, first, previous, threads) == expected);
    }
    before[0][at(n) - 1] = before[at(n) - 1][0] = before[0][at(n) - 1] == 0 ? 1 : 0;
    CHECK(changed_rows(pattern_of_edges(before), first, {}, 1).size() == (n == 1 ? 0 : 2));
  }
}

TEST_CASE("vertices that stay are related only if they were, whatever edges come and go") {
  random_source random(12);
  std::size_t moved = 0;
  std::size_t stayed = 0;
  for (int trial = 0; trial < 400; ++trial) {
    const auto n = static_cast<index_t>(random.between(1, 30));
    edge_table edges = random_edges(random, n, random.chance(probability(0.5)) ? 0.06 : 0.12);
    const ordered_tree before =
        tree_of_order(pattern_of_edges(edges), shuffled_vertices(random, n));
    std::vector<index_t> changed;
    for (int k = 0; k < 3; ++k) {
      const auto i = static_cast<index_t>(random.between(0, n - 1));
      const auto j = static_cast<index_t>(random.between(0, n - 1));
      if (i == j) continue;
      edges[at(i)][at(j)] = edges[at(j)][at(i)] = random.chance(probability(0.7)) ? 1 : 0;
      changed.push_back(i);
    }
    const pattern s = pattern_of_edges(edges);
    const repaired r = repaired_order(s, before, {}, changed);
    CHECK_NOTHROW(validate_permutation(r.order, n, "order"));
    std::vector<char> has_moved(at(n), 0);
    for (const index_t v : r.moved) has_moved[at(v)] = 1;
    std::vector<index_t> stay = before.order;
    std::erase_if(stay, [&](index_t v) { return has_moved[at(v)] != 0; });
    std::vector<index_t> left = r.order;
    std::erase_if(left, [&](index_t v) { return has_moved[at(v)] != 0; });
    CHECK(left == stay);
    const edge_table was = related_vertices(before);
    const ordered_tree after = tree_of_order(s, r.order);
    const edge_table is = related_vertices(after);
    for (const index_t u : stay) {
      for (const index_t v : stay) {
        if (is[at(u)][at(v)] != 0) CHECK(was[at(u)][at(v)] != 0);
      }
    }
    moved += r.moved.size();
    stayed += stay.size();
  }
  CHECK(moved > 100);
  CHECK(stayed > 2000);
}

TEST_CASE("one end of an edge between two branches moves before their common ancestor") {
  // Paths 0 - 1 - 2 - 6 and 3 - 4 - 5 - 6; 2 and 5 are the children of 6.
  edge_table edges(7, std::vector<char>(7, 0));
  const auto join = [&](std::size_t i, std::size_t j) { edges[i][j] = edges[j][i] = 1; };
  join(0, 1), join(1, 2), join(2, 6), join(3, 4), join(4, 5), join(5, 6);
  const ordered_tree before = tree_of_order(pattern_of_edges(edges), identity_order(7));
  join(2, 4);
  const pattern s = pattern_of_edges(edges);
  const repaired r = repaired_order(s, before, {}, std::vector<index_t>{2});
  // The path from 2 to 6 is shorter than that from 4.
  CHECK(r.order == std::vector<index_t>{0, 1, 3, 4, 5, 2, 6});
  CHECK(r.moved == std::vector<index_t>{2});
  CHECK(repaired_order(s, tree_of_order(s, r.order), {}, identity_order(7)).moved.empty());
}

TEST_CASE("new vertices start before a neighbour, removed ones leave no gap") {
  // A path 0 - 1 - 2 - 3 of which 1 goes and to which a new vertex between 0 and 2 comes.
  edge_table edges(4, std::vector<char>(4, 0));
  for (std::size_t k = 0; k < 3; ++k) edges[k][k + 1] = edges[k + 1][k] = 1;
  const ordered_tree before = tree_of_order(pattern_of_edges(edges), identity_order(4));
  // Now 0 is the new vertex, and 1, 2, 3 were 0, 2, 3; 4 is new and isolated.
  edge_table now(5, std::vector<char>(5, 0));
  const auto join = [&](std::size_t i, std::size_t j) { now[i][j] = now[j][i] = 1; };
  join(0, 1), join(0, 2), join(2, 3);
  const repaired r =
      repaired_order(pattern_of_edges(now), before, std::vector<index_t>{-1, 0, 2, 3, -1},
                     std::vector<index_t>{0, 1, 2, 4});
  CHECK(r.order == std::vector<index_t>{0, 1, 2, 3, 4});
  CHECK(r.moved == std::vector<index_t>{0, 4});
}

TEST_CASE("common ancestors are found on long paths with many branches") {
  constexpr index_t n = 1500;
  random_source random(14);
  triplets t{n, n, {}, {}};
  const auto join = [&](index_t i, index_t j) {
    t.rows.insert(t.rows.end(), {i, j});
    t.cols.insert(t.cols.end(), {j, i});
  };
  // Even and odd vertices are in different trees, except for a few edges.
  for (index_t p = 0; p + 12 < n; ++p) {
    const auto two = static_cast<index_t>(2 * random.between(1, 6));
    join(p, random.chance(probability(0.005)) ? p + 1 : p + two);
  }
  const ordered_tree before = tree_of_order(from_triplets(t, duplicates::merge), identity_order(n));
  for (int trial = 0; trial < 10; ++trial) {
    // 200 edges without common ends.
    const triplets was = t;
    const std::vector<index_t> ends = shuffled_vertices(random, n);
    std::vector<index_t> changed;
    for (std::size_t k = 0; k < 400; k += 2) {
      join(ends[k], ends[k + 1]);
      changed.push_back(ends[k]);
    }
    const repaired r = repaired_order(from_triplets(t, duplicates::merge), before, {}, changed);
    t = was;
    std::vector<char> has_moved(at(n), 0);
    for (const index_t v : r.moved) has_moved[at(v)] = 1;
    const std::vector<index_t> place = inverse_permutation(before.order);
    const std::vector<index_t> now = inverse_permutation(r.order);
    std::size_t crossing = 0;
    index_t steps = 0;
    for (std::size_t k = 0; k < 400; k += 2) {
      const index_t high = std::max(place[at(ends[k])], place[at(ends[k + 1])]);
      const index_t low = std::min(place[at(ends[k])], place[at(ends[k + 1])]);
      std::vector<char> above(at(n), 0);  // of `low`
      for (index_t w = low; w != -1; w = before.parent[at(w)]) above[at(w)] = 1;
      index_t common = high;
      for (; common != -1 && above[at(common)] == 0; ++steps) common = before.parent[at(common)];
      REQUIRE(has_moved[at(ends[k])] + has_moved[at(ends[k + 1])] == (common == high ? 0 : 1));
      if (common == high) continue;
      ++crossing;
      // The next vertices that have not moved: after the end that has, and from `common` on.
      index_t found = now[at(ends[has_moved[at(ends[k])] == 1 ? k : k + 1])];
      while (found < n && has_moved[at(r.order[at(found)])] == 1) ++found;
      index_t expected = common == -1 ? n : common;
      while (expected < n && has_moved[at(before.order[at(expected)])] == 1) ++expected;
      CHECK((found == n) == (expected == n));
      if (found < n && expected < n) CHECK(r.order[at(found)] == before.order[at(expected)]);
    }
    CHECK(r.moved.size() == crossing);
    // So many that the search of ancestors jumps.
    CHECK(steps > 2 * n);
  }
}

TEST_CASE("an order is compared after 2 % of the rows or 5 % of the operations") {
  CHECK_FALSE(needs_comparison(1000, 20, 105, 100));
  CHECK(needs_comparison(1000, 21, 100, 100));
  CHECK(needs_comparison(1000, 0, 106, 100));
  CHECK_FALSE(needs_comparison(1000, 0, 96, 100));
  CHECK(needs_comparison(1000, 0, 94, 100));
  // An empty pattern.
  CHECK_FALSE(needs_comparison(0, 0, 0, 0));
  CHECK(needs_comparison(1, 1, 1, 0));
}
