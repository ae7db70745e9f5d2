// The graphs of the two sides of separators, and the positions of all vertices. Device form of
// host/split.cpp.

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include <algorithm>
#include <limits>

#include "variants/orderings/dissection/device/stages.hpp"

namespace gsofa::orders::device {

namespace {

constexpr index_t no_child = std::numeric_limits<index_t>::min();

/// Numbers the vertices of each side.
struct side_op {
  using value = side_sum;
  level_view g;
  const std::uint8_t* side;
  const ending_view* endings;
  index_t* number;  ///< out: that of a vertex of A, the complement of that of one of B, no_child
  index_t* rank;    ///< out: number within its side
  offset_t* place;  ///< out: of its row, in the room of its child
  side_counts* counts;  ///< in memory of the host

  GSOFA_DEVICE static value identity() { return {{0, 0}, {0, 0, 0}, 0}; }
  GSOFA_DEVICE static value combine(const value& a, const value& b) {
    if (b.starts != 0) return b;
    return {{a.room[0] + b.room[0], a.room[1] + b.room[1]},
            {a.count[0] + b.count[0], a.count[1] + b.count[1], a.count[2] + b.count[2]},
            a.starts};
  }
  GSOFA_DEVICE offset_t count() const { return g.n; }
  GSOFA_DEVICE int side_of(index_t v, index_t i) const {
    const ending_view& e = endings[i];
    if (e.splits == 0) return 0;
    return side[e.winner + static_cast<std::uint64_t>(v - g.first[i])];
  }
  GSOFA_DEVICE value item(index_t v) const {
    const index_t i = g.owner[v];
    const int s = side_of(v, i);
    const offset_t length = g.end[v] - g.begin[v];
    return {{s == 0 ? length : 0, s == 1 ? length : 0},
            {s == 0 ? 1 : 0, s == 1 ? 1 : 0, s == 2 ? 1 : 0},
            v == g.first[i] ? 1U : 0U};
  }
  GSOFA_DEVICE void emit(index_t v, const value& upto) const {
    const index_t i = g.owner[v];
    const int s = side_of(v, i);
    const index_t k = (s == 0 ? upto.count[0] : s == 1 ? upto.count[1] : upto.count[2]) - 1;
    rank[v] = k;
    number[v] = s == 0 ? k : s == 1 ? ~k : no_child;
    if (s < 2) place[v] = (s == 0 ? upto.room[0] : upto.room[1]) - (g.end[v] - g.begin[v]);
    if (v + 1 == g.first[i + 1]) {
      counts[i] = {{upto.count[0], upto.count[1], upto.count[2]}, {upto.room[0], upto.room[1]}};
    }
  }
};

/// Positions of all vertices, and rows of the sides.
struct split_op {
  static constexpr offset_t longest = long_row;
  level_view g;
  const sides_view* graphs;
  const index_t* number;
  const index_t* rank;
  const offset_t* place;
  const index_t* vertex;
  index_t* order;
  // The level of the sides.
  index_t children;
  index_t n;
  index_t *first, *owner, *adj, *weight, *next_vertex;
  offset_t *begin, *end, *total, *entries;
  entry_sum sum_a, sum_b;

  GSOFA_DEVICE offset_t length(index_t v) const { return g.end[v] - g.begin[v]; }

  template <class Team>
  GSOFA_DEVICE void row(Team& team, index_t v, offset_t length) {
    int s = 2;
    const sides_view* to = nullptr;
    if (v != none) {
      to = graphs + g.owner[v];
      const index_t own = number[v];
      s = own == no_child ? 2 : own >= 0 ? 0 : 1;
      if (team.rank() == 0) order[to->position[s] + rank[v]] = vertex[v];
      if (to->child == none) s = 2;
    }
    const offset_t from = s == 2 ? 0 : g.begin[v];
    const offset_t count = s == 2 ? 0 : length;
    const offset_t at = s == 2 ? 0 : to->room[s] + place[v];
    const index_t shift = s == 2 ? 0 : to->first[s];
    offset_t found = 0;
    const offset_t steps = team.most_steps((count + team.size() - 1) / team.size());
    for (offset_t step = 0; step < steps; ++step) {
      const offset_t e = step * team.size() + team.rank();
      const index_t u = e < count ? number[g.adj[from + e]] : no_child;
      const bool same = u != no_child && (u >= 0) == (s == 0);
      const offset_t there = team.place(same, found);
      if (same) adj[at + there] = shift + (u >= 0 ? u : ~u);
    }
    if (s == 2 || team.rank() != 0) return;
    const index_t c = shift + rank[v];
    begin[c] = at;
    end[c] = at + found;
    weight[c] = g.weight[v];
    owner[c] = to->child + s;
    next_vertex[c] = vertex[v];
    if (s == 0) {
      sum_a.add(entries, to->child, found);
    } else {
      sum_b.add(entries, to->child + 1, found);
    }
  }

  GSOFA_DEVICE void finish() {
    auto* const shared = shared_of_rows<entry_sum::memory>();
    sum_a.finish(entries, shared);
    sum_b.finish(entries, shared);
    const auto step = offset_t{simt::grid_size()} * simt::block_size();
    const auto thread = offset_t{simt::block_index()} * simt::block_size() + simt::thread_index();
    if (thread == 0) first[children] = n;
    for (offset_t i = thread; i < g.graphs; i += step) {
      if (graphs[i].child == none) continue;
      for (int s = 0; s < 2; ++s) {
        first[graphs[i].child + s] = graphs[i].first[s];
        total[graphs[i].child + s] = graphs[i].total[s];
      }
    }
  }
};

/// Where the vertices of each graph go; makes room for the graphs of the sides.
void plan_sides(const level& whole, const side_counts* counts, std::span<ending> endings,
                sides_view* views, level& sides) {
  for (index_t i = 0; i < whole.graphs(); ++i) {
    ending& e = endings[at(i)];
    const side_counts c = whole.size_of(i) == 0 ? side_counts{} : counts[i];
    std::copy_n(c.count, 3, e.count);
    sides_view& to = views[i];
    to = {};
    to.position[0] = e.position;
    to.position[1] = e.position + c.count[0];
    to.position[2] = to.position[1] + c.count[1];
    to.child = none;
    if (!e.splits) continue;
    to.child = sides.graphs();
    for (int k = 0; k < 2; ++k) {
      to.first[k] = sides.first.back();
      to.room[k] = sides.room;
      to.total[k] = e.weight[k];
      sides.first.push_back(sides.first.back() + c.count[k]);
      sides.total.push_back(e.weight[k]);
      sides.room += c.room[k];
    }
  }
}

}  // namespace

void split(host_link& link, splitting_space& s, const level& whole, const std::uint8_t* side,
           std::span<ending> endings, const index_t* vertex, index_t* order, level& sides,
           growing_array<index_t>& next_vertex) {
  sides.clear();
  sides.weighted = false;
  const index_t graphs = whole.graphs();
  const level_view g = whole.view();
  if (graphs == 0) return;
  auto* const views = link.room<ending_view>(at(graphs));
  auto* const counts = link.room<side_counts>(at(graphs));
  for (std::size_t i = 0; i < endings.size(); ++i) {
    views[i] = {endings[i].winner, endings[i].position, endings[i].splits ? 1U : 0U};
  }
  link.upload(s.d_endings.resize(graphs), views, at(graphs));
  index_t* const number = s.d_number.resize(g.n);
  index_t* const rank = s.d_rank.resize(g.n);
  offset_t* const place = s.d_place.resize(g.n);
  if (g.n > 0) {
    scan(side_op{g, side, s.d_endings.data(), number, rank, place, counts}, g.n,
         s.d_side_sums.data());
  }
  link.wait();
  auto* const to_sides = link.room<sides_view>(at(graphs));
  plan_sides(whole, counts, endings, to_sides, sides);
  const index_t children = sides.graphs();
  const index_t n = sides.first.back();
  link.upload(s.d_sides.resize(graphs), to_sides, at(graphs), sides.d_entries.resize(children),
              children);
  const split_op op{g,
                    s.d_sides.data(),
                    number,
                    rank,
                    place,
                    vertex,
                    order,
                    children,
                    n,
                    sides.d_first.resize(offset_t{children} + 1),
                    sides.d_owner.resize(n),
                    sides.d_adj.resize(sides.room),
                    sides.d_weight.resize(n),
                    next_vertex.resize(n),
                    sides.d_begin.resize(n),
                    sides.d_end.resize(n),
                    sides.d_total.resize(children),
                    sides.d_entries.data(),
                    {},
                    {}};
  launch_rows(op, g.n, sizeof(entry_sum::memory));
}

}  // namespace gsofa::orders::device

#endif
