// Separators that are a level of a breadth-first search from a vertex far away. On regular grids
// such levels are smaller than any plane (PROOFS.md).

#include <algorithm>
#include <utility>

#include "variants/orderings/dissection/host/stages.hpp"

namespace gsofa::orders {

namespace {

constexpr index_t unreached = -1;

// Levels of the vertices that a search from `root` reaches within `most` levels; s.queue lists them
// in ascending order of their levels.
void search(const graph& g, index_t root, index_t most, scratch& s) {
  s.gain.assign(at(g.n), unreached);
  s.queue.assign(1, root);
  s.gain[at(root)] = 0;
  for (std::size_t k = 0; k < s.queue.size(); ++k) {
    const index_t level = s.gain[at(s.queue[k])];
    if (level == most) return;
    for (const index_t u : g.row(s.queue[k])) {
      if (s.gain[at(u)] != unreached) continue;
      s.gain[at(u)] = level + 1;
      s.queue.push_back(u);
    }
  }
}

// The vertex with the largest number in the last level.
index_t farthest(const scratch& s) {
  const index_t last = s.gain[at(s.queue.back())];
  index_t v = s.queue.back();
  for (std::size_t k = s.queue.size(); k-- > 0 && s.gain[at(s.queue[k])] == last;) {
    v = std::max(v, s.queue[k]);
  }
  return v;
}

// The level of the least cost among those with even sides, of several the lowest; -1 if there is
// none.
index_t cheapest_level(const graph& g, const scratch& s) {
  const cost_function cost(g.total);
  std::pair<std::uint64_t, index_t> best{0, unreached};
  offset_t below = 0;
  for (std::size_t k = 0; k < s.queue.size();) {
    const index_t level = s.gain[at(s.queue[k])];
    offset_t width = 0;
    for (; k < s.queue.size() && s.gain[at(s.queue[k])] == level; ++k) {
      width += g.weight[at(s.queue[k])];
    }
    const offset_t above = g.total - below - width;
    if (are_even(below, above, g.total)) {
      const std::pair own{cost(below, above, width), level};
      if (best.second == unreached || own < best) best = own;
    }
    below += width;
  }
  return best.second;
}

}  // namespace

bool level_separator(const graph& g, std::uint64_t key, trial& t, scratch& s) {
  const index_t most = most_levels(g.n);
  search(g, first_root(key, g.n), most, s);
  search(g, farthest(s), most, s);
  const index_t cut = cheapest_level(g, s);
  if (cut == unreached) return false;
  t.g = &g;
  t.key = level_key(key);
  t.side.resize(at(g.n));
  for (index_t v = 0; v < g.n; ++v) {
    const index_t level = s.gain[at(v)];
    t.side[at(v)] = level == cut ? separator : level != unreached && level < cut ? side_a : side_b;
  }
  collect_separator(t);
  return true;
}

}  // namespace gsofa::orders
