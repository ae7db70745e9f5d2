#include "variants/panels/cut.hpp"

#include <doctest/doctest.h>

#include "common/generators.hpp"
#include "common/preprocess.hpp"
#include "variants/panels/stage_cases.hpp"

using namespace gsofa;

TEST_CASE("panels are ranges of the given width with one parent outside") {
  panels::ordered_graph g;
  panels::panel_tree s;
  int several = 0;
  for (const auto& [name, a] : panels::stage_cases(200, 250)) {
    CAPTURE(name);
    g.build(a);
    for (const index_t width : {1, 2, 5, 64}) {
      CAPTURE(width);
      panels::cut_panels(g, width, s);
      CHECK(panels::fault_of_cut(g, s, width) == "");
      CHECK(s.first == panels::tree_of_cut(g, s.begin).first);
      several += s.panels() > 4 ? 1 : 0;
    }
  }
  CHECK(several > 300);
}

TEST_CASE("a cut that is wrong is named") {
  panels::ordered_graph g;
  g.build(generate("grid5:nx=6"));
  panels::panel_tree s;
  panels::cut_panels(g, 4, s);
  CHECK(panels::fault_of_cut(g, s, 4) == "");
  CHECK(panels::fault_of_cut(g, s, 3) == "width");
  panels::panel_tree wrong = s;
  wrong.parent[0] = -1;
  CHECK(panels::fault_of_cut(g, wrong, 4) == "parent");
  wrong = s;
  wrong.begin.back() = 35;
  CHECK(panels::fault_of_cut(g, wrong, 4) == "cover");
}

TEST_CASE("independent columns share panels") {
  panels::ordered_graph g;
  panels::panel_tree s;
  pattern a;
  a.n_rows = a.n_cols = 130;
  for (index_t i = 0; i < 130; ++i) {
    a.col_idx.push_back(i);
    a.row_ptr.push_back(i + 1);
  }
  g.build(a);
  panels::cut_panels(g, 64, s);
  CHECK(s.begin == std::vector<index_t>{0, 64, 128, 130});
}

TEST_CASE("any number of threads cuts the same panels") {
  int cut = 0;
  for (const char* spec : {"grid5:nx=90,ny=80", "grid7:nx=20,drop=0.3,seed=3",
                           "circuit:n=9000,hubs=5,seed=2", "random:n=9000,degree=2,seed=5"}) {
    CAPTURE(spec);
    pattern a = generate(spec);
    // Dissection of the numbers, to have a tree with branches: the middle of each range comes last.
    std::vector<index_t> order;
    const auto dissect = [&](const auto& self, index_t begin, index_t end) -> void {
      if (begin == end) return;
      const index_t middle = begin + (end - begin) / 2;
      self(self, begin, middle);
      self(self, middle + 1, end);
      order.push_back(middle);
    };
    dissect(dissect, 0, a.n_rows);
    a = permute(a, order, order);
    const auto post = postorder(elimination_tree(symmetrized(a, diagonal::drop)));
    a = permute(a, post, post);
    panels::ordered_graph g;
    g.build(a);
    REQUIRE(!g.subtree_begin().empty());
    for (const int width : {1, 3, 17, 64}) {
      panels::panel_tree one, several;
      panels::cut_panels(g, width, one);
      for (const int threads : {2, 3, 8, 40}) {
        panels::cut_panels(g, width, several, threads);
        CHECK(several.begin == one.begin);
        CHECK(several.parent == one.parent);
        CHECK(several.panel_of == one.panel_of);
        cut += several.panels() > threads ? 1 : 0;
      }
    }
  }
  CHECK(cut > 50);
}
