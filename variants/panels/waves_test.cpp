// Waves of panels: what each needs is held in places of its own.
#include "variants/panels/waves.hpp"

#include <doctest/doctest.h>

#include <map>

#include "common/random.hpp"

using namespace gsofa;
using namespace gsofa::panels;

namespace {

struct wave_tree {
  std::vector<index_t> lengths, parent;
};

// A random forest, children before parents and subtrees contiguous.
wave_tree random_tree(random_source& random, index_t panels) {
  wave_tree t;
  std::vector<index_t> roots;
  for (index_t j = 0; j < panels; ++j) {
    t.lengths.push_back(static_cast<index_t>(random.between(1, 20)));
    t.parent.push_back(-1);
    const auto children = random.below(roots.size() + 1);
    for (std::uint64_t k = 0; k < children && k < 3; ++k) {
      t.parent[at(roots.back())] = j;
      roots.pop_back();
    }
    roots.push_back(j);
  }
  return t;
}

// Replays a plan; returns the first fault, or "".
std::string fault(const wave_tree& t, const std::vector<panel_wave>& waves, offset_t room) {
  std::map<index_t, offset_t> held;  // place of each panel that has one
  index_t begin = 0;
  for (const panel_wave& w : waves) {
    if (w.panels.begin != begin || w.panels.end <= begin) return "ranges";
    for (std::size_t k = 0; k < w.fresh.size(); ++k) {
      if (w.fresh[k] < begin || !held.emplace(w.fresh[k], w.place[k]).second) return "fresh";
    }
    std::map<offset_t, offset_t> places;
    for (const auto& [j, place] : held) places[place] = place + t.lengths[at(j)];
    if (places.size() != held.size()) return "same place";
    offset_t end = 0;
    for (const auto& [first, last] : places) {
      if (first < end || last > room) return "overlap";
      end = last;
    }
    for (index_t j = begin; j < w.panels.end; ++j) {
      for (index_t above = j; above >= 0; above = t.parent[at(above)]) {
        if (!held.contains(above)) return "no place";
      }
    }
    begin = w.panels.end;
    std::erase_if(held, [&](const auto& entry) { return entry.first < begin; });
  }
  return begin == static_cast<index_t>(t.parent.size()) && held.empty() ? "" : "end";
}

}  // namespace

TEST_CASE("every wave holds its panels and their ancestors in places of their own") {
  random_source random(5);
  int planned = 0;
  int several = 0;
  for (int k = 0; k < 400; ++k) {
    const wave_tree t = random_tree(random, static_cast<index_t>(random.between(1, 60)));
    offset_t all = 0;
    for (const index_t length : t.lengths) all += length;
    const offset_t least = longest_path(t.lengths, t.parent);
    CHECK(least <= all);
    CHECK_FALSE(plan_waves(t.lengths, t.parent, least - 1));
    const auto one = plan_waves(t.lengths, t.parent, all);
    REQUIRE(one);
    CHECK(one->size() == 1);
    CHECK(fault(t, *one, all) == "");
    const offset_t room = random.between(least, all);
    const auto waves = plan_waves(t.lengths, t.parent, room);
    if (!waves) continue;
    ++planned;
    several += waves->size() > 2 ? 1 : 0;
    CHECK(fault(t, *waves, room) == "");
  }
  CHECK(planned > 300);
  CHECK(several > 100);
}

TEST_CASE("a path needs room for all of it, single panels for the longest one") {
  const std::vector<index_t> lengths{3, 1, 2};
  const std::vector<index_t> path{1, 2, -1};
  const std::vector<index_t> single{-1, -1, -1};
  CHECK(longest_path(lengths, path) == 6);
  CHECK(longest_path(lengths, single) == 3);
  CHECK_FALSE(plan_waves(lengths, path, 5));
  CHECK(plan_waves(lengths, path, 6)->size() == 1);
  CHECK(plan_waves(lengths, single, 3)->size() == 2);
}
