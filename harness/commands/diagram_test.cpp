// labels: unit
#include "harness/commands/diagram.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace gsofa;

namespace {

bool goes_through(const drawn_line& line, double x, double y) {
  return std::ranges::any_of(line.points, [&](const auto& p) { return p[0] == x && p[1] == y; });
}

}  // namespace

TEST_CASE("a tree has a line for each path between leaves, joints and the root") {
  // 0 - 1 - 4, 2 - 4, 3 - 5, 4 - 5, 5 - 6: vertices 0, 2 and 3 are leaves.
  const std::vector<index_t> parent{1, 4, 4, 5, 5, 6, -1};
  const std::vector<double> work{0, 1, 0, 0, 0, 0, 4};
  const diagram d = diagram_of_tree("amd", parent, work);
  CHECK(d.title[0] == "elimination tree, amd: height 5");
  CHECK(d.title[1] == "7 columns");
  CHECK(d.top == 5);
  CHECK(d.right == 2);
  // 0-1-4, 2-4, 3-5, 4-5, 5-6.
  REQUIRE(d.lines.size() == 5);
  const drawn_line& chain = d.lines[0];
  REQUIRE(chain.points.size() == 3);
  CHECK(goes_through(chain, 0, 1));
  CHECK(goes_through(chain, 0, 2));
  CHECK(goes_through(chain, 0.5, 3));
  CHECK(chain.width == doctest::Approx(0.4 + 3.6 * 0.5));
  CHECK(d.lines[4].width == doctest::Approx(4));
  CHECK(d.lines[4].points.back() == std::array<double, 2>{1, 5});
}

TEST_CASE("of a large tree the highest columns are drawn, with the paths between them") {
  // A chain of 50 with a leaf at each second vertex: leaves are the lowest.
  std::vector<index_t> parent;
  for (index_t v = 0; v < 100; v += 2) {
    parent.push_back(v + 1);
    parent.push_back(v + 3 < 100 ? v + 3 : -1);
  }
  const std::vector<double> work(100, 1);
  const diagram whole = diagram_of_tree("x", parent, work);
  CHECK(whole.top == 51);
  CHECK(whole.lines.size() > 90);
  const diagram part = diagram_of_tree("x", parent, work, 20);
  CHECK(part.title[1] == "100 columns; the lowest 80 are left out");
  REQUIRE(part.lines.size() == 1);
  CHECK(part.lines[0].points.front()[1] == 32);
  CHECK(part.lines[0].points.back()[1] == 51);
}

TEST_CASE("a star with more leaves than are drawn has no line") {
  std::vector<index_t> parent(1001, 1000);
  parent.back() = -1;
  const std::vector<double> work(parent.size(), 1);
  CHECK(diagram_of_tree("x", parent, work, 100).lines.empty());
  CHECK(diagram_of_tree("x", parent, work, 100).title[1] ==
        "1,001 columns; the lowest 1,000 are left out");
  CHECK(diagram_of_tree("x", parent, work, 1001).lines.size() == 1000);
}

TEST_CASE("trees of one vertex, forests, and nothing at all") {
  CHECK(diagram_of_tree("x", {}, {}).lines.empty());
  const std::vector<index_t> one{-1};
  const std::vector<double> no_work{0};
  CHECK(diagram_of_tree("x", one, no_work).lines.empty());
  CHECK(svg_of(std::vector<diagram>{diagram_of_tree("x", one, no_work)}).find("nan") ==
        std::string::npos);
  const std::vector<index_t> two{1, -1, 3, -1};
  CHECK(diagram_of_tree("x", two, std::vector<double>(4, 1)).lines.size() == 2);
}

TEST_CASE("profiles show the largest counts, and all operations at the end") {
  std::vector<index_t> l(5000, 1), u(5000, 2);
  u[4321] = 77;
  const diagram d = diagram_of_counts("x", l, u);
  CHECK(d.top == 77);
  REQUIRE(d.lines.size() == 2);
  CHECK(d.lines[0].points.size() == 1000);
  CHECK(std::ranges::any_of(d.lines[0].points, [](const auto& p) { return p[1] == 77; }));
  const diagram w = diagram_of_work("x", std::vector<double>(5000, 2));
  CHECK(w.title[0] == "1e+04 operations, x");
  CHECK(w.lines[0].points.back() == std::array<double, 2>{5000, 100});
  CHECK(w.lines[0].points.size() <= 1001);
}
