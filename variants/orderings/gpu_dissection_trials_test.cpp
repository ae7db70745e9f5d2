// labels: oracle
// program: emulated
// First separators, projection and refinement on the emulator (simt.hpp), trial by trial against
// the steps of the host.
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "common/generators.hpp"
#include "common/random.hpp"
#include "variants/orderings/gpu_dissection_stages.hpp"
#include "variants/orderings/nested_dissection_stages.hpp"

using namespace gsofa;
using orders::graph;
using orders::trial;
namespace device = gsofa::orders::device;

namespace {

graph graph_of(const pattern& a) {
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
graph weighted(graph g, index_t most) {
  g.total = 0;
  for (index_t v = 0; v < g.n; ++v) {
    g.weight[at(v)] = 1 + static_cast<index_t>(mix64(at(v)) % static_cast<std::uint64_t>(most));
    g.total += g.weight[at(v)];
  }
  return g;
}

pattern complete(index_t left, index_t right) {
  pattern a;
  a.n_rows = a.n_cols = left + right;
  for (index_t i = 0; i < left + right; ++i) {
    const bool is_left = i < left;
    for (index_t j = is_left ? left : 0; j < (is_left ? left + right : left); ++j) {
      a.col_idx.push_back(j);
    }
    a.row_ptr.push_back(static_cast<offset_t>(a.col_idx.size()));
  }
  return a;
}

template <class T>
void put(device::growing_array<T>& array, const std::vector<T>& values) {
  const auto size = static_cast<offset_t>(values.size());
  gpu::copy_to_device(array.resize(size), values.data(), size);
}

// A level of graphs; graph k comes from graph parent[k] of the finer level, if that is given. Rows
// have gaps and are reversed.
void put_level(device::level& l, const std::vector<const graph*>& graphs,
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

// A graph and its coarser forms, with trials of the host.
struct chain {
  std::vector<std::unique_ptr<graph>> graphs;
  std::vector<std::unique_ptr<trial>> trials;
  std::vector<index_t> alive;
  index_t first = 0;        // of its trials on the device
  index_t graph_place = 0;  // of its graph on the level
};

chain chain_of(graph g, std::uint64_t key, index_t coarsest) {
  chain c;
  c.graphs.push_back(std::make_unique<graph>(std::move(g)));
  orders::team alone;
  orders::workspace w;
  w.crew = &alone;
  orders::scratch s;
  while (c.graphs.back()->n > coarsest) {
    const graph& fine = *c.graphs.back();
    auto next = std::make_unique<graph>();
    if (!orders::coarsen(alone, w, &s, fine, orders::most_weight(fine.total),
                         keyed_random(key, orders::matching_word, c.graphs.size()), *next)) {
      break;
    }
    c.graphs.push_back(std::move(next));
  }
  return c;
}

// How often a refinement of the host began with several movers a round.
struct coverage {
  int rounds = 0;
};

// Brings all chains up together: on every level the trials of the device are those of the host.
coverage check(std::vector<chain> chains, int tries, index_t idle_moves = 200,
               std::size_t stride = 1) {
  coverage seen;
  gpu::memory_budget budget;
  budget.set_limit(offset_t{1} << 31);
  device::host_link link;
  device::trials found_trials(budget);
  std::size_t length = 0;
  for (const chain& c : chains) length = std::max(length, c.graphs.size());
  std::vector<std::unique_ptr<device::level>> levels(length);
  orders::team alone;
  orders::scratch scratch;
  for (std::size_t l = length; l-- > 0;) {
    const int stage_up = l % 2 == 0 ? 2 : 1;
    std::vector<const graph*> graphs;
    std::vector<index_t> parent;
    std::vector<orders::trial_spec> specs;
    std::vector<trial*> host, firsts, others;
    for (std::size_t k = 0; k < chains.size(); ++k) {
      chain& c = chains[k];
      if (l >= c.graphs.size()) continue;
      c.graph_place = static_cast<index_t>(graphs.size());
      graphs.push_back(c.graphs[l].get());
      if (l > 0) parent.push_back(static_cast<index_t>(k));
      const auto first = static_cast<index_t>(specs.size());
      if (l + 1 == c.graphs.size()) {
        for (int t = 0; t < tries; ++t) {
          c.trials.push_back(std::make_unique<trial>());
          c.trials.back()->g = graphs.back();
          c.trials.back()->key = keyed_random(k + 5, orders::trial_word, at(t));
          c.alive.push_back(t);
          orders::first_cut(*c.trials.back(), scratch);
          firsts.push_back(c.trials.back().get());
          host.push_back(c.trials.back().get());
          specs.push_back({.graph = c.graph_place, .key = c.trials.back()->key});
        }
      } else {
        const auto before = static_cast<index_t>(c.alive.size());
        std::ranges::stable_sort(c.alive, {}, [&](index_t i) { return c.trials[at(i)]->cost; });
        if (l % 2 == 1) c.alive.resize((c.alive.size() + 1) / 2);
        for (std::size_t r = 0; r < c.alive.size(); ++r) {
          trial& t = *c.trials[at(c.alive[r])];
          orders::project(t, *c.graphs[l]);
          others.push_back(&t);
          host.push_back(&t);
          specs.push_back({.graph = c.graph_place,
                           .from = c.first,
                           .to = c.first + before,
                           .rank = static_cast<index_t>(r),
                           .stage = stage_up});
        }
      }
      c.first = first;
    }
    levels[l] = std::make_unique<device::level>(budget);
    put_level(*levels[l], graphs, parent);
    std::vector<orders::group> each;
    for (index_t k = 0; k < static_cast<index_t>(host.size()); ++k) each.push_back({k, k + 1});
    const auto compare = [&](const char* step) {
      CAPTURE(step);
      const auto found = device::best(link, found_trials, *levels[l], each);
      std::size_t wrong = 0;
      for (std::size_t k = 0; k < host.size(); ++k) {
        const trial& t = *host[k];
        bool same = std::ranges::equal(found[k].weight, t.weight);
        std::vector<std::uint8_t> side(at(t.g->n));
        gpu::copy_to_host(side.data(), found_trials.side() + found[k].first, t.g->n);
        same = same && side == t.side;
        if (!same) {
          ++wrong;
          CAPTURE(t.g->n);
          CAPTURE(k);
          CAPTURE(l);
          CHECK(same);
        }
      }
      REQUIRE(wrong == 0);
    };
    device::project(link, found_trials, l + 1 < length ? levels[l + 1].get() : nullptr, *levels[l],
                    specs);
    device::first_cuts(found_trials, *levels[l]);
    compare("project");
    for (const trial* t : host) {
      if (t->members.size() >= orders::members_of_rounds) ++seen.rounds;
    }
    const bool refines = l % stride == 0;
    orders::refine(alone, &scratch, firsts, orders::first_passes, idle_moves, 0);
    if (refines) {
      orders::refine(alone, &scratch, others, orders::later_passes, idle_moves,
                     static_cast<std::uint64_t>(stage_up));
    }
    device::refine(found_trials, *levels[l],
                   {.idle_moves = idle_moves, .stride = static_cast<int>(stride)}, l);
    compare("refine");
  }
  // The best of each group.
  std::vector<orders::group> groups;
  for (const chain& c : chains) {
    groups.push_back({c.first, c.first + static_cast<index_t>(c.alive.size())});
  }
  const auto found = device::best(link, found_trials, *levels[0], groups);
  for (std::size_t k = 0; k < chains.size(); ++k) {
    auto alive = chains[k].alive;
    std::ranges::stable_sort(alive, {}, [&](index_t i) { return chains[k].trials[at(i)]->cost; });
    CHECK(std::ranges::equal(found[k].weight, chains[k].trials[at(alive[0])]->weight));
  }
  return seen;
}

}  // namespace

TEST_CASE("trials of many graphs at once are those of the host") {
  std::vector<chain> chains;
  std::uint64_t key = 1;
  for (const char* spec : {
           "diagonal:n=1",
           "diagonal:n=2",
           "dense:n=2",
           "diagonal:n=40",
           "dense:n=40",
           "dense:n=150",
           "tridiagonal:n=3",
           "tridiagonal:n=400",
           "arrow:n=90",
           "arrow:n=700",
           "banded:n=200,lower=9,upper=9",
           "grid5:nx=17,ny=11",
           "grid5:nx=40,ny=3,drop=0.3,seed=2",
           "grid7:nx=7",
           "grid27:nx=8",
           "elasticity3d:nx=4,ny=4,nz=3",
           "circuit:n=450,hubs=4,supply=0.8,seed=4",
           "circuit:n=1200,hubs=3,seed=1",
           "random:n=95,degree=1,seed=1",
           "random:n=300,degree=3,seed=3",
           "random:n=260,degree=30,seed=4",
       }) {
    const graph g = graph_of(generate(spec));
    chains.push_back(chain_of(g, ++key, orders::coarsest));
    chains.push_back(chain_of(weighted(g, 9), ++key, orders::coarsest));
  }
  check(std::move(chains), 4);
}

TEST_CASE("first separators of graphs that do not fit shared memory") {
  std::vector<chain> chains;
  for (const char* spec : {"grid5:nx=21", "arrow:n=333,tip=first", "random:n=500,degree=4"}) {
    chains.push_back(chain_of(graph_of(generate(spec)), 3, 1 << 20));
  }
  chains.push_back(chain_of(graph_of(complete(70, 90)), 3, 1 << 20));
  check(std::move(chains), 3);
}

TEST_CASE("separators of large graphs are refined in rounds") {
  const auto alone = [](const char* spec, int tries, index_t most_weight, index_t idle_moves = 200,
                        std::size_t stride = 1) {
    CAPTURE(spec);
    std::vector<chain> chains;
    chains.push_back(
        chain_of(weighted(graph_of(generate(spec)), most_weight), 2, orders::coarsest));
    return check(std::move(chains), tries, idle_moves, stride).rounds;
  };
  CHECK(alone("grid27:nx=25", 1, 1) > 0);
  CHECK(alone("grid7:nx=31,drop=0.05", 1, 3, 40, 2) > 0);
  CHECK(alone("grid7:nx=17", 2, 1, 32, 3) > 0);
  CHECK(alone("banded:n=1500,lower=300,upper=300", 2, 1) > 0);
  CHECK(alone("elasticity3d:nx=12,ny=12,nz=11,wide=1", 1, 2) > 0);
  CHECK(alone("circuit:n=9000,hubs=3,seed=1", 2, 7, 20) >= 0);
}

TEST_CASE("narrow separators of large graphs move in steps") {
  std::vector<chain> chains;
  std::uint64_t key = 11;
  for (const char* spec : {"grid5:nx=36,ny=40", "grid5:nx=9,ny=150,drop=0.2,seed=3",
                           "grid7:nx=11,ny=11,nz=12", "grid9:nx=40,ny=31",
                           "circuit:n=1500,hubs=2,seed=4", "arrow:n=1300", "tridiagonal:n=1200"}) {
    const graph g = graph_of(generate(spec));
    chains.push_back(chain_of(g, ++key, orders::coarsest));
    chains.push_back(chain_of(weighted(g, 5), ++key, orders::coarsest));
  }
  check(std::move(chains), 2, 60);
}

TEST_CASE("separators that are most of a graph, and vertices too heavy for a side") {
  std::vector<chain> chains;
  for (const char* spec : {"random:n=5000,degree=6,seed=1", "random:n=4500,degree=4,seed=2"}) {
    chains.push_back(chain_of(graph_of(generate(spec)), 7, orders::coarsest));
  }
  chains.push_back(chain_of(graph_of(complete(600, 610)), 7, orders::coarsest));
  chains.push_back(
      chain_of(graph_of(generate("banded:n=1800,lower=550,upper=550")), 7, orders::coarsest));
  // Coarse graphs of one large vertex and of few, without a coarsening.
  for (const char* spec : {"arrow:n=4400", "diagonal:n=4100", "tridiagonal:n=4500"}) {
    chains.push_back(chain_of(weighted(graph_of(generate(spec)), 900), 7, 1 << 20));
  }
  CHECK(check(std::move(chains), 2).rounds > 0);
}

TEST_CASE("levels of searches of many graphs at once are those of the host") {
  std::vector<graph> graphs;
  for (const char* spec :
       {"diagonal:n=40", "tridiagonal:n=30", "tridiagonal:n=3000", "arrow:n=700", "dense:n=50",
        "grid5:nx=40", "grid5:nx=40,ny=30,drop=0.3,seed=2", "grid7:nx=12", "grid27:nx=8",
        "circuit:n=1200,hubs=3,seed=1", "random:n=300,degree=3,seed=3", "diagonal:n=1"}) {
    graphs.push_back(graph_of(generate(spec)));
    graphs.push_back(weighted(graphs.back(), 9));
  }
  // Every fifth graph is not searched.
  std::vector<const graph*> all;
  std::vector<index_t> searched;
  std::vector<std::uint64_t> keys;
  for (index_t k = 0; k < static_cast<index_t>(graphs.size()); ++k) {
    all.push_back(&graphs[at(k)]);
    if (k % 5 == 4) continue;
    searched.push_back(k);
    keys.push_back(mix64(at(k)));
  }
  gpu::memory_budget budget;
  budget.set_limit(offset_t{1} << 30);
  device::level l(budget);
  put_level(l, all, {});
  device::host_link link;
  device::search_space space(budget);
  int separators = 0;
  for (int round = 0; round < 2; ++round) {
    device::search_levels(link, space, l, searched, keys);
    device::join(space);
    std::vector<device::found_level> found(graphs.size());
    gpu::copy_to_host(found.data(), device::found(space).found,
                      static_cast<offset_t>(found.size()));
    std::vector<std::uint32_t> level(at(l.first.back()));
    gpu::copy_to_host(level.data(), device::found(space).level,
                      static_cast<offset_t>(level.size()));
    for (std::size_t k = 0; k < searched.size(); ++k) {
      const index_t i = searched[k];
      CAPTURE(i);
      trial t;
      orders::scratch s;
      const bool is = orders::level_separator(graphs[at(i)], keys[k], t, s);
      const device::found_level& f = found[at(i)];
      REQUIRE((f.is != 0) == is);
      if (!is) continue;
      ++separators;
      CHECK(f.cost == t.cost);
      CHECK(std::ranges::equal(f.weight, t.weight));
      std::vector<std::uint8_t> side;
      for (index_t v = l.first[at(i)]; v < l.first[at(i) + 1]; ++v) {
        const std::uint32_t own = level[at(v)];
        side.push_back(own == f.level  ? orders::separator
                       : own < f.level ? orders::side_a
                                       : orders::side_b);
      }
      CHECK(side == t.side);
    }
  }
  CHECK(separators > 16);
}
