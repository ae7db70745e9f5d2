// labels: unit
#include "reference/worked_example.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <vector>

#include "reference/gaussian_elimination.hpp"
#include "reference/supernodes.hpp"
#include "reference/test_patterns.hpp"

namespace gsofa::reference {

namespace {

using namespace testing;
using vertices = std::vector<index_t>;

template <class Range>
vertices list(const Range& range) {
  return {range.begin(), range.end()};
}

vertices neighbours(const pattern& a, index_t v) {
  vertices out;
  for (const index_t j : a.row(v)) {
    if (j != v) out.push_back(j);
  }
  return out;
}

// A step of the paper's relaxed algorithm that offered a smaller or larger maxId to a neighbour.
struct offer {
  index_t frontier, neighbour, stored, proposed;
  bool improves, fills, enqueues;
};

// State of the relaxed algorithm (paper, Section 4) for one source.
struct traversal {
  const pattern& a;
  index_t source;
  vertices max_id;
  std::vector<char> fill;
  vertices frontier;

  traversal(const pattern& matrix, index_t src)
      : a(matrix), source(src), max_id(at(matrix.n_rows), matrix.n_rows), fill(at(matrix.n_rows)) {
    for (const index_t v : a.row(src)) {
      max_id[at(v)] = 0;
      fill[at(v)] = 1;
      if (v < src) frontier.push_back(v);
    }
  }

  // Offers of vertex f to its neighbours, appended to `trace`; new frontiers are appended to
  // `next`.
  void visit(index_t f, vertices& next, std::vector<offer>& trace) {
    for (const index_t v : neighbours(a, f)) {
      offer o{f, v, max_id[at(v)], std::max(f, max_id[at(f)]), false, false, false};
      o.improves = o.proposed < o.stored;
      if (o.improves) {
        max_id[at(v)] = o.proposed;
        if (fill[at(v)] == 0) {
          o.fills = o.proposed < std::min(v, source);
          if (o.fills) fill[at(v)] = 1;
          o.enqueues = v < source;
          if (o.enqueues) next.push_back(v);
        }
      }
      trace.push_back(o);
    }
  }

  // One iteration over the frontier in its present order.
  std::vector<offer> iterate() {
    vertices next;
    std::vector<offer> trace;
    for (const index_t f : frontier) visit(f, next, trace);
    frontier = next;
    return trace;
  }

  [[nodiscard]] vertices filled_row() const {
    vertices out;
    for (index_t v = 0; v < a.n_rows; ++v) {
      if (fill[at(v)] != 0) out.push_back(v);
    }
    return out;
  }
};

offer find(const std::vector<offer>& trace, index_t frontier, index_t neighbour) {
  for (const offer& o : trace) {
    if (o.frontier == frontier && o.neighbour == neighbour) return o;
  }
  FAIL("no such offer");
  return {};
}

vertices sorted(vertices v) {
  std::ranges::sort(v);
  return v;
}

}  // namespace

TEST_CASE("worked example: the matrix is valid with a full diagonal") {
  const pattern a = worked_example();
  validate(a, "worked example");
  CHECK(a.n_rows == worked::order);
  CHECK(a.n_cols == worked::order);
  CHECK(count_missing_diagonal(a) == 0);
  // Supplement: after the exchange of columns 2 and 7, column 2 has 4 nonzeros instead of 5.
  const pattern t = transpose(a);
  CHECK(t.row(2).size() == 4);
  CHECK(t.row(7).size() == 5);
  // The running example is nonsymmetric.
  CHECK(structural_symmetry(a) < 1.0);
}

TEST_CASE("worked example: row 8 and its fill-ins") {
  const pattern a = worked_example();
  const pattern f = eliminate_boolean(a);
  CHECK(list(a.row(8)) == list(worked::source_row));
  std::vector<worked::edge> fills;
  for (const index_t j : f.row(8)) {
    if (!contains(a, 8, j)) fills.emplace_back(8, j);
  }
  CHECK(fills == std::vector<worked::edge>(worked::source_fill.begin(), worked::source_fill.end()));
  const pattern l = lower(f);
  CHECK(list(l.row(8)) == list(worked::source_l_row));
  CHECK_FALSE(contains(f, 8, 0));
  CHECK_FALSE(contains(f, 8, 6));
}

TEST_CASE("worked example: the paths of fill1 and fill2") {
  const pattern a = worked_example();
  const pattern f = eliminate_boolean(a);
  const auto is_path = [&](const vertices& path) {
    for (std::size_t k = 0; k + 1 < path.size(); ++k) {
      if (!contains(a, path[k], path[k + 1])) return false;
    }
    return true;
  };
  CHECK(is_path({8, 2, 3}));
  CHECK(is_path({8, 2, 3, 4}));
  CHECK(is_path({8, 2, 5}));
  // 8 -> 1 -> 5 goes through the fill edge (1,5), due to 1 -> 0 -> 5.
  CHECK_FALSE(contains(a, worked::fill_edge.first, worked::fill_edge.second));
  CHECK(contains(f, worked::fill_edge.first, worked::fill_edge.second));
  CHECK(is_path({1, 0, 5}));
  CHECK(contains(a, 8, 1));
  // The row operation from row 2 alone gives (8,3).
  CHECK(contains(a, 2, 3));
}

TEST_CASE("worked example: neighbours of the first frontiers") {
  const pattern a = worked_example();
  CHECK(neighbours(a, 1) == list(worked::neighbours_of_1));
  CHECK(neighbours(a, 2) == list(worked::neighbours_of_2));
  CHECK(neighbours(a, 7) == list(worked::neighbours_of_7));
}

TEST_CASE("worked example: the relaxed traversal from source 8, step by step") {
  const pattern a = worked_example();
  // The tables do not depend on the order in which parallel frontiers are served.
  for (const bool descending : {false, true}) {
    CAPTURE(descending);
    traversal t(a, worked::source);
    const auto step = [&] {
      if (descending) std::ranges::reverse(t.frontier);
      return t.iterate();
    };
    CHECK(sorted(t.frontier) == list(worked::frontier_1));
    CHECK(t.max_id == list(worked::max_id[0]));

    // Iteration 1: paths 8-1-0, 8-2-3, 8-7-4 and 8-2-5 with maxId 1, 2, 7 and 2; 3 and 5 are fill.
    auto trace = step();
    CHECK(t.max_id == list(worked::max_id[1]));
    CHECK(sorted(t.frontier) == list(worked::frontier_2));
    CHECK_FALSE(find(trace, 1, 0).fills);
    CHECK(find(trace, 2, 3).fills);
    CHECK(find(trace, 2, 5).fills);
    CHECK_FALSE(find(trace, 7, 4).fills);
    CHECK(find(trace, 7, 4).enqueues);
    CHECK_FALSE(find(trace, 2, 7).improves);
    CHECK_FALSE(find(trace, 7, 2).improves);
    CHECK(t.filled_row() == vertices{1, 2, 3, 5, 7, 8, 9});

    // Iteration 2.
    t.frontier = sorted(t.frontier);
    trace = step();
    CHECK(t.max_id == list(worked::max_id[2]));
    const offer to_5 = find(trace, 0, 5);
    CHECK(to_5.stored == 2);
    CHECK(to_5.proposed == 1);
    CHECK(to_5.improves);
    CHECK_FALSE(to_5.fills);
    CHECK_FALSE(to_5.enqueues);
    const offer to_3 = find(trace, 5, 3);
    CHECK(to_3.stored == 2);
    CHECK(to_3.proposed == 5);
    CHECK_FALSE(to_3.improves);
    const offer to_4 = find(trace, 3, 4);
    CHECK(to_4.stored == 7);
    CHECK(to_4.proposed == 3);
    CHECK(to_4.fills);
    CHECK(to_4.enqueues);
    CHECK(t.frontier == list(worked::frontier_3));
    for (const offer& o : trace) {
      if (o.improves) CHECK((o.neighbour == 5 || o.neighbour == 4));
    }

    // Iteration 3: vertex 4 changes nothing.
    trace = step();
    CHECK(t.max_id == list(worked::max_id[3]));
    CHECK(t.frontier.empty());
    for (const offer& o : trace) CHECK_FALSE(o.improves);
    CHECK(t.filled_row() == list(eliminate_boolean(a).row(8)));
  }
}

TEST_CASE("worked example: the relaxed traversal gives every row of L+U") {
  const pattern a = worked_example();
  const pattern f = eliminate_boolean(a);
  for (index_t src = 0; src < a.n_rows; ++src) {
    traversal t(a, src);
    while (!t.frontier.empty()) t.iterate();
    CAPTURE(src);
    CHECK(t.filled_row() == list(f.row(src)));
  }
  // Other rows fill in too.
  CHECK(f.nnz() > a.nnz() + 3);
}

TEST_CASE("worked example: fill2 with parallel thresholds misses (8,4)") {
  const pattern a = worked_example();
  // Every vertex is visited once, with the threshold that reaches it first; 7 comes first.
  const auto visit_once = [&](const vertices& thresholds) {
    std::vector<char> visited(at(a.n_rows), 0);
    std::set<index_t> row;
    for (const index_t v : a.row(8)) {
      visited[at(v)] = 1;
      row.insert(v);
    }
    std::function<void(index_t, index_t)> search = [&](index_t v, index_t threshold) {
      for (const index_t w : a.row(v)) {
        if (visited[at(w)] != 0) continue;
        visited[at(w)] = 1;
        if (threshold < w) row.insert(w);
        if (w < threshold) search(w, threshold);
      }
    };
    vertices queue = thresholds;
    for (std::size_t head = 0; head < queue.size(); ++head) {
      const std::set<index_t> before = row;
      search(queue[head], queue[head]);
      for (const index_t w : row) {
        if (!before.contains(w) && w < 8) queue.push_back(w);
      }
    }
    return list(row);
  };
  CHECK(visit_once({1, 2, 7}) != list(eliminate_boolean(a).row(8)));
  CHECK(visit_once({7, 2, 1}) == vertices{1, 2, 3, 5, 7, 8, 9});
}

TEST_CASE("worked example: supernodes") {
  const pattern f = eliminate_boolean(worked_example());
  const pattern u = upper(f);
  CHECK(std::ssize(u.row(0)) == worked::u_row_0_count);
  CHECK(std::ssize(u.row(1)) == worked::u_row_1_count);
  CHECK(contains(f, 1, 0));
  CHECK_FALSE(contains(f, 2, 0));
  // Phase I over rows 0..3: the bitmap, and the rows that lead.
  vertices leaders;
  for (index_t s = 0; s < 4; ++s) {
    const bool bit = s > 0 && std::ssize(u.row(s)) == std::ssize(u.row(s - 1)) - 1;
    CHECK(bit == worked::bitmap_phase_1[at(s)]);
    if (!bit) leaders.push_back(s);
  }
  CHECK(leaders == list(worked::leaders_phase_1));
  // Phase II confirms {0,1} through L(1,0).
  vertices first;
  for (const index_t s : t3_supernodes(f, 0)) {
    if (s < 4) first.push_back(s);
  }
  CHECK(first == list(worked::leaders_phase_1));
}

TEST_CASE("worked example: external frontier with a queue of three") {
  const pattern a = worked_example();
  traversal t(a, worked::source);
  vertices on_device, spilled;
  std::vector<offer> trace;
  // Iteration 1, one thread: 1 and 2 fill the new queue; it is copied out, and 7 continues.
  for (const index_t f : list(worked::frontier_1)) {
    vertices found;
    t.visit(f, found, trace);
    for (const index_t v : found) {
      if (on_device.size() == worked::external_capacity) {
        spilled = on_device;
        on_device.clear();
      }
      on_device.push_back(v);
    }
    if (f == 2) CHECK(on_device.size() == worked::external_capacity);
  }
  CHECK(sorted(spilled) == list(worked::external_first));
  CHECK(on_device == vertices{worked::external_after});
  // What stayed on the device is served first, then what was spilled; the result is the same.
  t.frontier = on_device;
  t.frontier.insert(t.frontier.end(), spilled.begin(), spilled.end());
  while (!t.frontier.empty()) t.iterate();
  CHECK(t.filled_row() == list(eliminate_boolean(a).row(8)));
  CHECK(t.max_id == list(worked::max_id[3]));
}

TEST_CASE("supplement: column 3 of the worked example by the left-looking block equations") {
  constexpr index_t n = worked::order, k = 3;
  const pattern example = worked_example();
  using matrix = std::array<std::array<double, n>, n>;
  // Values of the pattern; no pivot vanishes, since every diagonal entry outweighs its row.
  matrix a{};
  for (index_t i = 0; i < n; ++i) {
    for (const index_t j : example.row(i)) a[i][j] = i == j ? 10 + i : 1.0 / (1 + i + j);
  }
  // Right-looking elimination without pivoting: L and U in one array.
  matrix lu = a;
  for (index_t p = 0; p < n; ++p) {
    for (index_t i = p + 1; i < n; ++i) {
      lu[i][p] /= lu[p][p];
      for (index_t j = p + 1; j < n; ++j) lu[i][j] -= lu[i][p] * lu[p][j];
    }
  }
  // L11 u12 = a12, then l21 u12 + u22 = a22, then L31 u12 + l32 u22 = a32.
  std::array<double, n> column{};
  for (index_t i = 0; i < n; ++i) {
    double rest = a[i][k];
    for (index_t p = 0; p < std::min(i, k); ++p) rest -= lu[i][p] * column[p];
    column[i] = i <= k ? rest : rest / column[k];
  }
  const pattern truth = eliminate_boolean(example);
  for (index_t i = 0; i < n; ++i) {
    CAPTURE(i);
    CHECK(column[i] == doctest::Approx(lu[i][k]).epsilon(1e-14));
    // What the equations give lies where the symbolic factorization predicts it.
    const auto row = truth.row(i);
    CHECK((column[i] != 0) == (std::ranges::find(row, k) != row.end()));
  }
}

}  // namespace gsofa::reference
