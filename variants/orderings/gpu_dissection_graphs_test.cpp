// labels: oracle
// program: emulated
// The graphs and leaves of nested dissection on the device, on the emulator (simt.hpp), against the
// steps of the host or definitions.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "common/generators.hpp"
#include "common/random.hpp"
#include "variants/orderings/gpu_dissection_stages.hpp"
#include "variants/orderings/nested_dissection_stages.hpp"

using namespace gsofa;
using orders::graph;
namespace device = gsofa::orders::device;

namespace {

gpu::memory_budget budget_of_tests() {
  gpu::memory_budget budget;
  budget.set_limit(offset_t{1} << 30);
  return budget;
}

// Symmetric patterns without diagonal.
std::vector<pattern> subjects() {
  std::vector<pattern> out;
  for (const char* spec : {"diagonal:n=0",
                           "diagonal:n=1",
                           "diagonal:n=2",
                           "diagonal:n=70",
                           "dense:n=2",
                           "dense:n=30",
                           "tridiagonal:n=61",
                           "tridiagonal:n=300",
                           "arrow:n=60",
                           "arrow:n=90,tip=first",
                           "arrow:n=700",
                           "banded:n=90,lower=7,upper=7",
                           "grid5:nx=17,ny=11",
                           "grid5:nx=9",
                           "grid5:nx=40,ny=3,drop=0.3,seed=2",
                           "grid7:nx=7",
                           "grid9:nx=12",
                           "grid15:nx=5",
                           "grid27:nx=5",
                           "elasticity3d:nx=3,ny=4,nz=3",
                           "circuit:n=200,hubs=3,seed=1",
                           "circuit:n=450,hubs=4,supply=0.8,seed=4",
                           "circuit:n=90,seed=5",
                           "random:n=95,degree=1,seed=1",
                           "random:n=150,degree=2,seed=2",
                           "random:n=99,degree=5,seed=3",
                           "random:n=260,degree=9,seed=4",
                           "circuit:n=300,degree=1,drop=0.4,seed=5",
                           "random:n=64,degree=20,seed=6",
                           "columns:columns=2,stages=8,components=3"}) {
    out.push_back(symmetrized(generate(spec), diagonal::drop));
  }
  return out;
}

graph graph_of(const pattern& s) {
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

// A finest level of graphs whose edges have weight 1.
void put_graphs(device::level& l, const std::vector<graph>& graphs) {
  std::vector<index_t> owner, adj, weight;
  std::vector<offset_t> begin, end, entries;
  l.first.assign(1, 0);
  l.total.clear();
  l.weighted = false;
  for (const graph& g : graphs) {
    const index_t first = l.first.back();
    for (index_t v = 0; v < g.n; ++v) {
      owner.push_back(static_cast<index_t>(l.total.size()));
      weight.push_back(g.weight[at(v)]);
      adj.push_back(-7);  // a gap
      begin.push_back(static_cast<offset_t>(adj.size()));
      for (const index_t u : g.row(v)) adj.push_back(first + u);
      end.push_back(static_cast<offset_t>(adj.size()));
    }
    entries.push_back(g.entries);
    l.total.push_back(g.total);
    l.first.push_back(first + g.n);
  }
  l.room = static_cast<offset_t>(adj.size());
  put(l.d_first, l.first);
  put(l.d_owner, owner);
  put(l.d_adj, adj);
  put(l.d_weight, weight);
  put(l.d_begin, begin);
  put(l.d_end, end);
  put(l.d_total, l.total);
  put(l.d_entries, entries);
}

// The graphs of a level, with sorted rows; from_finer from the map.
std::vector<graph> graphs_of(const device::level& l) {
  if (l.graphs() == 0) return {};
  const index_t n = l.first.back();
  CHECK(values_of(l.d_first, l.graphs() + 1) == l.first);
  CHECK(values_of(l.d_total, l.graphs()) == l.total);
  const auto owner = values_of(l.d_owner, n);
  const auto begin = values_of(l.d_begin, n);
  const auto end = values_of(l.d_end, n);
  const auto weight = values_of(l.d_weight, n);
  const auto adj = values_of(l.d_adj, l.room);
  const auto edge = l.weighted ? values_of(l.d_edge, l.room) : std::vector<index_t>(at(l.room), 1);
  const auto entries = values_of(l.d_entries, l.graphs());
  std::vector<index_t> map;
  if (!l.parent.empty()) {
    CHECK(values_of(l.d_parent, l.graphs()) == l.parent);
    CHECK(values_of(l.d_map_first, l.graphs() + 1) == l.map_first);
    map = values_of(l.d_map, l.map_first.back());
  }
  std::vector<graph> out;
  for (index_t i = 0; i < l.graphs(); ++i) {
    graph g;
    const index_t first = l.first[at(i)];
    g.n = l.size_of(i);
    g.total = l.total[at(i)];
    g.entries = entries[at(i)];
    for (index_t v = first; v < first + g.n; ++v) {
      CHECK(owner[at(v)] == i);
      g.weight.push_back(weight[at(v)]);
      std::vector<std::pair<index_t, index_t>> row;
      REQUIRE(begin[at(v)] >= 0);
      REQUIRE(end[at(v)] <= l.room);
      for (offset_t e = begin[at(v)]; e < end[at(v)]; ++e) {
        row.emplace_back(adj[at(e)] - first, edge[at(e)]);
      }
      std::ranges::sort(row);
      g.begin.push_back(static_cast<offset_t>(g.adj.size()));
      for (const auto& [u, w] : row) {
        g.adj.push_back(u);
        g.edge.push_back(w);
      }
      g.end.push_back(static_cast<offset_t>(g.adj.size()));
    }
    if (!l.parent.empty()) {
      for (offset_t k = l.map_first[at(i)]; k < l.map_first[at(i) + 1]; ++k) {
        g.from_finer.push_back(map[at(k)] - first);
      }
    }
    out.push_back(std::move(g));
  }
  return out;
}

bool same(const graph& found, const graph& expected) {
  if (found.n != expected.n || found.total != expected.total || found.entries != expected.entries) {
    return false;
  }
  for (index_t v = 0; v < found.n; ++v) {
    if (found.weight[at(v)] != expected.weight[at(v)]) return false;
    const auto row = [&](const graph& g) {
      std::vector<std::pair<index_t, index_t>> r;
      for (offset_t e = g.begin[at(v)]; e < g.end[at(v)]; ++e) {
        r.emplace_back(g.adj[at(e)], g.edge[at(e)]);
      }
      std::ranges::sort(r);
      return r;
    };
    if (row(found) != row(expected)) return false;
  }
  return true;
}

// Coarsens graphs with several keys each, level by level, on host and device.
void check_coarsening(const std::vector<graph>& finest, std::uint64_t seed) {
  gpu::memory_budget budget = budget_of_tests();
  device::host_link link;
  device::coarsening_space space(budget);
  device::level fine(budget);
  device::level coarse(budget);
  put_graphs(fine, finest);
  std::vector<graph> expected_fine = finest;
  orders::team crew;
  orders::workspace w;
  w.per_thread.resize(1);
  for (int depth = 0; depth < 5; ++depth) {
    std::vector<orders::coarsening> wanted;
    std::vector<index_t> places;
    std::vector<graph> expected;
    for (index_t i = 0; i < fine.graphs(); ++i) {
      const int copies = depth == 0 ? i % 3 : 1;
      for (int copy = 0; copy < copies; ++copy) {
        const graph& g = expected_fine[at(i)];
        const std::uint64_t key = keyed_random(seed, static_cast<std::uint64_t>(depth),
                                               static_cast<std::uint64_t>(3 * i + copy));
        const offset_t most = copy == 1 ? 2 + depth : orders::most_weight(g.total);
        graph next;
        if (orders::coarsen(crew, w, w.per_thread.data(), g, most, key, next)) {
          places.push_back(static_cast<index_t>(wanted.size()));
          expected.push_back(std::move(next));
        }
        wanted.push_back({i, key, most});
      }
    }
    CHECK(device::coarsen(link, space, fine, wanted, coarse) == places);
    const std::vector<graph> found = graphs_of(coarse);
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      CAPTURE(depth);
      CAPTURE(i);
      CHECK(coarse.parent[i] == wanted[at(places[i])].parent);
      CHECK(found[i].from_finer == expected[i].from_finer);
      CHECK(same(found[i], expected[i]));
    }
    if (expected.empty()) return;
    std::swap(expected_fine, expected);
    // A level is not moved: its arrays are.
    std::swap(fine.first, coarse.first);
    std::swap(fine.total, coarse.total);
    std::swap(fine.parent, coarse.parent);
    std::swap(fine.map_first, coarse.map_first);
    std::swap(fine.room, coarse.room);
    std::swap(fine.weighted, coarse.weighted);
    fine.d_first.swap(coarse.d_first);
    fine.d_owner.swap(coarse.d_owner);
    fine.d_adj.swap(coarse.d_adj);
    fine.d_edge.swap(coarse.d_edge);
    fine.d_weight.swap(coarse.d_weight);
    fine.d_begin.swap(coarse.d_begin);
    fine.d_end.swap(coarse.d_end);
    fine.d_total.swap(coarse.d_total);
    fine.d_entries.swap(coarse.d_entries);
  }
}

// What compress() gives, by its definition.
struct compression {
  orders::vertex_classes classes;
  graph g;
};

compression compression_of(const pattern& s) {
  compression c;
  std::vector<bool> hub(at(s.n_rows));
  for (index_t v = 0; v < s.n_rows; ++v) {
    if (s.row(v).empty()) c.classes.isolated.push_back(v);
  }
  const auto others = s.n_rows - static_cast<index_t>(c.classes.isolated.size());
  for (index_t v = 0; v < s.n_rows; ++v) {
    hub[at(v)] = orders::is_hub(static_cast<offset_t>(s.row(v).size()), others);
    if (hub[at(v)]) c.classes.hubs.push_back(v);
  }
  std::map<std::vector<index_t>, index_t> known;
  std::vector<std::vector<index_t>> members;
  std::vector<index_t> id(at(s.n_rows), -1);
  for (index_t v = 0; v < s.n_rows; ++v) {
    if (hub[at(v)] || s.row(v).empty()) continue;
    std::vector<index_t> closed{v};
    for (const index_t u : s.row(v)) {
      if (!hub[at(u)]) closed.push_back(u);
    }
    std::ranges::sort(closed);
    const auto [place, is_new] = known.try_emplace(closed, static_cast<index_t>(members.size()));
    if (is_new) members.emplace_back();
    members[at(place->second)].push_back(v);
    id[at(v)] = place->second;
  }
  c.classes.member_start.push_back(0);
  graph& g = c.g;
  for (const auto& own : members) {
    const auto i = g.n++;
    c.classes.members.insert(c.classes.members.end(), own.begin(), own.end());
    c.classes.member_start.push_back(static_cast<index_t>(c.classes.members.size()));
    g.weight.push_back(static_cast<index_t>(own.size()));
    g.total += g.weight.back();
    g.begin.push_back(static_cast<offset_t>(g.adj.size()));
    std::vector<index_t> row;
    for (const index_t u : s.row(own[0])) {
      if (id[at(u)] >= 0 && id[at(u)] != i) row.push_back(id[at(u)]);
    }
    std::ranges::sort(row);
    row.erase(std::unique(row.begin(), row.end()), row.end());
    g.adj.insert(g.adj.end(), row.begin(), row.end());
    g.end.push_back(static_cast<offset_t>(g.adj.size()));
  }
  g.edge.assign(g.adj.size(), 1);
  g.entries = static_cast<offset_t>(g.adj.size());
  return c;
}

void check_compression(const pattern& s) {
  gpu::memory_budget budget = budget_of_tests();
  device::level l(budget);
  const gpu::device_array<offset_t> row_ptr(budget, "pattern", s.n_rows + offset_t{1});
  const gpu::device_array<index_t> col_idx(budget, "pattern", s.nnz());
  gpu::copy_to_device(row_ptr.data(), s.row_ptr.data(), s.n_rows + offset_t{1});
  gpu::copy_to_device(col_idx.data(), s.col_idx.data(), s.nnz());
  const auto found = device::compress(s.n_rows, row_ptr.data(), col_idx.data(), budget, l);
  const compression expected = compression_of(s);
  CHECK(found.hubs == expected.classes.hubs);
  CHECK(found.isolated == expected.classes.isolated);
  if (expected.g.n == s.n_rows) {
    CHECK(found.member_start.empty());
    CHECK(found.members.empty());
  } else {
    CHECK(found.members == expected.classes.members);
    CHECK(found.member_start == expected.classes.member_start);
  }
  REQUIRE(l.graphs() == 1);
  CHECK(same(graphs_of(l)[0], expected.g));
  const index_t n = l.first.back();
  const auto begin = values_of(l.d_begin, n);
  const auto end = values_of(l.d_end, n);
  const auto adj = values_of(l.d_adj, l.room);
  bool ascending = true;
  for (index_t v = 0; v < n; ++v) {
    ascending = ascending && std::is_sorted(adj.begin() + begin[at(v)], adj.begin() + end[at(v)]);
  }
  CHECK(ascending);
}

// Splits some of the graphs at random sides.
void check_splitting(const std::vector<graph>& graphs, std::uint64_t seed) {
  gpu::memory_budget budget = budget_of_tests();
  device::host_link link;
  device::splitting_space space(budget);
  device::level whole(budget);
  device::level sides(budget);
  device::growing_array<index_t> next_vertex(budget, "vertices");
  put_graphs(whole, graphs);
  const index_t n = whole.first.back();
  random_source random(seed);
  std::vector<device::ending> endings;
  std::vector<std::uint8_t> side;
  std::vector<index_t> vertex(at(n));
  std::iota(vertex.begin(), vertex.end(), 1000);
  std::ranges::reverse(vertex);
  std::vector<index_t> order(at(n), -1);
  std::vector<index_t> expected_order(at(n), -1);
  std::vector<index_t> expected_vertex;
  std::vector<graph> expected;
  std::vector<std::array<index_t, 3>> expected_count;
  index_t position = n;
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    const graph& g = graphs[i];
    position -= g.n;  // positions are not in the order of the graphs
    device::ending e{random.below(4) != 0, side.size(), {0, 0}, position, {0, 0, 0}};
    std::vector<std::uint8_t> own(at(g.n), 0);
    if (e.splits) {
      const std::uint64_t kind = random.below(4);
      for (auto& s : own) s = static_cast<std::uint8_t>(kind == 3 ? 1 : random.below(kind + 1));
      side.insert(side.end(), own.begin(), own.end());
      side.push_back(77);
    }
    index_t next = position;
    graph children[2];
    std::vector<index_t> local(at(g.n));
    std::array<index_t, 3> count{0, 0, 0};
    for (std::uint8_t s = 0; s < 3; ++s) {
      for (index_t v = 0; v < g.n; ++v) {
        if (own[at(v)] != s) continue;
        local[at(v)] = count[s]++;
        expected_order[at(next++)] = vertex[at(whole.first[i] + v)];
      }
    }
    expected_count.push_back(count);
    for (std::uint8_t s = 0; s < 2 && e.splits; ++s) {
      graph& h = children[s];
      for (index_t v = 0; v < g.n; ++v) {
        if (own[at(v)] != s) continue;
        ++h.n;
        h.total += g.weight[at(v)];
        h.weight.push_back(g.weight[at(v)]);
        expected_vertex.push_back(vertex[at(whole.first[i] + v)]);
        h.begin.push_back(h.entries);
        for (const index_t u : g.row(v)) {
          if (own[at(u)] == s) h.adj.push_back(local[at(u)]);
        }
        h.entries = static_cast<offset_t>(h.adj.size());
        h.end.push_back(h.entries);
      }
      h.edge.assign(h.adj.size(), 1);
      e.weight[s] = h.total;
      expected.push_back(std::move(h));
    }
    endings.push_back(e);
  }
  device::growing_array<std::uint8_t> d_side(budget, "sides");
  device::growing_array<index_t> d_vertex(budget, "vertices");
  device::growing_array<index_t> d_order(budget, "order");
  put(d_side, side);
  put(d_vertex, vertex);
  put(d_order, order);
  device::split(link, space, whole, d_side.data(), endings, d_vertex.data(), d_order.data(), sides,
                next_vertex);
  CHECK(values_of(d_order, n) == expected_order);
  const auto found = graphs_of(sides);
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(same(found[i], expected[i]));
  CHECK(values_of(next_vertex, sides.first.back()) == expected_vertex);
  for (std::size_t i = 0; i < endings.size(); ++i) {
    CHECK(std::equal(endings[i].count, endings[i].count + 3, expected_count[i].begin()));
  }
}

// Orders leaves of up to `most` vertices in an order that keeps neighbours together or, if mixed,
// does not.
void check_leaves(const pattern& s, index_t most, bool mixed, std::uint64_t seed) {
  gpu::memory_budget budget = budget_of_tests();
  device::level l(budget);
  const graph g = graph_of(s);
  put_graphs(l, {g});
  random_source random(seed);
  std::vector<index_t> order(at(g.n));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t k = order.size(); mixed && k > 1; --k) {
    std::swap(order[k - 1], order[random.below(k)]);
  }
  std::vector<device::leaf> leaves;
  for (index_t first = 0; first < g.n;) {
    const auto size = static_cast<index_t>(random.below(static_cast<std::uint64_t>(most) + 1));
    const index_t last = std::min(g.n, first + size);
    leaves.push_back({first, last});
    first = last + static_cast<index_t>(random.below(3));
  }
  device::growing_array<index_t> d_order(budget, "order");
  put(d_order, order);
  device::order_leaves(l, leaves, d_order.data(), budget);
  orders::scratch scratch;
  scratch.local.assign(at(g.n), -1);
  for (const device::leaf& own : leaves) {
    orders::order_leaf(g, std::span(order).subspan(at(own.first), at(own.last - own.first)),
                       scratch);
  }
  CHECK(values_of(d_order, g.n) == order);
}

}  // namespace

TEST_CASE("compression on the device finds hubs and classes") {
  for (const pattern& s : subjects()) {
    CAPTURE(s.n_rows);
    CAPTURE(s.nnz());
    check_compression(s);
  }
}

TEST_CASE("coarsening on the device is that of the host") {
  std::vector<graph> small;
  std::vector<graph> all;
  for (const pattern& s : subjects()) {
    all.push_back(graph_of(s));
    if (s.n_rows <= 100) small.push_back(graph_of(s));
    const compression c = compression_of(s);
    all.push_back(c.g);
    if (c.g.n <= 100) small.push_back(c.g);
  }
  for (const std::uint64_t seed : {1U, 2U}) {
    CAPTURE(seed);
    check_coarsening(small, seed);
    check_coarsening(all, seed);
    std::ranges::reverse(small);
    std::ranges::reverse(all);
  }
  check_coarsening({}, 3);
}

TEST_CASE("splitting on the device gives the subgraphs of the sides") {
  std::vector<graph> all;
  for (const pattern& s : subjects()) {
    all.push_back(graph_of(s));
    all.push_back(compression_of(s).g);
  }
  for (const std::uint64_t seed : {1U, 2U, 3U}) check_splitting(all, seed);
  check_splitting({graph_of(generate("diagonal:n=0"))}, 4);
  check_splitting({}, 5);
}

TEST_CASE("leaves on the device are ordered as on the host") {
  for (const pattern& s : subjects()) {
    CAPTURE(s.n_rows);
    CAPTURE(s.nnz());
    check_leaves(s, 40, false, 1);
    check_leaves(s, 70, true, 2);
  }
  // A halo with more vertices than count, and leaves too large for minimum fill.
  const auto dense = symmetrized(generate("random:n=2600,degree=60,seed=1"), diagonal::drop);
  check_leaves(dense, 50, true, 3);
  const auto wide = symmetrized(generate("random:n=5000,degree=4,seed=1"), diagonal::drop);
  check_leaves(wide, 5000, true, 4);
}
