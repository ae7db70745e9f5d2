#include "variants/panels/lists.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <set>

#include "common/generators.hpp"
#include "common/preprocess.hpp"
#include "harness/check/test_patterns.hpp"
#include "reference/row_union.hpp"
#include "variants/panels/stage_cases.hpp"

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

// One block for each panel of the list, ascending; the first two are of the panel and its parent.
void check_blocks(const panels::panel_set& s, index_t j) {
  const auto blocks = s.blocks[at(j)];
  index_t next = 0;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    CHECK(blocks[b].base == next);
    CHECK(blocks[b].members != 0);
    if (b > 0) CHECK(blocks[b].panel > blocks[b - 1].panel);
    next += std::popcount(blocks[b].members);
  }
  CHECK(next == s.length(j));
  CHECK(blocks[0].panel == j);
  CHECK((blocks.size() > 1 ? blocks[1].panel : -1) == s.parent[at(j)]);
}

offset_t items_of(const panels::panel_set& s) {
  offset_t items = s.positions();
  for (const auto& blocks : s.blocks) items += std::ssize(blocks);
  return items;
}

bool same_blocks(const panels::panel_set& a, const panels::panel_set& b, index_t j) {
  return std::ranges::equal(a.blocks[at(j)], b.blocks[at(j)],
                            [](const panels::list_block& x, const panels::list_block& y) {
                              return x.members == y.members && x.panel == y.panel &&
                                     x.base == y.base;
                            });
}

}  // namespace

TEST_CASE("panels, position lists, maps and masks against their definitions") {
  const std::vector<named_pattern> patterns = panels::stage_cases(200, 250);
  panels::ordered_graph g;
  panels::panel_set s;
  panels::position_builder builder;
  int several = 0;
  for (const auto& [name, a] : patterns) {
    CAPTURE(name);
    g.build(a);
    const pattern b = g.order.empty() ? a : permute(a, g.order, g.order);
    const pattern cholesky = reference::row_union(symmetrized(b, diagonal::keep));
    for (const int width : {1, 2, 5, 64}) {
      CAPTURE(width);
      panels::cut_panels(g, width, s);
      REQUIRE(builder.build(g, s, max_index));
      REQUIRE(s.begin.front() == 0);
      REQUIRE(s.begin.back() == g.n);
      several += s.panels() > 4 ? 1 : 0;
      offset_t items = 0;
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
        REQUIRE(s.list(j) == list);
        REQUIRE(s.length(j) == std::ssize(list));
        REQUIRE(s.masks[at(j)].size() == list.size());
        items += std::ssize(list) + std::ssize(s.blocks[at(j)]);
        check_blocks(s, j);
        for (index_t v = begin; v < g.n; ++v) {
          const auto found = std::ranges::find(list, v);
          CHECK(s.place(j, v) == (found == list.end() ? -1 : found - list.begin()));
        }
        for (std::size_t z = 0; z < list.size(); ++z) {
          // What is beyond a panel is in the list of its parent.
          if (list[z] >= end) CHECK(s.place(s.parent[at(j)], list[z]) >= 0);
          panels::mask_pair expected{0, 0};
          for (index_t c = begin; c < end; ++c) {
            if (c >= list[z]) continue;
            const auto entry = [&](index_t row, index_t column) {
              return std::ranges::binary_search(b.row(row), column) ? panels::bit(c - begin) : 0;
            };
            expected.upper |= entry(c, list[z]);
            expected.lower |= entry(list[z], c);
          }
          CHECK(s.masks[at(j)][z].upper == expected.upper);
          CHECK(s.masks[at(j)][z].lower == expected.lower);
        }
      }
      CHECK(builder.build(g, s, items));
      CHECK_FALSE(builder.build(g, s, items - 1));
    }
  }
  CHECK(several > 300);
}

TEST_CASE("any number of threads builds the same lists, maps and masks") {
  std::vector<named_pattern> patterns = special_patterns();
  for (std::uint64_t k = 0; k < 60; ++k) patterns.push_back(random_pattern(13, k));
  patterns.push_back({"four grids", four_grids(30, 40)});
  patterns.push_back({"long lists", generate("grid7:nx=18,drop=0.1,oneway=0.3,seed=1")});
  panels::ordered_graph g;
  panels::panel_set one, several;
  panels::position_builder builder;  // one object for all: nothing is left over
  for (const auto& [name, a] : patterns) {
    CAPTURE(name);
    g.build(a);
    for (const int width : {1, 5, 64}) {
      panels::cut_panels(g, width, one);
      panels::cut_panels(g, width, several);
      REQUIRE(builder.build(g, one, max_index, 1));
      for (const int threads : {2, 3, 8}) {
        CAPTURE(threads);
        CHECK_FALSE(builder.build(g, several, items_of(one) - 1, threads));
        REQUIRE(builder.build(g, several, items_of(one), threads));
        CHECK(several.position_begin == one.position_begin);
        index_t differ = 0;
        for (index_t j = 0; j < one.panels(); ++j) {
          differ += same_blocks(several, one, j) ? 0 : 1;
          for (std::size_t z = 0; z < one.masks[at(j)].size(); ++z) {
            differ += several.masks[at(j)][z].upper != one.masks[at(j)][z].upper ? 1 : 0;
            differ += several.masks[at(j)][z].lower != one.masks[at(j)][z].lower ? 1 : 0;
          }
        }
        CHECK(differ == 0);
      }
    }
  }
}
