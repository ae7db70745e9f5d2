#include "variants/panels/cut.hpp"

#include <algorithm>

#include "common/parallel.hpp"

namespace gsofa::panels {

namespace {

// The panels of one range of vertices. Each thread appends to its own: no shared cache line.
struct alignas(64) cuts {
  std::vector<index_t> begin, outer;  // first vertex and q(J) of each panel
};

// Cuts the vertices first .. last - 1. Before: no panel holds vertices on both sides of `first`.
void cut_range(std::span<const index_t> parent, index_t first, index_t last, index_t width,
               cuts& out) {
  out.begin.clear();
  out.outer.clear();
  for (index_t v = first; v < last; ++v) {
    const index_t q = parent[at(v)];
    const bool leaf = v == first || parent[at(v) - 1] != v;
    if (!leaf && v - out.begin.back() < width) {
      // v is q of the last panel. With v inside, v's parent becomes q.
      out.outer.back() = q;
    } else {
      out.begin.push_back(v);
      out.outer.push_back(q);
    }
    // Neighbouring panels with the same q become one panel if they fit.
    while (out.begin.size() > 1 && out.outer[out.outer.size() - 2] == q &&
           v + 1 - out.begin[out.begin.size() - 2] <= width) {
      out.begin.pop_back();
      out.outer.pop_back();
    }
  }
}

// The least v >= `from` at which a panel begins whatever is before v: a subtree of more than
// `width` vertices begins with v. The parent of v - 1 is beyond the largest such subtree, so a
// panel with v - 1 and v would contain all of that subtree.
index_t next_cut(const ordered_graph& g, index_t from, index_t width) {
  const auto begin = g.subtree_begin();
  for (index_t v = from; v < g.n; ++v) {
    if (begin[at(v)] != v) continue;
    index_t x = v;
    while (x - v < width) {
      const index_t p = g.parent[at(x)];
      if (p < 0 || begin[at(p)] != v) break;
      x = p;
    }
    if (x - v >= width) return v;
  }
  return g.n;
}

// Replaces the vertex q(J) by its panel, and finds the first panel of each subtree: the panel of
// the first vertex of the subtrees of its vertices.
void find_subtrees(const ordered_graph& g, panel_tree& out, int threads) {
  const auto begin = g.subtree_begin();
  resize_to_write(out.first, at(out.panels()));
  parallel_ranges<index_t>(threads, out.panels(), 256, [&](int, index_t from, index_t to) {
    for (index_t j = from; j < to; ++j) {
      index_t& q = out.parent[at(j)];
      q = q < 0 ? -1 : out.panel_of[at(q)];
      out.first[at(j)] = j;
      if (begin.empty()) continue;
      const auto own = begin.subspan(at(out.begin[at(j)]), at(out.width(j)));
      out.first[at(j)] = out.panel_of[at(std::ranges::min(own))];
    }
  });
  if (!begin.empty()) return;
  for (index_t j = 0; j < out.panels(); ++j) {
    if (const index_t p = out.parent[at(j)]; p >= 0) {
      out.first[at(p)] = std::min(out.first[at(p)], out.first[at(j)]);
    }
  }
}

}  // namespace

void cut_panels(const ordered_graph& g, int width, panel_tree& out, int threads) {
  const index_t n = g.n;
  const int parts = g.subtree_begin().empty() ? 1 : threads;
  std::vector<index_t> first(at(parts) + 1, n);
  first[0] = 0;
  for (int t = 1; t < parts; ++t) {
    const auto from = static_cast<index_t>(offset_t{n} * t / parts);
    first[at(t)] = next_cut(g, std::max(from, first[at(t) - 1]), width);
  }
  std::vector<cuts> of(at(parts));
  parallel_parts(
      parts, [&](int t) { cut_range(g.parent, first[at(t)], first[at(t) + 1], width, of[at(t)]); });
  out.begin.clear();
  out.parent.clear();
  for (const cuts& c : of) {
    out.begin.insert(out.begin.end(), c.begin.begin(), c.begin.end());
    out.parent.insert(out.parent.end(), c.outer.begin(), c.outer.end());
  }
  out.begin.push_back(n);
  resize_to_write(out.panel_of, at(n));
  parallel_ranges<index_t>(threads, out.panels(), 256, [&](int, index_t begin, index_t end) {
    for (index_t j = begin; j < end; ++j) {
      std::fill(out.panel_of.begin() + out.begin[at(j)],
                out.panel_of.begin() + out.begin[at(j) + 1], j);
    }
  });
  find_subtrees(g, out, threads);
}

}  // namespace gsofa::panels
