// Contraction: a pair of matched vertices becomes one, whose row merges theirs.

#include <algorithm>

#include "common/large_pages.hpp"
#include "variants/orderings/dissection/host/stages.hpp"

namespace gsofa::orders {

namespace {

// Numbers the pairs by their smaller vertices. Returns how many there are.
index_t number_pairs(workspace& w, const graph& g, graph& coarse) {
  coarse.from_finer.resize(at(g.n));
  w.slot.clear();
  for (index_t v = 0; v < g.n; ++v) {
    const index_t u = w.match[at(v)];
    if (u != workspace::unmatched && u < v) {
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
  if (u == workspace::unmatched) return;
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
    next += g.degree(v) + (u == workspace::unmatched ? 0 : g.degree(u));
  }
  crew.ranges(n, vertex_grain / 4, [&](int t, offset_t from, offset_t to) {
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
  match(crew, w, fine, most, key);
  coarse.n = number_pairs(w, fine, coarse);
  coarse.total = fine.total;
  if (!has_shrunk(fine.n, coarse.n)) return false;
  contract(crew, w, per_thread, fine, coarse);
  return true;
}

}  // namespace gsofa::orders
