// Coarsening: handshake matching by heavy edges, two-hop matching, contraction.

#include <algorithm>

#include "common/large_pages.hpp"
#include "variants/orderings/nested_dissection_steps.hpp"

namespace gsofa::orderings {

namespace {

constexpr index_t unmatched = -1;
constexpr index_t nobody = -1;
constexpr index_t unknown = -2;
constexpr offset_t grain = 4096;

// A number of the edge (u, v), seen from v.
struct edge_rank {
  std::uint64_t first;
  index_t u;
  auto operator<=>(const edge_rank&) const = default;
};

edge_rank rank_of(index_t weight, std::uint32_t tie_v, std::uint32_t tie_u, index_t u) {
  return {edge_rank_of(weight, tie_v, tie_u), u};
}

// What a search of the best neighbours reads.
struct matching {
  matching(const workspace& w, const graph& graph)
      : g(graph),
        adj(graph.adj.data()),
        edge(graph.edge.empty() ? nullptr : graph.edge.data()),
        weight(graph.weight.data()),
        match(w.match.data()),
        tie(w.tie.data()) {}

  const graph& g;
  const index_t* adj;
  const index_t* edge;  // nullptr: all are 1
  const index_t* weight;
  const index_t* match;
  const std::uint32_t* tie;
};

// The neighbour of v of the highest edge among those that may match it; Weights: edges have some.
template <bool Weights, class May>
index_t highest_edge(const matching& m, index_t v, const May& may) {
  edge_rank best{0, nobody};
  const offset_t end = m.g.end[at(v)];
  for (offset_t e = m.g.begin[at(v)]; e < end; ++e) {
    const index_t u = m.adj[e];
    if (!may(u)) continue;
    best = std::max(best, rank_of(Weights ? m.edge[e] : 1, m.tie[v], m.tie[u], u));
  }
  return best.u;
}

template <class May>
index_t highest_edge(const matching& m, index_t v, const May& may) {
  return m.edge == nullptr ? highest_edge<false>(m, v, may) : highest_edge<true>(m, v, may);
}

// The neighbour of v of the highest edge among those that are free and light enough.
index_t best_neighbour(const matching& m, index_t v, offset_t most) {
  const offset_t left = most - m.weight[v];
  return highest_edge(m, v,
                      [&](index_t u) { return m.match[u] == unmatched && m.weight[u] <= left; });
}

// Free vertices propose to their best neighbours; mutual proposals match. A proposal stands until
// its receiver is matched, as the set of free neighbours only shrinks.
void handshake(team& crew, workspace& w, const graph& g, offset_t most) {
  const matching m(w, g);
  for (int round = 0; round < handshake_rounds; ++round) {
    crew.ranges(g.n, grain, [&](int, offset_t from, offset_t to) {
      for (auto v = static_cast<index_t>(from); v < to; ++v) {
        const index_t p = w.proposal[at(v)];
        if (w.match[at(v)] != unmatched || p == nobody) continue;
        if (p == unknown || w.match[at(p)] != unmatched) {
          w.proposal[at(v)] = best_neighbour(m, v, most);
        }
      }
    });
    std::atomic<bool> any{false};
    crew.ranges(g.n, grain, [&](int, offset_t from, offset_t to) {
      bool matched = false;
      for (auto v = static_cast<index_t>(from); v < to; ++v) {
        const index_t p = w.proposal[at(v)];
        if (w.match[at(v)] != unmatched || p < 0 || w.proposal[at(p)] != v) continue;
        w.match[at(v)] = p;
        matched = true;
      }
      if (matched) any.store(true, std::memory_order_relaxed);
    });
    if (!any.load(std::memory_order_relaxed)) return;
  }
}

// The neighbour through which a free vertex may meet another: that of its highest edge, unless its
// degree is large; slot n for an isolated vertex.
index_t meeting_place(const matching& m, index_t v, offset_t widest) {
  const graph& g = m.g;
  if (g.degree(v) == 0) return g.n;
  const index_t u = highest_edge(m, v, [](index_t) { return true; });
  return g.degree(v) == 1 || g.degree(u) <= widest ? u : nobody;
}

// Free vertices with one meeting place pair up in order of their numbers, first with second, third
// with fourth. Without the bound on its degree, hubs would turn the coarse graph into an expander.
void two_hop(team& crew, workspace& w, const graph& g, offset_t most) {
  const offset_t widest = widest_meeting_place(g.entries, g.n);
  const matching m(w, g);
  crew.ranges(g.n, grain, [&](int, offset_t from, offset_t to) {
    for (auto v = static_cast<index_t>(from); v < to; ++v) {
      w.proposal[at(v)] = w.match[at(v)] == unmatched ? meeting_place(m, v, widest) : nobody;
    }
  });
  w.slot.assign(at(g.n) + 1, nobody);
  for (index_t v = 0; v < g.n; ++v) {
    const index_t p = w.proposal[at(v)];
    if (p == nobody) continue;
    index_t& first = w.slot[at(p)];
    if (first == nobody) {
      first = v;
      continue;
    }
    if (offset_t{g.weight[at(v)]} + g.weight[at(first)] <= most) {
      w.match[at(v)] = first;
      w.match[at(first)] = v;
    }
    first = nobody;
  }
}

// Numbers the pairs by their smaller vertices. Returns how many there are.
index_t number_pairs(workspace& w, const graph& g, graph& coarse) {
  coarse.from_finer.resize(at(g.n));
  w.slot.clear();
  for (index_t v = 0; v < g.n; ++v) {
    const index_t u = w.match[at(v)];
    if (u != unmatched && u < v) {
      coarse.from_finer[at(v)] = coarse.from_finer[at(u)];
    } else {
      coarse.from_finer[at(v)] = static_cast<index_t>(w.slot.size());
      w.slot.push_back(v);
    }
  }
  return static_cast<index_t>(w.slot.size());
}

// Appends the row of v to that of coarse vertex c, merging equal neighbours: where[u] is the place
// of u in the row of c if that place holds u. Weights: edges of g have some.
template <bool Weights>
void merge_row(const graph& g, graph& coarse, index_t c, index_t v, index_t* where) {
  const offset_t begin = coarse.begin[at(c)];
  const offset_t end = g.end[at(v)];
  const index_t* const adj = g.adj.data();
  const index_t* const edge = g.edge.data();
  const index_t* const from_finer = coarse.from_finer.data();
  index_t* const row = coarse.adj.data() + begin;
  index_t* const weights = coarse.edge.data() + begin;
  auto length = static_cast<index_t>(coarse.end[at(c)] - begin);
  for (offset_t e = g.begin[at(v)]; e < end; ++e) {
    const index_t u = from_finer[adj[e]];
    if (u == c) continue;
    const index_t weight = Weights ? edge[e] : 1;
    const index_t place = where[u];
    if (place < length && row[place] == u) {
      weights[place] += weight;
    } else {
      where[u] = length;
      row[length] = u;
      weights[length++] = weight;
    }
  }
  coarse.end[at(c)] = begin + length;
}

void merge_row(const graph& g, graph& coarse, index_t c, index_t v, index_t* where) {
  g.edge.empty() ? merge_row<false>(g, coarse, c, v, where)
                 : merge_row<true>(g, coarse, c, v, where);
}

void merge_pair(const workspace& w, const graph& g, graph& coarse, index_t c, index_t* where) {
  const index_t v = w.slot[at(c)];
  const index_t u = w.match[at(v)];
  coarse.end[at(c)] = coarse.begin[at(c)];
  coarse.weight[at(c)] = g.weight[at(v)];
  merge_row(g, coarse, c, v, where);
  if (u == unmatched) return;
  coarse.weight[at(c)] += g.weight[at(u)];
  merge_row(g, coarse, c, u, where);
}

// Several threads give each row room for both rows of its pair; one thread packs the rows. Room
// is kept from call to call.
void contract(team& crew, workspace& w, scratch* per_thread, const graph& g, graph& coarse) {
  const index_t n = coarse.n;
  coarse.begin.resize(at(n));
  coarse.end.resize(at(n));
  coarse.weight.resize(at(n));
  // Gaps are not written, nor read.
  const std::size_t room = at(g.entries);
  const bool is_new = coarse.adj.size() < room;
  if (is_new) {
    storage_to_write(coarse.adj, room);
    storage_to_write(coarse.edge, room);
  }
  const auto keep_written = [&] {
    if (!is_new) return;
    take_written(coarse.adj, room);
    take_written(coarse.edge, room);
  };
  coarse.entries = 0;
  if (crew.size() == 1) {
    per_thread[0].where.resize(std::max(per_thread[0].where.size(), at(n)), 0);
    offset_t next = 0;
    for (index_t c = 0; c < n; ++c) {
      coarse.begin[at(c)] = next;
      merge_pair(w, g, coarse, c, per_thread[0].where.data());
      next = coarse.end[at(c)];
    }
    coarse.entries = next;
    keep_written();
    return;
  }
  offset_t next = 0;
  for (index_t c = 0; c < n; ++c) {
    const index_t v = w.slot[at(c)];
    const index_t u = w.match[at(v)];
    coarse.begin[at(c)] = next;
    next += g.degree(v) + (u == unmatched ? 0 : g.degree(u));
  }
  crew.ranges(n, grain / 4, [&](int t, offset_t from, offset_t to) {
    auto& where = per_thread[t].where;
    where.resize(std::max(where.size(), at(n)), 0);
    for (auto c = static_cast<index_t>(from); c < to; ++c)
      merge_pair(w, g, coarse, c, where.data());
  });
  for (index_t c = 0; c < n; ++c) coarse.entries += coarse.degree(c);
  keep_written();
}

}  // namespace

bool coarsen(team& crew, workspace& w, scratch* per_thread, const graph& fine, offset_t most,
             std::uint64_t key, graph& coarse) {
  w.match.assign(at(fine.n), unmatched);
  w.proposal.assign(at(fine.n), unknown);
  w.tie.resize(at(fine.n));
  crew.ranges(fine.n, grain, [&](int, offset_t from, offset_t to) {
    for (auto v = static_cast<index_t>(from); v < to; ++v) w.tie[at(v)] = vertex_hash(key, v);
  });
  handshake(crew, w, fine, most);
  two_hop(crew, w, fine, most);
  coarse.n = number_pairs(w, fine, coarse);
  coarse.total = fine.total;
  if (!has_shrunk(fine.n, coarse.n)) return false;
  contract(crew, w, per_thread, fine, coarse);
  return true;
}

}  // namespace gsofa::orderings
