// One separator of one graph: coarsen, replicate, try, and uncoarsen as a tournament.

#include <algorithm>

#include "variants/orderings/nested_dissection_stages.hpp"

namespace gsofa::orders {

bisector::bisector(team& crew, const dissection_settings& settings) : settings_(settings) {
  lead(crew);
  settings_.replicas = std::max(1, settings_.replicas);
  settings_.tries = std::max(1, settings_.tries);
  settings_.stride = std::max(1, settings_.stride);
  replica_space_.resize(at(settings_.replicas));
  replicas_.resize(at(settings_.replicas));
  alive_.resize(at(settings_.replicas));
  graphs_.resize(at(settings_.replicas) + 1);
}

void bisector::lead(team& crew) {
  space_.crew = &crew;
  space_.per_thread.resize(std::max(space_.per_thread.size(), at(crew.size())));
}

graph& bisector::level_graph(std::size_t copy, std::size_t level) {
  auto& own = graphs_[copy];
  while (own.size() <= level) own.push_back(std::make_unique<graph>());
  return *own[level];
}

index_t bisector::keep(index_t n, int copies) const {
  return trials_kept(shared_[0]->n, n, copies, room_at(depth_, settings_.room));
}

// Adds a coarser graph to the levels of one copy.
bool bisector::extend(team& crew, workspace& w, scratch* per_thread, chain& levels,
                      std::uint64_t key, std::size_t copy) {
  const graph& fine = *levels.back();
  if (fine.n <= coarsest) return false;
  const offset_t most = most_weight(fine.total);
  const std::uint64_t level_key = keyed_random(key, matching_word, levels.size());
  graph& next = level_graph(copy, levels.size() - 1);
  if (!coarsen(crew, w, per_thread, fine, most, level_key, next)) return false;
  levels.push_back(&next);
  return true;
}

// The levels above the replicas: down to a graph of which as many copies have no more vertices
// than g.
void bisector::coarsen_shared(const graph& g, std::uint64_t key) {
  shared_.assign(1, &g);
  while (offset_t{shared_.back()->n} * settings_.replicas > g.n &&
         extend(*space_.crew, space_, space_.per_thread.data(), shared_, key, 0)) {
  }
}

void bisector::coarsen_replicas(std::uint64_t key) {
  const bool several = shared_.back()->n > coarsest &&
                       offset_t{shared_.back()->n} * settings_.replicas <= shared_[0]->n;
  const int copies = several ? settings_.replicas : 1;
  for (auto& levels_of : replicas_) levels_of.clear();
  for (int q = 0; q < copies; ++q) replicas_[at(q)].assign(1, shared_.back());
  if (several) coarsen_replicas(*space_.crew, 0, key, 0, copies);
}

// Those from `first` to last - 1, by a team whose first thread is number `leader`. Teams of several
// threads for each copy where there are as many.
void bisector::coarsen_replicas(team& crew, int leader, std::uint64_t key, int first, int last) {
  const int copies = last - first;
  if (copies > 1 && crew.size() >= 2 * copies) {
    const int middle = first + copies / 2;
    const int threads = crew.size() * (middle - first) / copies;
    crew.split(threads, [&](team& part, int k) {
      k == 0 ? coarsen_replicas(part, leader, key, first, middle)
             : coarsen_replicas(part, leader + threads, key, middle, last);
    });
    return;
  }
  const auto coarsen_one = [&](team& own_crew, int thread, int q) {
    const std::uint64_t own_key =
        keyed_random(key, matching_word, static_cast<std::uint64_t>(-1 - q));
    while (extend(own_crew, replica_space_[at(q)], &space_.per_thread[at(thread)], replicas_[at(q)],
                  own_key, at(q) + 1)) {
    }
  };
  if (copies == 1) return coarsen_one(crew, leader, first);
  team alone;
  crew.items(copies, [&](int thread, offset_t q) {
    coarsen_one(alone, leader + thread, first + static_cast<int>(q));
  });
}

void bisector::first_tries(std::uint64_t key) {
  std::size_t used = 0;
  active_.clear();
  for (std::size_t q = 0; q < replicas_.size(); ++q) {
    alive_[q].clear();
    if (replicas_[q].empty()) continue;
    for (int t = 0; t < settings_.tries; ++t, ++used) {
      if (used == trials_.size()) trials_.push_back(std::make_unique<trial>());
      trial& own = *trials_[used];
      own.g = replicas_[q].back();
      own.key = keyed_random(key, trial_word, used);
      alive_[q].push_back(static_cast<index_t>(used));
      active_.push_back(&own);
    }
  }
  space_.crew->items(static_cast<offset_t>(used), [&](int thread, offset_t i) {
    first_cut(*active_[at(i)], space_.per_thread[at(thread)]);
  });
  refine(*space_.crew, per_thread(), active_, first_passes, settings_.idle_moves, 0);
}

// Brings the replicas to their common graph, level by level; the best trials stay.
void bisector::uncoarsen_replicas() {
  const auto copies =
      static_cast<int>(std::ranges::count_if(replicas_, [](const chain& c) { return !c.empty(); }));
  std::vector<trial*> refined;
  for (;;) {
    active_.clear();
    refined.clear();
    std::vector<const graph*> target;
    for (std::size_t q = 0; q < replicas_.size(); ++q) {
      if (replicas_[q].size() < 2) continue;
      replicas_[q].pop_back();
      auto& alive = alive_[q];
      std::ranges::stable_sort(alive, {}, [&](index_t i) { return trials_[at(i)]->cost; });
      alive.resize(std::min(alive.size(), at(keep(replicas_[q].back()->n, copies))));
      for (const index_t i : alive) {
        active_.push_back(trials_[at(i)].get());
        target.push_back(replicas_[q].back());
        if (refines(shared_.size() + replicas_[q].size() - 2)) {
          refined.push_back(trials_[at(i)].get());
        }
      }
    }
    if (active_.empty()) return;
    space_.crew->items(static_cast<offset_t>(active_.size()),
                       [&](int, offset_t i) { project(*active_[at(i)], *target[at(i)]); });
    refine(*space_.crew, per_thread(), refined, later_passes, settings_.idle_moves, 1);
  }
}

// On the part itself the level is refined, too, if it is better than all others are before they are
// refined there.
bool bisector::competes(const trial& best) const {
  return has_level_ && cost_function(shared_[0]->total).takes_level(level_.weight, best.weight);
}

// Ranks the trials of all replicas together and brings the best to the finest graph.
void bisector::uncoarsen_shared() {
  std::vector<index_t> alive;
  for (const auto& own : alive_) alive.insert(alive.end(), own.begin(), own.end());
  std::ranges::stable_sort(alive, {}, [&](index_t i) { return trials_[at(i)]->cost; });
  for (;;) {
    shared_.pop_back();
    if (shared_.empty()) break;
    alive.resize(std::min(alive.size(), at(keep(shared_.back()->n, 1))));
    active_.clear();
    for (const index_t i : alive) active_.push_back(trials_[at(i)].get());
    space_.crew->items(static_cast<offset_t>(active_.size()),
                       [&](int, offset_t i) { project(*active_[at(i)], *shared_.back()); });
    if (shared_.size() == 1) {
      has_level_ = competes(*trials_[at(alive[0])]);
      if (has_level_) active_.push_back(&level_);
    }
    if (refines(shared_.size() - 1)) {
      refine(*space_.crew, per_thread(), active_, later_passes, settings_.idle_moves, 2);
    }
    std::ranges::stable_sort(alive, {}, [&](index_t i) { return trials_[at(i)]->cost; });
  }
  std::swap(trials_[0], trials_[at(alive[0])]);
  if (has_level_ && cost_function(level_.g->total).takes_level(level_.weight, trials_[0]->weight)) {
    std::swap(*trials_[0], level_);
  }
}

bool bisector::bisect(const graph& g, std::uint64_t key, int depth) {
  depth_ = depth;
  coarsen_shared(g, key);
  const auto coarse_separators = [&] {
    coarsen_replicas(key);
    first_tries(key);
    uncoarsen_replicas();
  };
  // Of the parts of the first depths one thread looks for a level that separates, beside the
  // others.
  has_level_ = false;
  const bool searches = depth_ < depths_of_levels && shared_.size() > 1;
  const auto search = [&] { has_level_ = level_separator(g, key, level_, level_space_); };
  team& all = *space_.crew;
  if (searches && all.size() > 1) {
    all.split(1, [&](team& part, int k) {
      if (k == 0) return search();
      lead(part);
      coarse_separators();
    });
    lead(all);
  } else {
    if (searches) search();
    coarse_separators();
  }
  uncoarsen_shared();
  return best().weight[side_a] > 0 && best().weight[side_b] > 0;
}

}  // namespace gsofa::orders
