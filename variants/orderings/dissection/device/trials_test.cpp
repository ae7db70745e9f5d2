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
#include "variants/orderings/dissection/test_graphs.hpp"

using namespace gsofa;
using orders::graph;
using orders::trial;

namespace {

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

// A graph and its coarser forms, with trials of the host.
struct trial_chain {
  std::vector<std::unique_ptr<graph>> graphs;
  std::vector<std::unique_ptr<trial>> trials;
  std::vector<index_t> alive;
  index_t first = 0;        // of its trials on the device
  index_t graph_place = 0;  // of its graph on the level
};

trial_chain chain_of(graph g, std::uint64_t key, index_t coarsest) {
  trial_chain c;
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
struct seen_passes {
  int rounds = 0;
};

// Brings all chains up together: on every level the trials of the device are those of the host.
seen_passes check_chains(std::vector<trial_chain> chains, int tries, index_t idle_moves = 200,
                         std::size_t stride = 1) {
  seen_passes seen;
  gpu::memory_budget budget;
  budget.set_limit(offset_t{1} << 31);
  orders::device::host_link link;
  orders::device::trials found_trials(budget);
  std::size_t length = 0;
  for (const trial_chain& c : chains) length = std::max(length, c.graphs.size());
  std::vector<std::unique_ptr<orders::device::level>> levels(length);
  orders::team alone;
  orders::scratch scratch;
  for (std::size_t l = length; l-- > 0;) {
    const int stage_up = l % 2 == 0 ? 2 : 1;
    std::vector<const graph*> graphs;
    std::vector<index_t> parent;
    std::vector<orders::trial_spec> specs;
    std::vector<trial*> host, firsts, others;
    for (std::size_t k = 0; k < chains.size(); ++k) {
      trial_chain& c = chains[k];
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
    levels[l] = std::make_unique<orders::device::level>(budget);
    orders::test::put_level(*levels[l], graphs, parent);
    std::vector<orders::group> each;
    for (index_t k = 0; k < static_cast<index_t>(host.size()); ++k) each.push_back({k, k + 1});
    const auto compare = [&](const char* step) {
      CAPTURE(step);
      const auto found = orders::device::best(link, found_trials, *levels[l], each);
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
    orders::device::project(link, found_trials, l + 1 < length ? levels[l + 1].get() : nullptr,
                            *levels[l], specs);
    orders::device::first_cuts(found_trials, *levels[l]);
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
    orders::device::refine(found_trials, *levels[l],
                           {.idle_moves = idle_moves, .stride = static_cast<int>(stride)}, l);
    compare("refine");
  }
  // The best of each group.
  std::vector<orders::group> groups;
  for (const trial_chain& c : chains) {
    groups.push_back({c.first, c.first + static_cast<index_t>(c.alive.size())});
  }
  const auto found = orders::device::best(link, found_trials, *levels[0], groups);
  for (std::size_t k = 0; k < chains.size(); ++k) {
    auto alive = chains[k].alive;
    std::ranges::stable_sort(alive, {}, [&](index_t i) { return chains[k].trials[at(i)]->cost; });
    CHECK(std::ranges::equal(found[k].weight, chains[k].trials[at(alive[0])]->weight));
  }
  return seen;
}

}  // namespace

TEST_CASE("trials of many graphs at once are those of the host") {
  std::vector<trial_chain> chains;
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
    const graph g = orders::test::graph_of(generate(spec));
    chains.push_back(chain_of(g, ++key, orders::coarsest));
    chains.push_back(chain_of(orders::test::weighted(g, 9), ++key, orders::coarsest));
  }
  check_chains(std::move(chains), 4);
}

TEST_CASE("first separators of graphs that do not fit shared memory") {
  std::vector<trial_chain> chains;
  for (const char* spec : {"grid5:nx=21", "arrow:n=333,tip=first", "random:n=500,degree=4"}) {
    chains.push_back(chain_of(orders::test::graph_of(generate(spec)), 3, 1 << 20));
  }
  chains.push_back(chain_of(orders::test::graph_of(complete(70, 90)), 3, 1 << 20));
  check_chains(std::move(chains), 3);
}

TEST_CASE("separators of large graphs are refined in rounds") {
  const auto alone = [](const char* spec, int tries, index_t most_weight, index_t idle_moves = 200,
                        std::size_t stride = 1) {
    CAPTURE(spec);
    std::vector<trial_chain> chains;
    chains.push_back(
        chain_of(orders::test::weighted(orders::test::graph_of(generate(spec)), most_weight), 2,
                 orders::coarsest));
    return check_chains(std::move(chains), tries, idle_moves, stride).rounds;
  };
  CHECK(alone("grid27:nx=25", 1, 1) > 0);
  CHECK(alone("grid7:nx=31,drop=0.05", 1, 3, 40, 2) > 0);
  CHECK(alone("grid7:nx=17", 2, 1, 32, 3) > 0);
  CHECK(alone("banded:n=1500,lower=300,upper=300", 2, 1) > 0);
  CHECK(alone("elasticity3d:nx=12,ny=12,nz=11,wide=1", 1, 2) > 0);
  CHECK(alone("circuit:n=9000,hubs=3,seed=1", 2, 7, 20) >= 0);
}

TEST_CASE("narrow separators of large graphs move in steps") {
  std::vector<trial_chain> chains;
  std::uint64_t key = 11;
  for (const char* spec : {"grid5:nx=36,ny=40", "grid5:nx=9,ny=150,drop=0.2,seed=3",
                           "grid7:nx=11,ny=11,nz=12", "grid9:nx=40,ny=31",
                           "circuit:n=1500,hubs=2,seed=4", "arrow:n=1300", "tridiagonal:n=1200"}) {
    const graph g = orders::test::graph_of(generate(spec));
    chains.push_back(chain_of(g, ++key, orders::coarsest));
    chains.push_back(chain_of(orders::test::weighted(g, 5), ++key, orders::coarsest));
  }
  check_chains(std::move(chains), 2, 60);
}

TEST_CASE("separators that are most of a graph, and vertices too heavy for a side") {
  std::vector<trial_chain> chains;
  for (const char* spec : {"random:n=5000,degree=6,seed=1", "random:n=4500,degree=4,seed=2"}) {
    chains.push_back(chain_of(orders::test::graph_of(generate(spec)), 7, orders::coarsest));
  }
  chains.push_back(chain_of(orders::test::graph_of(complete(600, 610)), 7, orders::coarsest));
  chains.push_back(chain_of(orders::test::graph_of(generate("banded:n=1800,lower=550,upper=550")),
                            7, orders::coarsest));
  // Coarse graphs of one large vertex and of few, without a coarsening.
  for (const char* spec : {"arrow:n=4400", "diagonal:n=4100", "tridiagonal:n=4500"}) {
    chains.push_back(
        chain_of(orders::test::weighted(orders::test::graph_of(generate(spec)), 900), 7, 1 << 20));
  }
  CHECK(check_chains(std::move(chains), 2).rounds > 0);
}
