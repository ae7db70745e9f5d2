#pragma once

// What the tests of the stages of dissection share: graphs, and how they come to a device and back.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/generators.hpp"
#include "common/random.hpp"
#include "common/symmetrize.hpp"
#include "variants/orderings/dissection/device/stages.hpp"
#include "variants/orderings/dissection/host/stages.hpp"
#include "variants/orderings/dissection/test_subjects.hpp"

namespace gsofa::orders::test {

inline gpu::memory_budget budget_of_tests() {
  gpu::memory_budget budget;
  budget.set_limit(offset_t{1} << 31);
  return budget;
}

inline graph graph_of(const pattern& a) {
  const pattern s = symmetrized(a, diagonal::drop);
  graph g;
  g.n = s.n_rows;
  g.total = g.n;
  g.entries = s.nnz();
  g.begin.assign(s.row_ptr.begin(), s.row_ptr.end() - 1);
  g.end.assign(s.row_ptr.begin() + 1, s.row_ptr.end());
  g.adj = s.col_idx;
  g.edge.assign(s.col_idx.size(), 1);
  g.weight.assign(at(g.n), 1);
  return g;
}

// Vertices of weights 1 to `most`.
inline graph weighted(graph g, index_t most) {
  g.total = 0;
  for (index_t v = 0; v < g.n; ++v) {
    g.weight[at(v)] = 1 + static_cast<index_t>(mix64(at(v)) % static_cast<std::uint64_t>(most));
    g.total += g.weight[at(v)];
  }
  return g;
}

template <class T>
void put(device::growing_array<T>& array, const std::vector<T>& values) {
  const auto size = static_cast<offset_t>(values.size());
  gpu::copy_to_device(array.resize(size), values.data(), size);
}

template <class T>
std::vector<T> values_of(const device::growing_array<T>& array, offset_t size) {
  REQUIRE(array.size() >= size);
  std::vector<T> values(at(size));
  gpu::copy_to_host(values.data(), array.data(), size);
  return values;
}

inline bool same(const graph& found, const graph& expected) {
  if (found.n != expected.n || found.total != expected.total || found.entries != expected.entries) {
    return false;
  }
  for (index_t v = 0; v < found.n; ++v) {
    if (found.weight[at(v)] != expected.weight[at(v)]) return false;
    const auto row = [&](const graph& g) {
      std::vector<std::pair<index_t, index_t>> r;
      for (offset_t e = g.begin[at(v)]; e < g.end[at(v)]; ++e) {
        r.emplace_back(g.adj[at(e)], g.edge_weight(e));
      }
      std::ranges::sort(r);
      return r;
    };
    if (row(found) != row(expected)) return false;
  }
  return true;
}

// A level of graphs; graph k comes from graph parent[k] of the finer level, if that is given. Rows
// have gaps and are reversed.
inline void put_level(device::level& l, const std::vector<const graph*>& graphs,
                      const std::vector<index_t>& parent) {
  std::vector<index_t> owner, adj, edge, weight, map;
  std::vector<offset_t> begin, end, entries;
  l.first.assign(1, 0);
  l.total.clear();
  l.parent = parent;
  l.map_first.assign(1, 0);
  l.weighted = !parent.empty();
  for (const graph* g : graphs) {
    const index_t first = l.first.back();
    for (index_t v = 0; v < g->n; ++v) {
      owner.push_back(static_cast<index_t>(l.total.size()));
      weight.push_back(g->weight[at(v)]);
      adj.push_back(-7);
      edge.push_back(-7);
      begin.push_back(static_cast<offset_t>(adj.size()));
      for (offset_t e = g->end[at(v)]; e-- > g->begin[at(v)];) {
        adj.push_back(first + g->adj[at(e)]);
        edge.push_back(g->edge[at(e)]);
      }
      end.push_back(static_cast<offset_t>(adj.size()));
    }
    l.first.push_back(first + g->n);
    l.total.push_back(g->total);
    entries.push_back(g->entries);
    if (parent.empty()) continue;
    for (const index_t v : g->from_finer) map.push_back(first + v);
    l.map_first.push_back(static_cast<offset_t>(map.size()));
  }
  l.room = static_cast<offset_t>(adj.size());
  put(l.d_first, l.first);
  put(l.d_owner, owner);
  put(l.d_adj, adj);
  put(l.d_edge, edge);
  put(l.d_weight, weight);
  put(l.d_begin, begin);
  put(l.d_end, end);
  put(l.d_total, l.total);
  put(l.d_entries, entries);
  put(l.d_parent, l.parent);
  put(l.d_map, map);
  put(l.d_map_first, l.map_first);
}

}  // namespace gsofa::orders::test
