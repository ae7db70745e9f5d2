// Panels divided among workers.
#include "variants/panels/parts.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "common/random.hpp"

using namespace gsofa;
using namespace gsofa::panels;

namespace {

struct tree {
  std::vector<index_t> begin{0}, parent;
};

// A random forest, children before parents and subtrees contiguous; `most`: children of a panel.
tree random_tree(random_source& random, index_t panels, std::uint64_t most) {
  tree t;
  std::vector<index_t> roots;
  for (index_t j = 0; j < panels; ++j) {
    t.begin.push_back(t.begin.back() + static_cast<index_t>(random.between(1, 9)));
    t.parent.push_back(-1);
    const std::uint64_t children = std::min<std::uint64_t>(random.below(most + 1), roots.size());
    for (std::uint64_t k = 0; k < children; ++k) {
      t.parent[at(roots.back())] = j;
      roots.pop_back();
    }
    roots.push_back(j);
  }
  return t;
}

// The first rule that a division breaks, or "".
std::string fault(const tree& t, const panel_parts& p, int parts) {
  const auto panels = static_cast<index_t>(t.parent.size());
  if (static_cast<int>(p.cut.size()) != parts + 1 || p.cut.front() != 0 || p.cut.back() != panels)
    return "cuts";
  if (!std::ranges::is_sorted(p.cut) || !std::ranges::is_sorted(p.top)) return "order";
  std::vector<std::vector<panel_kind>> kinds;
  for (int k = 0; k < parts; ++k) kinds.push_back(kinds_of_part(p, t.parent, at(k)));
  for (index_t j = 0; j < panels; ++j) {
    const bool is_top = std::ranges::binary_search(p.top, j);
    int owners = 0;
    int holders = 0;
    for (const auto& kind : kinds) {
      owners += kind[at(j)] == panel_kind::own ? 1 : 0;
      holders += kind[at(j)] != panel_kind::foreign ? 1 : 0;
      if (is_top && kind[at(j)] == panel_kind::own) return "owned top";
      if (kind[at(j)] == panel_kind::foreign) continue;
      // Whoever holds a panel holds its ancestors; those below an own panel are its own.
      const index_t above = t.parent[at(j)];
      if (above >= 0 && kind[at(above)] == panel_kind::foreign) return "ancestor";
      if (above >= 0 && kind[at(above)] == panel_kind::own && kind[at(j)] != panel_kind::own)
        return "descendant";
    }
    if (owners != (is_top ? 0 : 1) || holders < 1) return "owners";
    // A part that holds a panel of `top` has it in its range or has a panel below.
    if (!is_top && holders != 1) return "holders";
  }
  return "";
}

}  // namespace

TEST_CASE("every panel below the top is of one part, with all below it") {
  random_source random(17);
  int with_top = 0;
  for (int k = 0; k < 600; ++k) {
    const tree t =
        random_tree(random, static_cast<index_t>(random.between(1, 80)), random.between(0, 3));
    const int parts = static_cast<int>(random.between(1, 9));
    const panel_parts p = divide_panels(t.begin, t.parent, parts);
    CHECK(fault(t, p, parts) == "");
    with_top += p.top.empty() ? 0 : 1;
    if (parts == 1) CHECK(p.top.empty());
    const top_panels top = top_of(p, t.begin, t.parent);
    REQUIRE(top.begin.size() == p.top.size() + 1);
    for (std::size_t i = 0; i < p.top.size(); ++i) {
      const std::size_t j = at(p.top[i]);
      CHECK(top.begin[i + 1] - top.begin[i] == t.begin[j + 1] - t.begin[j]);
      CHECK((top.parent[i] < 0 ? -1 : p.top[at(top.parent[i])]) == t.parent[j]);
    }
  }
  CHECK(with_top > 200);
}

namespace {

// The cuts by a look at all panels.
std::vector<index_t> cuts_of_all(const tree& t, int parts) {
  const auto panels = static_cast<index_t>(t.parent.size());
  const offset_t n = t.begin.back();
  std::vector<offset_t> above(t.parent.size(), 0);
  for (index_t j = panels - 1; j >= 0; --j) {
    const index_t p = t.parent[at(j)];
    if (p >= 0) above[at(j)] = above[at(p)] + t.begin[at(p) + 1] - t.begin[at(p)];
  }
  std::vector<index_t> cut{0};
  for (int k = 1; k < parts; ++k) {
    const offset_t ideal = n * k / parts;
    const auto middle = static_cast<index_t>(
        std::lower_bound(t.begin.begin(), t.begin.end() - 1, ideal) - t.begin.begin());
    const auto off = [&](index_t j) { return std::abs(t.begin[at(j)] - ideal); };
    const auto cost = [&](index_t j) { return off(j) + (j > 0 ? 8 * above[at(j) - 1] : 0); };
    index_t best = middle;
    for (const index_t step : {-1, 1}) {
      for (index_t j = middle + step; j >= 0 && j < panels; j += step) {
        if (cost(j) < cost(best)) best = j;
        if (off(j) > n / (offset_t{parts} * 8)) break;
      }
    }
    cut.push_back(std::max(best, cut.back()));
  }
  cut.push_back(panels);
  return cut;
}

}  // namespace

TEST_CASE("cuts are made where their neighbourhood has the fewest ancestors behind") {
  random_source random(5);
  for (int k = 0; k < 600; ++k) {
    const tree t =
        random_tree(random, static_cast<index_t>(random.between(1, 90)), random.between(0, 3));
    const int parts = static_cast<int>(random.between(1, 9));
    CHECK(divide_panels(t.begin, t.parent, parts).cut == cuts_of_all(t, parts));
  }
}

TEST_CASE("two subtrees under a separator are the two parts, a path is top from its cut on") {
  // Panels 0 and 1 under 2, 3 and 4 under 5, both under the separator 6 and 7.
  const std::vector<index_t> begin{0, 10, 20, 22, 32, 42, 44, 48, 50};
  const std::vector<index_t> parent{2, 2, 6, 5, 5, 6, 7, -1};
  const panel_parts two = divide_panels(begin, parent, 2);
  CHECK(two.cut == std::vector<index_t>{0, 3, 8});
  CHECK(two.top == std::vector<index_t>{6, 7});
  const std::vector<index_t> steps{0, 1, 2, 3, 4};
  const std::vector<index_t> path{1, 2, 3, -1};
  const panel_parts of_path = divide_panels(steps, path, 2);
  CHECK(of_path.cut == std::vector<index_t>{0, 3, 4});
  CHECK(of_path.top == std::vector<index_t>{3});
}

TEST_CASE("no panels are divided into empty parts") {
  const tree none;
  for (const int parts : {1, 2, 5}) {
    const panel_parts p = divide_panels(none.begin, none.parent, parts);
    CHECK(fault(none, p, parts) == "");
    CHECK(p.top.empty());
  }
}
