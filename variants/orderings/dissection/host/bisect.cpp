// One separator of one graph on host threads: the stages of bisection<>, for one part.

#include "variants/orderings/dissection/bisect.hpp"

#include <algorithm>
#include <numeric>

#include "variants/orderings/dissection/host/stages.hpp"

namespace gsofa::orders {

namespace {

dissection_settings at_least_one(dissection_settings s) {
  s.replicas = std::max(1, s.replicas);
  s.tries = std::max(1, s.tries);
  s.stride = std::max(1, s.stride);
  s.leaf_order = 0;  // who calls bisect() wants a separator
  return s;
}

}  // namespace

/// Graphs and trials of the part, as bisection<> needs them.
struct bisector::stages {
  stages(team& crew, const dissection_settings& own) : settings(own) {
    lead(crew);
    replica_space.resize(at(settings.replicas));
  }
  void lead(team& crew) {
    space.crew = &crew;
    space.per_thread.resize(std::max(space.per_thread.size(), at(crew.size())));
  }
  void begin(const graph& g) {
    if (levels.empty()) levels.emplace_back();
    levels[0].assign(1, &g);
    release(active);
    has_level = false;
  }

  [[nodiscard]] const graph& at_level(std::size_t l, index_t g) const { return *levels[l][at(g)]; }
  [[nodiscard]] index_t graphs(std::size_t l) const {
    return static_cast<index_t>(levels[l].size());
  }
  [[nodiscard]] index_t size_of(std::size_t l, index_t g) const { return at_level(l, g).n; }
  [[nodiscard]] offset_t total(std::size_t l, index_t g) const { return at_level(l, g).total; }
  void check_limits() const {}  // between parts

  void search(std::span<const index_t>, std::span<const std::uint64_t> keys) { key = keys[0]; }
  // One thread looks for a level that separates while the other threads run body().
  template <class Body>
  void beside(bool searches, Body&& body) {
    const graph& whole = at_level(0, 0);  // body() appends to `levels`
    const auto find = [&] { has_level = level_separator(whole, key, level, level_space); };
    team& all = *space.crew;
    if (!searches || all.size() == 1) {
      if (searches) find();
      return body();
    }
    all.split(1, [&](team& half, int k) {
      if (k == 0) return find();
      lead(half);
      body();
    });
    lead(all);
  }

  std::vector<index_t> coarsen(std::size_t l, std::span<const coarsening> wanted) {
    check_stop(settings);
    const auto count = static_cast<int>(wanted.size());
    if (levels.size() <= l + 1) levels.resize(l + 2);
    if (own_graphs.size() <= l) own_graphs.resize(l + 1);
    auto& own = own_graphs[l];
    while (own.size() < wanted.size()) own.push_back(std::make_unique<graph>());
    std::vector<std::uint8_t> shrunk(wanted.size(), 0);
    coarsen_some(*space.crew, 0, 0, count, [&](team& crew, int leader, int k) {
      const coarsening& c = wanted[at(k)];
      workspace& w = count == 1 ? space : replica_space[at(k)];
      shrunk[at(k)] = orders::coarsen(crew, w, &space.per_thread[at(leader)], at_level(l, c.parent),
                                      c.most, c.key, *own[at(k)])
                          ? 1
                          : 0;
    });
    std::vector<index_t> places;
    levels[l + 1].clear();
    for (index_t k = 0; k < count; ++k) {
      if (shrunk[at(k)] == 0) continue;
      places.push_back(k);
      levels[l + 1].push_back(own[at(k)].get());
    }
    return places;
  }
  // Coarsenings `first` to last - 1, by a team whose first thread is number `leader`: by teams of
  // several threads each where there are as many.
  template <class One>
  void coarsen_some(team& crew, int leader, int first, int last, const One& one) {
    const int count = last - first;
    if (count == 1) return one(crew, leader, first);
    if (crew.size() >= 2 * count) {
      const int middle = first + count / 2;
      const int threads = crew.size() * (middle - first) / count;
      return crew.split(threads, [&](team& half, int k) {
        k == 0 ? coarsen_some(half, leader, first, middle, one)
               : coarsen_some(half, leader + threads, middle, last, one);
      });
    }
    team alone;
    crew.items(count, [&](int thread, offset_t k) {
      one(alone, leader + thread, first + static_cast<int>(k));
    });
  }

  // The trials of the level, in the order of the specs.
  void project(std::size_t, std::size_t l, std::span<const trial_spec> specs) {
    std::vector<entry> next;
    for (const trial_spec& s : specs) {
      const graph& g = at_level(l, s.graph);
      const bool first = s.from >= s.to;
      entry own{nullptr, &g, s.stage, first};
      if (first) {
        own.t = take();
        own.t->g = &g;
        own.t->key = s.key;
      } else if (s.is_level) {
        const trial& best = *active[at(ranked(s.from, s.to)[0])].t;
        has_level = has_level && cost_function(g.total).takes_level(level.weight, best.weight);
        if (has_level) own.t = &level;
      } else {
        own.t = active[at(ranked(s.from, s.to)[at(s.rank)])].t;
      }
      next.push_back(own);
    }
    for (const entry& old : active) {
      if (std::ranges::find(next, old.t, &entry::t) == next.end()) release(old.t);
    }
    active = std::move(next);
    space.crew->items(static_cast<offset_t>(active.size()), [&](int thread, offset_t i) {
      const entry& own = active[at(i)];
      if (own.t == nullptr || own.t == &level) return;
      if (own.first) return first_cut(*own.t, space.per_thread[at(thread)]);
      orders::project(*own.t, *own.g);
    });
  }
  void refine(std::size_t l) {
    check_stop(settings);
    const bool all = l % static_cast<std::size_t>(settings.stride) == 0;
    for (int stage = 0; stage < (all ? 3 : 1); ++stage) {
      std::vector<trial*> own;
      for (const entry& e : active) {
        if (e.stage == stage && e.t != nullptr) own.push_back(e.t);
      }
      orders::refine(*space.crew, space.per_thread.data(), own,
                     stage == 0 ? first_passes : later_passes, settings.idle_moves,
                     static_cast<std::uint64_t>(stage));
    }
  }
  // The best of the part's trials.
  [[nodiscard]] trial& best(const group& of) {
    trial& found = *active[at(ranked(of.from, of.to - of.with_level)[0])].t;
    const bool takes = of.with_level != 0 && has_level &&
                       cost_function(level.g->total).takes_level(level.weight, found.weight);
    return takes ? level : found;
  }

  // Trials from .. to - 1 by their costs, ties in their order.
  [[nodiscard]] std::vector<index_t> ranked(index_t from, index_t to) const {
    std::vector<index_t> order(at(to - from));
    std::iota(order.begin(), order.end(), from);
    std::ranges::stable_sort(order, {}, [&](index_t i) { return active[at(i)].t->cost; });
    return order;
  }

  struct entry {
    trial* t;  // nullptr: no level of a search is good enough
    const graph* g;
    int stage;
    bool first;  // a first separator
  };
  trial* take() {
    if (free.empty()) {
      trials.push_back(std::make_unique<trial>());
      return trials.back().get();
    }
    trial* const t = free.back();
    free.pop_back();
    return t;
  }
  void release(trial* t) {
    if (t != nullptr && t != &level) free.push_back(t);
  }
  void release(std::vector<entry>& of) {
    for (const entry& e : of) release(e.t);
    of.clear();
  }

  const dissection_settings& settings;
  workspace space;
  std::vector<workspace> replica_space;
  std::vector<std::vector<const graph*>> levels;
  std::vector<std::vector<std::unique_ptr<graph>>> own_graphs;  // by level from 1 on
  std::vector<std::unique_ptr<trial>> trials;
  std::vector<trial*> free;
  std::vector<entry> active;  // trials of the level
  std::uint64_t key = 0;
  trial level;  // a level of a search of the part
  scratch level_space;
  bool has_level = false;
};

struct bisector::state {
  state(team& crew, const dissection_settings& own)
      : settings(at_least_one(own)), of_part(crew, settings), plan(settings, of_part) {}

  dissection_settings settings;
  stages of_part;
  bisection<stages> plan;
  flow_space flow;
};

bisector::bisector(team& crew, const dissection_settings& settings)
    : state_(std::make_unique<state>(crew, settings)) {}
bisector::~bisector() = default;

void bisector::lead(team& crew) { state_->of_part.lead(crew); }
team& bisector::crew() const { return *state_->of_part.space.crew; }

bool bisector::bisect(const graph& g, std::uint64_t key, int depth, bool through_hubs) {
  state_->of_part.space.meets_in_hubs = through_hubs;
  for (workspace& w : state_->of_part.replica_space) w.meets_in_hubs = through_hubs;
  state_->of_part.begin(g);
  const std::span<const group> groups = state_->plan.run(depth, {&key, 1});
  if (groups.empty()) return false;
  trial& best = state_->of_part.best(groups[0]);
  best_ = &best;
  if (best.weight[side_a] <= 0 || best.weight[side_b] <= 0) return false;
  if (depth < state_->settings.flows) minimum_separator(best, state_->flow);
  return true;
}

}  // namespace gsofa::orders
