#include "variants/panels/forest.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "common/generators.hpp"
#include "common/preprocess.hpp"
#include "common/random.hpp"
#include "variants/panels/stage_cases.hpp"

using namespace gsofa;

namespace {

// By definition: the descendants of every vertex, itself with them, are consecutive and end at it.
bool is_postorder_by_definition(const std::vector<index_t>& parent) {
  const auto n = static_cast<index_t>(parent.size());
  for (index_t root = 0; root < n; ++root) {
    index_t descendants = 0;
    index_t first = root;
    for (index_t v = 0; v <= root; ++v) {
      index_t u = v;
      while (u >= 0 && u < root) u = parent[at(u)];
      if (u != root) continue;
      ++descendants;
      first = std::min(first, v);
    }
    if (first != root - descendants + 1) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("postordered forests are told from others") {
  random_source random(3);
  int yes = 0;
  int no = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    const auto n = static_cast<index_t>(random.between(0, 9));
    std::vector<index_t> parent(at(n), -1);
    for (index_t v = 0; v < n; ++v) {
      const auto p = static_cast<index_t>(random.between(v + 1, v + 4));
      if (p < n) parent[at(v)] = p;
    }
    const bool expected = is_postorder_by_definition(parent);
    CHECK(panels::is_postordered(parent) == expected);
    ++(expected ? yes : no);
  }
  CHECK(yes > 200);
  CHECK(no > 200);
}

namespace {

panels::ordered_graph g_of(const pattern& a) {
  panels::ordered_graph g;
  g.build(a);
  return g;
}

void check_subtrees(const panels::ordered_graph& g) {
  std::vector<index_t> first(g.parent.size());
  for (index_t v = g.n; v-- > 0;) {
    index_t u = v;
    // Descending v, the last one to come by is the least.
    for (; u >= 0; u = g.parent[at(u)]) first[at(u)] = v;
  }
  CHECK(std::ranges::equal(g.subtree_begin(), first));
}

// The i > j with A(i, j) != 0.
std::vector<index_t> column_of(const panels::ordered_graph& g, index_t j) {
  std::vector<index_t> rows;
  if (g.symmetric()) {
    const auto row = g.row_above(j);
    rows.assign(row.begin(), row.end());
    return rows;
  }
  for (const auto entries : g.columns_below(j, j + 1)) {
    for (const auto& [row, column] : entries) {
      CHECK(column == j);
      rows.push_back(row);
    }
  }
  return rows;
}

bool same(const panels::ordered_graph& a, const panels::ordered_graph& b) {
  bool all = a.n == b.n && a.parent == b.parent && a.order == b.order &&
             a.symmetric() == b.symmetric() &&
             std::ranges::equal(a.subtree_begin(), b.subtree_begin());
  for (index_t i = 0; all && i < a.n; ++i) {
    all = std::ranges::equal(a.row_below(i), b.row_below(i)) &&
          std::ranges::equal(a.row_above(i), b.row_above(i)) && column_of(a, i) == column_of(b, i);
  }
  return all;
}

}  // namespace

TEST_CASE("the graph is A relabelled by a postorder, with its elimination tree") {
  const std::vector<named_pattern> patterns = panels::stage_cases(200, 400);
  int relabelled = 0;
  int symmetric = 0;
  panels::ordered_graph g;  // one object for all: nothing is left over from the pattern before
  for (const auto& [name, a] : patterns) {
    CAPTURE(name);
    for (const int threads : {2, 3, 4}) {
      panels::ordered_graph by_threads;
      by_threads.build(a, threads);
      CHECK(same(g_of(a), by_threads));
    }
    g.build(a);
    REQUIRE(g.n == a.n_rows);
    pattern b = a;
    if (!g.order.empty()) {
      ++relabelled;
      validate_permutation(g.order, a.n_rows, "order");
      b = permute(a, g.order, g.order);
    }
    CHECK(g.parent == elimination_tree(symmetrized(b, diagonal::drop)));
    CHECK(is_postorder_by_definition(g.parent));
    if (!g.subtree_begin().empty()) check_subtrees(g);
    CHECK(g.symmetric() == (transpose(a) == a));
    symmetric += g.symmetric() ? 1 : 0;
    const pattern t = transpose(b);
    for (index_t i = 0; i < g.n; ++i) {
      const auto compare = [&](std::span<const index_t> low, std::span<const index_t> high,
                               std::span<const index_t> expected) {
        std::vector<index_t> all(low.begin(), low.end());
        CHECK(std::ranges::all_of(low, [&](index_t v) { return v < i; }));
        CHECK(std::ranges::all_of(high, [&](index_t v) { return v > i; }));
        all.push_back(i);
        all.insert(all.end(), high.begin(), high.end());
        std::ranges::sort(all);
        CHECK(std::ranges::equal(all, expected));
      };
      compare(g.row_below(i), g.row_above(i), b.row(i));
      const auto column =
          t.row(i).subspan(at(std::ranges::upper_bound(t.row(i), i) - t.row(i).begin()));
      std::vector<index_t> above = column_of(g, i);
      std::ranges::sort(above);
      CHECK(std::ranges::equal(above, column));
    }
  }
  CHECK(relabelled > 100);
  CHECK(symmetric > 50);
}

TEST_CASE("threads find the same graph of patterns that give all of them rows") {
  int unsymmetric = 0;
  int kept = 0;
  for (const char* spec :
       {"grid5:nx=70,ny=70", "grid5:nx=80,ny=60,drop=0.3,seed=3", "circuit:n=6000,hubs=5,seed=2",
        "random:n=4000,degree=4,seed=5", "grid7:nx=20,drop=0.4,oneway=0.5,seed=1", "grid27:nx=13",
        "grid27:nx=12,drop=0.001,seed=2"}) {
    CAPTURE(spec);
    pattern a = generate(spec);
    for (const bool postordered : {false, true}) {
      if (postordered) {
        const auto order = postorder(elimination_tree(symmetrized(a, diagonal::drop)));
        a = permute(a, order, order);
      }
      const panels::ordered_graph one = g_of(a);
      unsymmetric += one.symmetric() ? 0 : 1;
      kept += one.order.empty() ? 1 : 0;
      for (const int threads : {2, 3, 5}) {
        panels::ordered_graph several;
        several.build(a, threads);
        CHECK(same(one, several));
      }
    }
  }
  CHECK(unsymmetric > 2);
  CHECK(kept > 3);
}

namespace {

// Paths of 300 vertices, each joined to the last vertex of all by an entry of its first row alone,
// but for the path `without`.
pattern paths_below_one(index_t paths, index_t without) {
  constexpr index_t length = 300;
  pattern a;
  a.n_rows = a.n_cols = paths * length + 1;
  for (index_t i = 0; i < a.n_rows; ++i) {
    a.col_idx.push_back(i);
    const bool last_of_path = i % length == length - 1;
    if (i < a.n_rows - 1 && !last_of_path) a.col_idx.push_back(i + 1);
    if (i < a.n_rows - 1 && i % length == 0 && i / length != without) {
      a.col_idx.push_back(a.n_rows - 1);
    }
    a.row_ptr.push_back(static_cast<offset_t>(a.col_idx.size()));
  }
  return a;
}

// Paths side by side below a chain of vertices; the first vertex of each but one has an upper edge
// to the begin of the chain, and the second vertex of every 20th to all others of it.
pattern paths_below_chain(index_t paths, index_t without) {
  constexpr index_t length = 30;
  constexpr index_t chain = 9000;
  const index_t begin = paths * length;
  pattern a;
  a.n_rows = a.n_cols = begin + chain;
  for (index_t i = 0; i < a.n_rows; ++i) {
    a.col_idx.push_back(i);
    const index_t place = i % length;
    const index_t path = i / length;
    if (i + 1 < a.n_rows && (i >= begin || place < length - 1)) a.col_idx.push_back(i + 1);
    if (i < begin && place == 0 && path != without) a.col_idx.push_back(begin);
    if (i < begin && place == 1 && path % 20 == 0) {
      for (index_t u = begin + 1; u < a.n_rows; ++u) a.col_idx.push_back(u);
    }
    a.row_ptr.push_back(static_cast<offset_t>(a.col_idx.size()));
  }
  return a;
}

}  // namespace

TEST_CASE("threads whose columns replace each other find the same tree") {
  for (const index_t without : {-1, 40}) {
    CAPTURE(without);
    const pattern a = paths_below_chain(100, without);
    const panels::ordered_graph one = g_of(a);
    CHECK(one.order.empty() == (without < 0));
    for (const int threads : {2, 3, 6}) {
      panels::ordered_graph several;
      several.build(a, threads);
      CHECK(same(one, several));
    }
  }
}

TEST_CASE("threads that have parts of a path each find the same tree") {
  for (const index_t without : {-1, 7}) {
    CAPTURE(without);
    const pattern a = paths_below_one(400, without);
    const panels::ordered_graph one = g_of(a);
    CHECK(one.order.empty() == (without < 0));
    for (int repeat = 0; repeat < 20; ++repeat) {
      for (const int threads : {2, 3, 6}) {
        panels::ordered_graph several;
        several.build(a, threads);
        CHECK(same(one, several));
      }
    }
  }
}

TEST_CASE("a pattern in postorder is left as it is") {
  const std::vector<named_pattern> patterns = panels::stage_cases(200, 400);
  panels::ordered_graph g;
  int branching = 0;
  for (const auto& [name, a] : patterns) {
    CAPTURE(name);
    const auto order = postorder(elimination_tree(symmetrized(a, diagonal::drop)));
    const pattern b = permute(a, order, order);
    g.build(b);
    CHECK(g.order.empty());
    CHECK(g.parent == elimination_tree(symmetrized(b, diagonal::drop)));
    std::vector<int> children(g.parent.size(), 0);
    for (const index_t p : g.parent) {
      if (p >= 0) ++children[at(p)];
    }
    branching += std::ranges::any_of(children, [](int c) { return c > 1; }) ? 1 : 0;
  }
  CHECK(branching > 100);
}
