// First separators of a small graph: greedy growth by edge cut, refinement of the cut, then all
// vertices at the cut.

#include <algorithm>
#include <bit>
#include <limits>
#include <tuple>

#include "variants/orderings/dissection/host/stages.hpp"
#include "variants/support/processors.hpp"

namespace gsofa::orders {

namespace {

constexpr index_t barred = std::numeric_limits<index_t>::min();

// The vertex of the largest key that is not barred, of several the one of the largest tie, which
// tells the vertex in its low bits; -1 if all are barred.
GSOFA_FOR_PROCESSORS
index_t best_key(const scratch& s, index_t n) noexcept {
  const index_t* key = s.key.data();
  const std::uint32_t* tie = s.tie.data();
  index_t most = barred;
  for (index_t v = 0; v < n; ++v) most = std::max(most, key[v]);
  if (most == barred) return -1;
  std::uint32_t last = 0;
  for (index_t v = 0; v < n; ++v) last = std::max(last, key[v] == most ? tie[v] : 0U);
  return static_cast<index_t>(
      last & ((std::uint32_t{1} << std::bit_width(static_cast<std::uint32_t>(n))) - 1));
}

// gain[v]: weight of the edges of v to the other side less that to its own.
void compute_gains(const trial& t, scratch& s) {
  const graph& g = *t.g;
  for (index_t v = 0; v < g.n; ++v) {
    index_t gain = 0;
    for (offset_t e = g.begin[at(v)]; e < g.end[at(v)]; ++e) {
      const bool cut = t.side[at(g.adj[at(e)])] != t.side[at(v)];
      gain += cut ? g.edge_weight(e) : -g.edge_weight(e);
    }
    s.gain[at(v)] = gain;
  }
}

// Moves v to the other side and updates the gains.
void flip(trial& t, scratch& s, index_t v) {
  const graph& g = *t.g;
  const std::uint8_t from = t.side[at(v)];
  t.side[at(v)] = from == side_a ? side_b : side_a;
  t.weight[from] -= g.weight[at(v)];
  t.weight[1 - from] += g.weight[at(v)];
  s.gain[at(v)] = -s.gain[at(v)];
  for (offset_t e = g.begin[at(v)]; e < g.end[at(v)]; ++e) {
    const index_t u = g.adj[at(e)];
    s.gain[at(u)] += t.side[at(u)] == from ? 2 * g.edge_weight(e) : -2 * g.edge_weight(e);
    if (s.key[at(u)] != barred) s.key[at(u)] = s.gain[at(u)];
  }
}

// Moves vertices from B to A until A has half of the weight. Each move takes a vertex of the
// highest gain among the neighbours of A in B, or any vertex of B if A has no neighbour. locked[v]:
// 0 in B away from A, 1 in B at A, 2 moved or too heavy.
void grow(trial& t, scratch& s) {
  const graph& g = *t.g;
  t.side.assign(at(g.n), side_b);
  t.weight[side_a] = t.weight[separator] = 0;
  t.weight[side_b] = g.total;
  s.locked.assign(at(g.n), 0);
  s.key.assign(at(g.n), barred);
  compute_gains(t, s);
  const offset_t limit = cut_side_limit(g.total);
  while (2 * t.weight[side_a] < g.total) {
    index_t v = best_key(s, g.n);
    for (index_t u = 0; v < 0 && u < g.n; ++u) {
      if (s.locked[at(u)] == 0) s.key[at(u)] = 0;
    }
    if (v < 0) {
      v = best_key(s, g.n);
      std::ranges::fill(s.key, barred);
    }
    if (v < 0) return;
    s.locked[at(v)] = 2;
    s.key[at(v)] = barred;
    if (t.weight[side_a] + g.weight[at(v)] > limit) continue;
    flip(t, s, v);
    for (const index_t u : g.row(v)) {
      if (s.locked[at(u)] != 0) continue;
      s.locked[at(u)] = 1;
      s.key[at(u)] = s.gain[at(u)];
    }
  }
}

// The vertex to flip: the highest gain among free vertices whose new side stays within the limit or
// below the old one.
index_t best_flip(const trial& t, scratch& s, offset_t limit) {
  const graph& g = *t.g;
  const auto fits = [&](index_t v) {
    const offset_t target = t.weight[1 - t.side[at(v)]] + g.weight[at(v)];
    return target <= limit || target <= t.weight[t.side[at(v)]];
  };
  index_t v = best_key(s, g.n);
  if (v < 0 || fits(v)) return v;
  s.next.clear();
  for (index_t u = 0; u < g.n; ++u) {
    if (s.key[at(u)] == barred || fits(u)) continue;
    s.key[at(u)] = barred;
    s.next.push_back(u);
  }
  v = best_key(s, g.n);
  for (const index_t u : s.next) s.key[at(u)] = s.gain[at(u)];
  return v;
}

// One pass of two-sided moves with rollback to the smallest cut, of equal cuts the most even; true
// if the cut shrank.
bool refine_cut(trial& t, scratch& s) {
  const offset_t limit = cut_side_limit(t.g->total);
  s.key = s.gain;
  s.queue.clear();
  offset_t change = 0;
  const auto imbalance = [&] { return std::abs(t.weight[side_a] - t.weight[side_b]); };
  const auto excess = [&] {
    return std::max<offset_t>(0, std::max(t.weight[side_a], t.weight[side_b]) - limit);
  };
  auto best = std::tuple(excess(), change, imbalance());
  std::size_t kept = 0;
  const offset_t before = std::get<0>(best);
  while (s.queue.size() < kept + at(cut_idle_moves)) {
    const index_t v = best_flip(t, s, limit);
    if (v < 0) break;
    change -= s.gain[at(v)];
    s.key[at(v)] = barred;
    flip(t, s, v);
    s.queue.push_back(v);
    const auto now = std::tuple(excess(), change, imbalance());
    if (now < best) {
      best = now;
      kept = s.queue.size();
    }
  }
  for (; s.queue.size() > kept; s.queue.pop_back()) flip(t, s, s.queue.back());
  return std::get<0>(best) < before || std::get<1>(best) < 0;
}

// Of the vertices at the cut, those of the side whose loss is the cheaper separator go to S. Both
// sides together would be most of a dense coarse graph.
void cut_to_separator(trial& t, scratch& s) {
  const graph& g = *t.g;
  offset_t width[2] = {0, 0};
  s.queue.clear();
  for (index_t v = 0; v < g.n; ++v) {
    const auto other = [&](index_t u) { return t.side[at(u)] != t.side[at(v)]; };
    if (!std::ranges::any_of(g.row(v), other)) continue;
    s.queue.push_back(v);
    width[t.side[at(v)]] += g.weight[at(v)];
  }
  const cost_function cost(g.total);
  const auto a = cost(t.weight[side_a] - width[side_a], t.weight[side_b], width[side_a]);
  const auto b = cost(t.weight[side_a], t.weight[side_b] - width[side_b], width[side_b]);
  const std::uint8_t from = a <= b ? side_a : side_b;
  for (const index_t v : s.queue) {
    if (t.side[at(v)] == from) t.side[at(v)] = separator;
  }
}

}  // namespace

void first_cut(trial& t, scratch& s) {
  const graph& g = *t.g;
  s.gain.resize(at(g.n));
  s.tie.resize(at(g.n));
  const int bits = std::bit_width(static_cast<std::uint32_t>(g.n));
  for (index_t v = 0; v < g.n; ++v) {
    s.tie[at(v)] = (vertex_hash(t.key, v) << bits) | static_cast<std::uint32_t>(v);
  }
  grow(t, s);
  for (int pass = 0; pass < cut_passes && refine_cut(t, s); ++pass) {
  }
  cut_to_separator(t, s);
  collect_separator(t);
}

}  // namespace gsofa::orders
