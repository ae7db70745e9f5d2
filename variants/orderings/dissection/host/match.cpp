// Matching: handshakes by heavy edges, then pairs of free vertices with a common neighbour (two
// hops).

#include <algorithm>

#include "variants/orderings/dissection/host/stages.hpp"

namespace gsofa::orders {

namespace {

constexpr index_t unmatched = workspace::unmatched;
constexpr index_t nobody = -1;
constexpr index_t unknown = -2;

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
    crew.ranges(g.n, vertex_grain, [&](int, offset_t from, offset_t to) {
      for (auto v = static_cast<index_t>(from); v < to; ++v) {
        const index_t p = w.proposal[at(v)];
        if (w.match[at(v)] != unmatched || p == nobody) continue;
        if (p == unknown || w.match[at(p)] != unmatched) {
          w.proposal[at(v)] = best_neighbour(m, v, most);
        }
      }
    });
    std::atomic<bool> any{false};
    crew.ranges(g.n, vertex_grain, [&](int, offset_t from, offset_t to) {
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
  crew.ranges(g.n, vertex_grain, [&](int, offset_t from, offset_t to) {
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

}  // namespace

void match(team& crew, workspace& w, const graph& fine, offset_t most, std::uint64_t key) {
  w.match.assign(at(fine.n), unmatched);
  w.proposal.assign(at(fine.n), unknown);
  w.tie.resize(at(fine.n));
  crew.ranges(fine.n, vertex_grain, [&](int, offset_t from, offset_t to) {
    for (auto v = static_cast<index_t>(from); v < to; ++v) w.tie[at(v)] = vertex_hash(key, v);
  });
  handshake(crew, w, fine, most);
  two_hop(crew, w, fine, most);
}

}  // namespace gsofa::orders
