#pragma once

// Separators of all parts of one depth of the tree at once: coarsen, replicate, try, and uncoarsen
// as a tournament. The host plans: it knows how large graphs are, not what is in them. Device form
// of nested_dissection_bisect.cpp.

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "variants/device/timeline.hpp"
#include "variants/orderings/gpu_dissection_stages.hpp"

#if defined(GSOFA_GPU)

namespace gsofa::orders::device {

/// A part of the pattern: positions first .. of the order hold its vertices, `above` is the first
/// position of the node above.
struct part {
  index_t first = 0;
  index_t above = no_node;
  std::uint64_t key = 0;
};

inline void check_limits(const dissection_settings& settings) {
  if (settings.stop != nullptr && settings.stop->load(std::memory_order_relaxed)) {
    throw cancelled_error();
  }
  if (settings.run != nullptr) settings.run->check_deadline();
}

/// Bisects all parts of one depth at once.
class bisection {
 public:
  bisection(const dissection_settings& settings, memory_budget& budget, host_link& link,
            coarsening_space& graphs, trials& trials, search_space& levels, timeline& time)
      : settings_(settings),
        budget_(&budget),
        link_(&link),
        graphs_(&graphs),
        trials_(&trials),
        searches_(&levels),
        time_(&time) {}

  /// Finds separators of the graphs of `whole` that have more than leaf_order vertices: fills
  /// `splits`, `winner` and `weight` of endings.
  void run(int depth, const level& whole, std::span<const part> parts, std::span<ending> endings) {
    whole_ = &whole;
    room_ = room_at(depth, settings_.room);
    plan(0);
    for (index_t i = 0; i < whole.graphs(); ++i) {
      const bool bisects = whole.size_of(i) > std::max<index_t>(1, settings_.leaf_order);
      copies_[0].push_back({.part = bisects ? i : none});
    }
    time_->mark("coarsen");
    search_levels(depth, parts);
    coarsen(parts);
    time_->mark("separate");
    separate(parts);
    choose(endings);
  }

 private:
  static constexpr index_t none = -1;

  // A graph of a level: a coarser form of a part that all trials share (copy -1), or one replica's.
  // Levels of one chain have keys by their number in the chain.
  struct copy {
    index_t part = none;
    int copy = -1;
    std::size_t length = 1;  // of its chain up to here
    // Of the chain's next graph, or of a shared graph the replicas' next ones: graphs of the
    // coarser level. 0 replicas: the next one is shared as well.
    int replicas = 0;
    index_t first_next = 0;  // in next_ of its level
    index_t first_trial = 0, last_trial = 0;
  };

  // Which copy of which graph a coarsening is for.
  struct source {
    index_t graph;
    int copy;
  };

  level& level_at(std::size_t l) {
    while (levels_.size() <= l) levels_.push_back(std::make_unique<level>(*budget_));
    return *levels_[l];
  }
  [[nodiscard]] const level& graphs_of(std::size_t l) const {
    return l == 0 ? *whole_ : *levels_[l];
  }

  // Empties the plan of a level.
  void plan(std::size_t l) {
    if (copies_.size() <= l) {
      copies_.resize(l + 1);
      next_.resize(l + 1);
    }
    copies_[l].clear();
    next_[l].clear();
    depth_ = l + 1;
  }

  void coarsen(std::span<const part> parts) {
    for (std::size_t l = 0;; ++l) {
      check_limits(settings_);
      const level& fine = graphs_of(l);
      std::vector<coarsening>& wanted = wanted_;
      std::vector<source>& sources = sources_;
      wanted.clear();
      sources.clear();
      for (index_t g = 0; g < fine.graphs(); ++g) {
        copy& c = copies_[l][at(g)];
        if (c.part == none) continue;
        const index_t n = fine.size_of(g);
        const index_t whole = whole_->size_of(c.part);
        const offset_t most = most_weight(fine.total[at(g)]);
        const std::uint64_t key = parts[at(c.part)].key;
        const auto want = [&](int number, std::uint64_t chain_key, std::size_t length) {
          wanted.push_back({g, keyed_random(chain_key, matching_word, length), most});
          sources.push_back({g, number});
        };
        c.first_next = static_cast<index_t>(next_[l].size());
        const auto room_for = [&](int number) {
          next_[l].insert(next_[l].end(), at(number), none);
        };
        const auto replica_key = [&](int q) {
          return keyed_random(key, matching_word, static_cast<std::uint64_t>(-1 - q));
        };
        if (c.copy >= 0) {
          room_for(1);
          if (n > coarsest) want(c.copy, replica_key(c.copy), c.length);
        } else if (n <= coarsest) {
          c.replicas = 1;
          room_for(1);
        } else if (offset_t{n} * settings_.replicas > whole) {
          room_for(1);
          want(-1, key, c.length);
        } else {
          c.replicas = settings_.replicas;
          room_for(c.replicas);
          for (int q = 0; q < c.replicas; ++q) want(q, replica_key(q), 1);
        }
      }
      if (wanted.empty()) return;
      level& coarse = level_at(l + 1);
      const std::vector<index_t> kept = device::coarsen(*link_, *graphs_, fine, wanted, coarse);
      plan(l + 1);
      for (const index_t k : kept) {
        const source& s = sources[at(k)];
        copy& from = copies_[l][at(s.graph)];
        next_[l][at(from.first_next + (from.replicas > 0 ? s.copy : 0))] =
            static_cast<index_t>(copies_[l + 1].size());
        const bool begins = from.copy < 0 && s.copy >= 0;
        copies_[l + 1].push_back(
            {.part = from.part, .copy = s.copy, .length = begins ? 2 : from.length + 1});
      }
      // A graph that all share and that did not shrink is the only replica's.
      for (copy& c : copies_[l]) {
        if (c.part != none && c.copy < 0 && c.replicas == 0 && next_[l][at(c.first_next)] == none) {
          c.replicas = 1;
        }
      }
      if (kept.empty()) return;
    }
  }

  // Of the parts of the first depths a level of a search is one more trial, but for those that are
  // not coarsened. The device searches beside the coarsening.
  void search_levels(int depth, std::span<const part> parts) {
    searched_.clear();
    if (depth >= depths_of_levels) return;
    std::vector<std::uint64_t> keys;
    for (index_t g = 0; g < whole_->graphs(); ++g) {
      if (copies_[0][at(g)].part == none || whole_->size_of(g) <= coarsest) continue;
      searched_.push_back(g);
      keys.push_back(parts[at(g)].key);
    }
    if (!searched_.empty()) device::search_levels(*link_, *searches_, *whole_, searched_, keys);
  }

  // First separators on the coarsest graph of each chain, then up, level by level: the best trials
  // of each chain, and from the replicas' common graph on of all replicas, stay.
  void separate(std::span<const part> parts) {
    std::erase_if(searched_, [&](index_t g) { return copies_[0][at(g)].replicas > 0; });
    const level* coarser = nullptr;
    std::vector<trial_spec>& specs = specs_;
    for (std::size_t l = depth_; l-- > 0;) {
      check_limits(settings_);
      if (copies_[l].empty()) continue;
      const level& fine = graphs_of(l);
      specs.clear();
      for (index_t g = 0; g < fine.graphs(); ++g) {
        copy& c = copies_[l][at(g)];
        if (c.part == none) continue;
        c.first_trial = static_cast<index_t>(specs.size());
        const int number = c.copy < 0 && c.replicas > 0 ? c.replicas : 1;
        for (int q = 0; q < number; ++q) {
          const int replica = c.copy < 0 ? q : c.copy;
          const index_t below = next_[l][at(c.first_next + q)];
          if (below == none) {
            const std::uint64_t key = parts[at(c.part)].key;
            for (int t = 0; t < settings_.tries; ++t) {
              const auto word = static_cast<std::uint64_t>(replica * settings_.tries + t);
              specs.push_back({.graph = g, .key = keyed_random(key, trial_word, word)});
            }
            continue;
          }
          const copy& from = copies_[l + 1][at(below)];
          const bool shared = c.copy < 0 && c.replicas == 0;
          const index_t kept = std::min(from.last_trial - from.first_trial,
                                        trials_kept(whole_->size_of(c.part), fine.size_of(g),
                                                    shared ? 1 : replicas_of(l, g), room_));
          for (index_t r = 0; r < kept; ++r) {
            specs.push_back({.graph = g,
                             .from = from.first_trial,
                             .to = from.last_trial,
                             .rank = r,
                             .stage = shared ? 2 : 1});
          }
        }
        if (l == 0 && std::ranges::binary_search(searched_, g)) {
          const copy& from = copies_[1][at(next_[0][at(c.first_next)])];
          specs.push_back({.graph = g,
                           .from = from.first_trial,
                           .to = from.last_trial,
                           .key = level_key(parts[at(c.part)].key),
                           .stage = 2,
                           .is_level = true});
        }
        c.last_trial = static_cast<index_t>(specs.size());
      }
      if (l == 0) join(*searches_);
      if (specs.empty()) continue;
      project(*link_, *trials_, coarser, fine, specs,
              searched_.empty() ? found_levels{} : found(*searches_));
      first_cuts(*trials_, fine);
      refine(*trials_, fine, settings_, l);
      coarser = &fine;
    }
  }

  // How many replicas the part of a graph has that is one of them, or their common graph.
  [[nodiscard]] int replicas_of(std::size_t l, index_t g) const {
    const copy& c = copies_[l][at(g)];
    return c.copy < 0 ? c.replicas : settings_.replicas;
  }

  void choose(std::span<ending> endings) {
    std::vector<group> groups;
    std::vector<index_t> graphs;
    for (index_t g = 0; g < whole_->graphs(); ++g) {
      const copy& c = copies_[0][at(g)];
      endings[at(g)].splits = false;
      if (c.part == none) continue;
      groups.push_back({.from = c.first_trial,
                        .to = c.last_trial,
                        .with_level = std::ranges::binary_search(searched_, g) ? 1 : 0});
      graphs.push_back(g);
    }
    if (groups.empty()) return;
    const std::vector<winner> winners = best(*link_, *trials_, *whole_, groups);
    for (std::size_t k = 0; k < groups.size(); ++k) {
      ending& e = endings[at(graphs[k])];
      e.winner = winners[k].first;
      e.weight[0] = winners[k].weight[0];
      e.weight[1] = winners[k].weight[1];
      e.splits = e.weight[0] > 0 && e.weight[1] > 0;
    }
  }

  const dissection_settings& settings_;
  memory_budget* budget_;
  host_link* link_;
  coarsening_space* graphs_;
  trials* trials_;
  search_space* searches_;
  timeline* time_;
  const level* whole_ = nullptr;
  int room_ = 1;
  std::vector<std::unique_ptr<level>> levels_;  // from 1 on
  std::size_t depth_ = 0;                       // levels
  std::vector<std::vector<copy>> copies_;       // by level and graph
  std::vector<std::vector<index_t>> next_;      // by level: graphs of the next one, or none
  std::vector<coarsening> wanted_;
  std::vector<source> sources_;
  std::vector<trial_spec> specs_;
  std::vector<index_t> searched_;  // parts, ascending
};

}  // namespace gsofa::orders::device

#endif
