#include "variants/panels/panels.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "harness/check/test_patterns.hpp"
#include "reference/row_union.hpp"

using namespace gsofa;

namespace {

// Four unconnected grids of x by y vertices, row after row; upward edges between odd rows only.
// Boundaries have x vertices, so that they fill several blocks of lists.
pattern four_grids(index_t x, index_t y) {
  pattern a;
  a.n_rows = a.n_cols = 4 * x * y;
  for (index_t i = 0; i < a.n_rows; ++i) {
    const index_t cell = i % (x * y);
    if (cell >= x && cell / x % 2 == 1) a.col_idx.push_back(i - x);
    if (cell % x > 0) a.col_idx.push_back(i - 1);
    a.col_idx.push_back(i);
    if (cell + x < x * y) a.col_idx.push_back(i + x);
    a.row_ptr.push_back(static_cast<offset_t>(a.col_idx.size()));
  }
  return a;
}

}  // namespace

TEST_CASE("panels, position lists, maps and masks against their definitions") {
  std::vector<named_pattern> patterns = special_patterns();
  for (std::uint64_t k = 0; k < 250; ++k) patterns.push_back(random_pattern(11, k));
  detail::ordered_graph g;
  detail::panel_set s;
  detail::position_builder builder;
  int several = 0;
  for (const auto& [name, a] : patterns) {
    CAPTURE(name);
    g.build(a);
    const pattern b = g.order.empty() ? a : permute(a, g.order, g.order);
    const pattern cholesky = reference::row_union(symmetrized(b, diagonal::keep));
    for (const int width : {1, 2, 5, 64}) {
      CAPTURE(width);
      detail::cut_panels(g, width, s);
      REQUIRE(builder.build(g, s, max_index));
      REQUIRE(s.begin.front() == 0);
      REQUIRE(s.begin.back() == g.n);
      several += s.panels() > 4 ? 1 : 0;
      offset_t positions = 0;
      for (index_t j = 0; j < s.panels(); ++j) {
        const index_t begin = s.begin[at(j)];
        const index_t end = s.begin[at(j) + 1];
        REQUIRE(begin < end);
        CHECK(end - begin <= width);
        std::set<index_t> outside, boundary;
        for (index_t c = begin; c < end; ++c) {
          CHECK(s.panel_of[at(c)] == j);
          if (const index_t q = g.parent[at(c)]; q < 0 || q >= end) outside.insert(q);
          for (const index_t v : cholesky.row(c)) {
            if (v >= end) boundary.insert(v);
          }
        }
        // one parent for all of the panel
        REQUIRE(outside.size() == 1);
        const index_t q = *outside.begin();
        CHECK(s.parent[at(j)] == (q < 0 ? -1 : s.panel_of[at(q)]));
        std::vector<index_t> list;
        for (index_t c = begin; c < end; ++c) list.push_back(c);
        list.insert(list.end(), boundary.begin(), boundary.end());
        REQUIRE(std::ranges::equal(s.list(j), list));
        positions += static_cast<offset_t>(list.size());
        for (std::size_t z = 0; z < list.size(); ++z) {
          const auto p = at(s.position_begin[at(j)]) + z;
          if (list[z] >= end) {
            const auto above = s.list(s.parent[at(j)]);
            REQUIRE(at(s.in_parent[p]) < above.size());
            CHECK(above[at(s.in_parent[p])] == list[z]);
          }
          detail::mask_pair expected{0, 0};
          for (index_t c = begin; c < end; ++c) {
            if (c >= list[z]) continue;
            const auto entry = [&](index_t row, index_t column) {
              return std::ranges::binary_search(b.row(row), column) ? detail::bit(c - begin) : 0;
            };
            expected.upper |= entry(c, list[z]);
            expected.lower |= entry(list[z], c);
          }
          CHECK(s.masks[p].upper == expected.upper);
          CHECK(s.masks[p].lower == expected.lower);
        }
      }
      CHECK(s.positions() == positions);
      CHECK(builder.build(g, s, positions));
      CHECK_FALSE(builder.build(g, s, positions - 1));
    }
  }
  CHECK(several > 300);
}

TEST_CASE("any number of threads builds the same lists, maps and masks") {
  std::vector<named_pattern> patterns = special_patterns();
  for (std::uint64_t k = 0; k < 60; ++k) patterns.push_back(random_pattern(13, k));
  patterns.push_back({"four grids", four_grids(30, 40)});
  detail::ordered_graph g;
  detail::panel_set one, several;
  detail::position_builder builder;  // one object for all: nothing is left over
  for (const auto& [name, a] : patterns) {
    CAPTURE(name);
    g.build(a);
    for (const int width : {1, 5, 64}) {
      detail::cut_panels(g, width, one);
      detail::cut_panels(g, width, several);
      REQUIRE(builder.build(g, one, max_index, 1));
      for (const int threads : {2, 3, 8}) {
        CAPTURE(threads);
        CHECK_FALSE(builder.build(g, several, one.positions() - 1, threads));
        REQUIRE(builder.build(g, several, one.positions(), threads));
        CHECK(several.position_begin == one.position_begin);
        CHECK(std::ranges::equal(several.columns.view(), one.columns.view()));
        index_t differ = 0;
        for (index_t j = 0; j < one.panels(); ++j) {
          for (offset_t p = one.position_begin[at(j)]; p < one.position_begin[at(j) + 1]; ++p) {
            differ += several.masks[at(p)].upper != one.masks[at(p)].upper ? 1 : 0;
            differ += several.masks[at(p)].lower != one.masks[at(p)].lower ? 1 : 0;
            // in_parent of the vertices of the panel itself has no meaning.
            if (one.columns[at(p)] < one.begin[at(j) + 1]) continue;
            differ += several.in_parent[at(p)] != one.in_parent[at(p)] ? 1 : 0;
          }
        }
        CHECK(differ == 0);
      }
    }
  }
}

TEST_CASE("independent columns share panels") {
  detail::ordered_graph g;
  detail::panel_set s;
  pattern a;
  a.n_rows = a.n_cols = 130;
  for (index_t i = 0; i < 130; ++i) {
    a.col_idx.push_back(i);
    a.row_ptr.push_back(i + 1);
  }
  g.build(a);
  detail::cut_panels(g, 64, s);
  CHECK(s.begin == std::vector<index_t>{0, 64, 128, 130});
}
