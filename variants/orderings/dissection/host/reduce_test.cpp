// labels: oracle
// Reductions against the elimination graph and against the least fill of any order.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "common/generators.hpp"
#include "common/ordering.hpp"
#include "common/preprocess.hpp"
#include "reference/order_check.hpp"
#include "variants/orderings/dissection/arithmetic.hpp"
#include "variants/orderings/dissection/host/reduce.hpp"

using namespace gsofa;
using namespace gsofa::orders;

namespace {

using rows_of_bits = std::vector<std::uint32_t>;

// The neighbours of v in the graph that is left when the vertices in `gone` are eliminated.
std::uint32_t neighbours(const rows_of_bits& rows, std::uint32_t gone, index_t v) {
  std::uint32_t reached = rows[at(v)];
  for (std::uint32_t inner = reached & gone, done = 0; inner != 0; inner = reached & gone & ~done) {
    const int u = std::countr_zero(inner);
    done |= 1U << u;
    reached |= rows[at(u)];
  }
  return reached & ~gone & ~(1U << v);
}

// Edges that eliminating v adds.
int fill_of(const rows_of_bits& rows, std::uint32_t gone, index_t v) {
  const std::uint32_t near = neighbours(rows, gone, v);
  int missing = 0;
  for (std::uint32_t left = near; left != 0; left &= left - 1) {
    const int u = std::countr_zero(left);
    missing += std::popcount(near & ~neighbours(rows, gone, u) & ~(1U << u));
  }
  return missing / 2;
}

// least[S]: the least fill of eliminating all vertices but those of S, once S is eliminated.
std::vector<int> least_fills(const rows_of_bits& rows) {
  const auto n = static_cast<index_t>(rows.size());
  const std::uint32_t all = (1U << n) - 1;
  std::vector<int> least(at(all) + 1, 1 << 20);
  least[all] = 0;
  for (std::uint32_t gone = all; gone-- > 0;) {
    for (index_t v = 0; v < n; ++v) {
      if ((gone >> v & 1U) != 0) continue;
      least[gone] = std::min(least[gone], fill_of(rows, gone, v) + least[gone | 1U << v]);
    }
  }
  return least;
}

pattern pattern_of(const rows_of_bits& rows) {
  pattern s;
  s.n_rows = s.n_cols = static_cast<index_t>(rows.size());
  for (const std::uint32_t row : rows) {
    for (std::uint32_t left = row; left != 0; left &= left - 1) {
      s.col_idx.push_back(std::countr_zero(left));
    }
    s.row_ptr.push_back(static_cast<offset_t>(s.col_idx.size()));
  }
  return s;
}

// The graph of n vertices whose edges are the bits of `edges`.
rows_of_bits rows_of(index_t n, std::uint32_t edges) {
  rows_of_bits rows(at(n), 0);
  for (index_t u = 1; u < n; ++u) {
    for (index_t v = 0; v < u; ++v, edges >>= 1U) {
      if ((edges & 1U) == 0) continue;
      rows[at(u)] |= 1U << v;
      rows[at(v)] |= 1U << u;
    }
  }
  return rows;
}

// Checks that a reduction eliminates correctly; returns its fill and the vertices eliminated.
std::pair<int, std::uint32_t> check_elimination(const rows_of_bits& rows, const reduction& r) {
  std::uint32_t gone = 0;
  int fill = 0;
  for (std::size_t k = 0; k < r.removed.size(); ++k) {
    std::uint32_t front = 0;
    for (auto e = r.front_start[k]; e < r.front_start[k + 1]; ++e) front |= 1U << r.front[at(e)];
    REQUIRE(front == neighbours(rows, gone, r.removed[k]));
    fill += fill_of(rows, gone, r.removed[k]);
    gone |= 1U << r.removed[k];
  }
  if (gone == 0) return {0, 0};
  REQUIRE(r.removed.size() + r.kept.size() == rows.size());
  for (std::size_t k = 0; k < r.kept.size(); ++k) {
    std::uint32_t row = 0;
    for (const index_t u : r.rest.row(static_cast<index_t>(k))) row |= 1U << r.kept[at(u)];
    REQUIRE(row == neighbours(rows, gone, r.kept[k]));
  }
  return {fill, gone};
}

// Whether removing v disconnects two of its neighbours.
bool is_cut_vertex(const rows_of_bits& rows, index_t v) {
  const std::uint32_t near = rows[at(v)];
  std::uint32_t reached = near & (~near + 1);
  for (std::uint32_t done = 0; (reached & ~done) != 0;) {
    const int u = std::countr_zero(reached & ~done);
    done |= 1U << u;
    reached |= rows[at(u)] & ~(1U << v);
  }
  return (near & ~reached) != 0;
}

// All labelled graphs of up to six vertices.
template <class Body>
void for_small_graphs(Body&& body) {
  for (index_t n = 1; n <= 6; ++n) {
    for (std::uint32_t edges = 0; edges < 1U << (n * (n - 1) / 2); ++edges) body(rows_of(n, edges));
  }
}

// Graphs from forests to meshes, permuted at random.
std::vector<pattern> subjects() {
  std::vector<pattern> out;
  std::mt19937 random(5);
  for (const char* spec :
       {"diagonal:n=40", "tridiagonal:n=300", "arrow:n=60", "arrow:n=1500", "dense:n=40",
        "banded:n=90,lower=3,upper=3", "grid5:nx=17,ny=11", "grid5:nx=60,ny=3,drop=0.3,seed=2",
        "circuit:n=900,hubs=3,seed=1", "circuit:n=2450,hubs=4,supply=0.8,seed=4",
        "random:n=800,degree=1,seed=1", "random:n=600,degree=2,seed=2",
        "circuit:n=300,degree=1,drop=0.4,seed=5", "columns:columns=2,stages=8,components=3"}) {
    const pattern s = symmetrized(generate(spec), diagonal::drop);
    std::vector<index_t> order = identity_order(s.n_rows);
    std::ranges::shuffle(order, random);
    out.push_back(s);
    out.push_back(permute(s, order, order));
  }
  return out;
}

}  // namespace

TEST_CASE("simplicial vertices begin an order of least fill, and all of them go") {
  offset_t reduced = 0;
  for_small_graphs([&](const rows_of_bits& rows) {
    const auto [fill, gone] = check_elimination(rows, reduce(pattern_of(rows), 1, 1));
    const std::vector<int> least = least_fills(rows);
    REQUIRE(fill == 0);
    REQUIRE(least[gone] == least[0]);
    for (index_t v = 0; v < static_cast<index_t>(rows.size()); ++v) {
      if ((gone >> v & 1U) != 0 || neighbours(rows, gone, v) == 0) continue;
      REQUIRE(fill_of(rows, gone, v) > 0);
    }
    reduced += gone != 0 ? 1 : 0;
  });
  CHECK(reduced > 20000);
}

TEST_CASE("a vertex of degree 2 begins an order of least fill, or of one edge more if it cuts") {
  offset_t cuts = 0;
  for_small_graphs([&](const rows_of_bits& rows) {
    std::vector<int> least;
    for (index_t v = 0; v < static_cast<index_t>(rows.size()); ++v) {
      if (std::popcount(rows[at(v)]) != 2 || fill_of(rows, 0, v) == 0) continue;
      if (least.empty()) least = least_fills(rows);
      const int excess = 1 + least[1U << v] - least[0];
      REQUIRE(excess == (is_cut_vertex(rows, v) ? 1 : 0));
      cuts += excess;
    }
  });
  CHECK(cuts > 1000);
}

TEST_CASE("vertices of small degree are eliminated, down to a core or not at all") {
  offset_t reduced = 0;
  for_small_graphs([&](const rows_of_bits& rows) {
    const auto present =
        static_cast<index_t>(std::ranges::count_if(rows, [](auto row) { return row != 0; }));
    const auto left_by = [&](const reduction& r) {
      return present - static_cast<index_t>(r.removed.size());
    };
    const reduction exact = reduce(pattern_of(rows), 1, 1);
    for (const int degree : {2, 3, 8}) {
      const reduction r = reduce(pattern_of(rows), degree, 1);
      check_elimination(rows, r);
      if (r.removed.size() == exact.removed.size()) continue;
      REQUIRE(is_core(left_by(r), left_by(exact)));
      ++reduced;
    }
  });
  CHECK(reduced > 1000);
}

TEST_CASE("the reduced graph is the elimination graph, on any number of threads") {
  for (const pattern& s : subjects()) {
    CAPTURE(s.n_rows);
    CAPTURE(s.nnz());
    for (const int degree : {1, 3, 8}) {
      const reduction r = reduce(s, degree, 1);
      const reduction of_three = reduce(s, degree, 3);
      CHECK(of_three.removed == r.removed);
      CHECK(of_three.front == r.front);
      CHECK(of_three.rest == r.rest);
      if (r.removed.empty()) continue;
      // Eliminates in the order of the reduction, with sets.
      std::vector<std::set<index_t>> rows(at(s.n_rows));
      for (index_t v = 0; v < s.n_rows; ++v) rows[at(v)] = {s.row(v).begin(), s.row(v).end()};
      for (std::size_t k = 0; k < r.removed.size(); ++k) {
        const index_t v = r.removed[k];
        const std::set<index_t> front(r.front.begin() + r.front_start[k],
                                      r.front.begin() + r.front_start[k + 1]);
        REQUIRE(front == rows[at(v)]);
        for (const index_t u : front) {
          rows[at(u)].insert(front.begin(), front.end());
          rows[at(u)].erase(u);
          rows[at(u)].erase(v);
        }
      }
      for (std::size_t k = 0; k < r.kept.size(); ++k) {
        std::set<index_t> row;
        for (const index_t u : r.rest.row(static_cast<index_t>(k))) row.insert(r.kept[at(u)]);
        REQUIRE(row == rows[at(r.kept[k])]);
      }
    }
  }
}

TEST_CASE("an order of the rest becomes an order of the graph, with a tree that separates") {
  for (const pattern& s : subjects()) {
    CAPTURE(s.n_rows);
    CAPTURE(s.nnz());
    for (const int degree : {1, 8}) {
      const reduction r = reduce(s, degree, 1);
      dissection rest = nested_dissection(r.graph(s), {.leaf_order = 5, .reduce = 0});
      const bool all_go = !r.removed.empty() && r.kept.empty();
      const dissection d = expand(r, rest);
      CHECK(reference::fault_of_order(
                s, {.order = d.order, .method = {}, .library = {}, .separators = d.tree}) == "");
      CHECK_FALSE(d.tree.empty());
      for (std::size_t k = 0; k + 1 < d.tree.start.size(); ++k) {
        CHECK(d.tree.start[k] < d.tree.start[k + 1]);
      }
      rest.tree = {};
      const dissection without = expand(r, rest);
      CHECK(without.tree.parent.size() == (all_go ? 1 : 0));
      CHECK(std::ranges::equal(r.removed, std::span(without.order).first(r.removed.size())));
    }
  }
}
