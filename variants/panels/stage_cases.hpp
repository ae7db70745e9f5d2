#pragma once

/// Patterns and host forms for the tests that run a stage on the host and on the device.

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/generators.hpp"
#include "common/preprocess.hpp"
#include "harness/check/test_patterns.hpp"
#include "variants/panels/elimination.hpp"
#include "variants/panels/lists.hpp"

namespace gsofa::panels {

/// Order 0; special shapes (order 1, diagonal, dense, arrows, chains, blocks) and random patterns
/// of at most `largest` vertices; grids with one-way and dropped edges, elasticity, circuits, each
/// as generated and in a postorder of its elimination tree.
inline std::vector<named_pattern> stage_cases(index_t largest = 150, std::uint64_t randoms = 60) {
  std::vector<named_pattern> out{{"order 0", generate("diagonal:n=0")}};
  const auto add = [&](named_pattern p) {
    if (p.a.n_rows <= largest) out.push_back(std::move(p));
  };
  for (named_pattern& p : special_patterns()) add(std::move(p));
  for (std::uint64_t k = 0; k < randoms; ++k) add(random_pattern(37, k));
  for (const char* spec :
       {"grid5:nx=11", "grid5:nx=12,ny=9,drop=0.3,seed=2", "grid7:nx=5", "grid7:nx=5,oneway=1",
        "grid7:nx=5,drop=0.4,oneway=0.5,seed=1", "grid27:nx=5,drop=0.3,seed=3", "elasticity3d:nx=3",
        "circuit:n=140,hubs=3,seed=4", "random:n=120,degree=3,seed=5"}) {
    const pattern a = generate(spec);
    const auto order = postorder(elimination_tree(symmetrized(a, diagonal::drop)));
    add({spec, a});
    add({std::string(spec) + ", postordered", permute(a, order, order)});
  }
  return out;
}

/// The tree of the panels into which `begin` (first vertex of each, then n) cuts the vertices of
/// `g`: so a stage of the host can run on the panels that the device has cut.
inline panel_tree tree_of_cut(const ordered_graph& g, std::span<const index_t> begin) {
  panel_tree out;
  out.begin.assign(begin.begin(), begin.end());
  const auto panels = static_cast<index_t>(begin.size()) - 1;
  for (index_t j = 0; j < panels; ++j) out.panel_of.resize(at(begin[at(j) + 1]), j);
  for (index_t j = 0; j < panels; ++j) {
    const index_t q = g.parent[at(begin[at(j) + 1] - 1)];
    out.parent.push_back(q < 0 ? -1 : out.panel_of[at(q)]);
    out.first.push_back(j);
  }
  for (index_t j = 0; j < panels; ++j) {
    if (const index_t p = out.parent[at(j)]; p >= 0) {
      out.first[at(p)] = std::min(out.first[at(p)], out.first[at(j)]);
    }
  }
  return out;
}

/// "" if the panels of `t` are what a cut of `g` has to be: ranges that cover all vertices, of at
/// most `width`, with all parents outside a range the parent of its last vertex; else the rule that
/// is broken.
inline std::string fault_of_cut(const ordered_graph& g, const panel_tree& t, index_t width) {
  if (t.begin.front() != 0 || t.begin.back() != g.n) return "cover";
  for (index_t j = 0; j < t.panels(); ++j) {
    const index_t end = t.begin[at(j) + 1];
    if (t.width(j) < 1 || t.width(j) > width) return "width";
    const index_t q = g.parent[at(end) - 1];
    if (t.parent[at(j)] != (q < 0 ? -1 : t.panel_of[at(q)])) return "parent";
    for (index_t v = t.begin[at(j)]; v < end; ++v) {
      const index_t p = g.parent[at(v)];
      if (t.panel_of[at(v)] != j) return "panel";
      if ((p < 0 || p >= end) && p != q) return "one parent outside";
    }
  }
  return "";
}

/// Replaces the masks of `s`, which hold A, by the masks of L + U, on one thread. `g`: the forest
/// of the panels.
inline void eliminate_on_host(const ordered_graph& g, panel_set& s) {
  panel_eliminator worker(
      s, g.symmetric() ? std::span<const index_t>(g.parent) : std::span<const index_t>());
  for (index_t j = 0; j < s.panels(); ++j) {
    worker.factor_boundary_and_update(worker.factor(j), 0, s.blocks[at(j)].size(), s.panels() - 1);
  }
}

}  // namespace gsofa::panels
