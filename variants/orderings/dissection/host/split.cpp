// The graphs of the two sides of a separator.

#include "common/large_pages.hpp"
#include "variants/orderings/dissection/host/stages.hpp"

namespace gsofa::orders {

// The subgraphs of the two sides, of count[side] vertices; local[v]: number of v in its side.
void split_graph(team& crew, const graph& g, const trial& t, std::span<const index_t> local,
                 const index_t* count, graph* sides) {
  std::vector<offset_t> begin(at(g.n));
  std::vector<index_t> vertex[2];
  offset_t room[2] = {0, 0};
  for (int k = 0; k < 2; ++k) {
    for (auto* of : {&sides[k].begin, &sides[k].end}) of->reserve(at(count[k]));
    for (auto* of : {&sides[k].weight, &vertex[k]}) of->reserve(at(count[k]));
  }
  std::vector<index_t> lost(at(g.n), 0);
  for (const index_t v : t.members) {
    for (const index_t u : g.row(v)) ++lost[at(u)];
  }
  for (index_t v = 0; v < g.n; ++v) {
    const std::uint8_t k = t.side[at(v)];
    if (k == separator) continue;
    graph& h = sides[k];
    h.begin.push_back(room[k]);
    room[k] += g.degree(v) - lost[at(v)];
    h.end.push_back(room[k]);
    h.weight.push_back(g.weight[at(v)]);
    vertex[k].push_back(v);
  }
  for (int k = 0; k < 2; ++k) {
    graph& h = sides[k];
    h.n = static_cast<index_t>(vertex[k].size());
    h.total = t.weight[k];
    h.entries = room[k];
    index_t* const adj = storage_to_write(h.adj, at(room[k]));
    crew.ranges(h.n, vertex_grain, [&](int, offset_t from, offset_t to) {
      for (auto i = from; i < to; ++i) {
        index_t* next = adj + h.begin[at(i)];
        for (const index_t u : g.row(vertex[k][at(i)])) {
          if (t.side[at(u)] == k) *next++ = local[at(u)];
        }
      }
    });
    take_written(h.adj, at(room[k]));
  }
}

}  // namespace gsofa::orders
