// Matching: handshakes by heavy edges, then pairs of free vertices with a common neighbour (two
// hops).

#include <algorithm>
#include <numeric>

#include "variants/orderings/dissection/host/stages.hpp"

namespace gsofa::orders {

namespace {

constexpr index_t unmatched = workspace::unmatched;
constexpr index_t nobody = -1;
constexpr index_t unknown = -2;

constexpr std::uint64_t all_bits_if(bool is) { return 0U - static_cast<std::uint64_t>(is); }

// What a search of the best neighbours reads.
struct matching {
  matching(const workspace& w, const graph& graph)
      : g(graph),
        adj(graph.adj.data()),
        edge(graph.edge.empty() ? nullptr : graph.edge.data()),
        free_weight(w.free_weight.data()),
        tie(w.tie.data()) {}

  [[nodiscard]] bool is_free(index_t v) const { return free_weight[v] != max_index; }

  const graph& g;
  const index_t* adj;
  const index_t* edge;  // nullptr: all are 1
  const index_t* free_weight;
  const std::uint32_t* tie;
};

// The neighbour of v of the highest edge among those whose free_weight is at most `most`; Weights:
// edges have some. Without branches: they would be of chance.
template <bool Weights>
index_t highest_edge(const matching& m, index_t v, index_t most) {
  std::uint64_t best = 1;  // below all ranks
  index_t best_u = nobody;
  const offset_t end = m.g.end[at(v)];
  const std::uint32_t tie = m.tie[v];
  for (offset_t e = m.g.begin[at(v)]; e < end; ++e) {
    const index_t u = m.adj[e];
    const std::uint64_t rank = edge_rank_of(Weights ? m.edge[e] : 1, tie, m.tie[u]);
    const std::uint64_t own = rank & all_bits_if(m.free_weight[u] <= most);
    const std::uint64_t higher = all_bits_if((own > best) | ((own == best) & (u > best_u)));
    best ^= (best ^ own) & higher;
    best_u ^= (best_u ^ u) & static_cast<index_t>(higher);
  }
  return best_u;
}

index_t highest_edge(const matching& m, index_t v, index_t most) {
  return m.edge == nullptr ? highest_edge<false>(m, v, most) : highest_edge<true>(m, v, most);
}

// Free vertices propose to their best neighbours; mutual proposals match. A proposal stands until
// its receiver is matched, as the set of free neighbours only shrinks.
void handshake(team& crew, workspace& w, const graph& g, offset_t most) {
  const matching m(w, g);
  std::vector<index_t>& free = w.free;
  for (int round = 0; round < handshake_rounds; ++round) {
    const auto count = static_cast<offset_t>(free.size());
    crew.ranges(count, vertex_grain, [&](int, offset_t from, offset_t to) {
      for (offset_t k = from; k < to; ++k) {
        const index_t v = free[at(k)];
        const index_t p = w.proposal[at(v)];
        if (p == nobody || !m.is_free(v)) continue;
        if (p == unknown || !m.is_free(p)) {
          const offset_t left = std::min<offset_t>(most - g.weight[at(v)], max_index - 1);
          w.proposal[at(v)] = highest_edge(m, v, static_cast<index_t>(left));
        }
      }
    });
    std::atomic<bool> any{false};
    crew.ranges(count, vertex_grain, [&](int, offset_t from, offset_t to) {
      bool matched = false;
      for (offset_t k = from; k < to; ++k) {
        const index_t v = free[at(k)];
        const index_t p = w.proposal[at(v)];
        const bool matches = w.proposal[at(p < 0 ? v : p)] == v;
        matched |= matches & m.is_free(v);
        w.match[at(v)] = matches ? p : w.match[at(v)];
        w.free_weight[at(v)] |=
            static_cast<index_t>(all_bits_if(matches)) & static_cast<index_t>(max_index);
      }
      if (matched) any.store(true, std::memory_order_relaxed);
    });
    if (!any.load(std::memory_order_relaxed)) return;
    if (crew.size() > 1) continue;
    std::size_t kept = 0;
    for (const index_t v : free) {
      free[kept] = v;
      kept += m.is_free(v) ? 1 : 0;
    }
    free.resize(kept);
  }
}

// The neighbour through which a free vertex may meet another: that of its highest edge, unless its
// degree is large; slot n for an isolated vertex.
index_t meeting_place(const matching& m, index_t v, offset_t widest) {
  const graph& g = m.g;
  if (g.degree(v) == 0) return g.n;
  const index_t u = highest_edge(m, v, max_index);
  return g.degree(v) == 1 || g.degree(u) <= widest ? u : nobody;
}

// Free vertices with one meeting place pair up in order of their numbers, first with second, third
// with fourth. Without the bound on its degree, hubs would turn the coarse graph into an expander.
void two_hop(team& crew, workspace& w, const graph& g, offset_t most) {
  const offset_t widest = w.meets_in_hubs ? g.n : widest_meeting_place(g.entries, g.n);
  const matching m(w, g);
  const auto count = static_cast<offset_t>(w.free.size());
  crew.ranges(count, vertex_grain, [&](int, offset_t from, offset_t to) {
    for (offset_t k = from; k < to; ++k) {
      const index_t v = w.free[at(k)];
      w.proposal[at(v)] = m.is_free(v) ? meeting_place(m, v, widest) : nobody;
    }
  });
  w.slot.assign(at(g.n) + 1, nobody);
  for (const index_t v : w.free) {
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
  w.free_weight.assign(fine.weight.begin(), fine.weight.begin() + fine.n);
  w.free.resize(at(fine.n));
  std::iota(w.free.begin(), w.free.end(), 0);
  w.tie.resize(at(fine.n));
  crew.ranges(fine.n, vertex_grain, [&](int, offset_t from, offset_t to) {
    for (auto v = static_cast<index_t>(from); v < to; ++v) w.tie[at(v)] = vertex_hash(key, v);
  });
  handshake(crew, w, fine, most);
  two_hop(crew, w, fine, most);
}

}  // namespace gsofa::orders
