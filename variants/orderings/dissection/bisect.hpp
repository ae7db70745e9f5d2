#pragma once

// Separators of parts, one part on the host, all parts of a depth of the tree on a device: coarsen,
// replicate, try, and uncoarsen as a tournament. This is the plan, which knows how large graphs
// are, not what is in them; the stages do the work.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "variants/orderings/dissection/arithmetic.hpp"
#include "variants/orderings/dissection/nested_dissection.hpp"

namespace gsofa::orders {

/// One graph to be made from graph `parent` of the finer level by one matching.
struct coarsening {
  index_t parent;
  std::uint64_t key;  ///< of the matching's hashes
  offset_t most;      ///< weight that a coarse vertex may have
};

/// A trial on a level: a first separator, or the rank-th best (from 0) of trials from .. to - 1 of
/// the coarser level, projected to this level. The lower number wins ties.
struct trial_spec {
  index_t graph;     ///< of this level
  index_t from = 0;  ///< in the trials of the coarser level
  index_t to = 0;    ///< from == to: a first separator
  index_t rank = 0;
  std::uint64_t key = 0;  ///< of a first separator; others keep theirs
  int stage = 0;  ///< 0: first separator, 8 passes; 1: of replicas, 2: of the shared levels, 6
  /// Instead of the rank-th best the level of a search, if it is better than the best is before its
  /// refinement; key is its own.
  bool is_level = false;
};

/// Trials from .. to - 1.
struct group {
  index_t from, to;
  index_t with_level = 0;  ///< 1: the last one is the level of a search, taken if much better
  index_t unused = 0;
};

/// Finds separators of parts by `Stages`, which have graphs and trials by level, level 0 being the
/// parts:
///   index_t graphs(l), size_of(l, graph); offset_t total(l, graph)
///   void check_limits()                   throws if the run was cancelled or its time is up
///   void search(parts, keys)              starts to look for levels that separate
///   vector<index_t> coarsen(l, wanted)    makes the graphs of level l + 1; returns the places in
///                                         `wanted` of the graphs that have shrunk
///   void beside(bool searches, body)      calls body(), during the search if `searches`
///   void project(coarser, l, specs)       makes the trials of level l; coarser: the level
///                                         of the present trials, or no_level
///   void refine(l)                        refines them
template <class Stages>
class bisection {
 public:
  static constexpr std::size_t no_level = ~std::size_t{0};

  bisection(const dissection_settings& settings, Stages& stages)
      : settings_(settings), stages_(stages) {}

  /// Finds the trials of the parts with more than leaf_order vertices; returns one group for each
  /// of them. depth: of the parts in the tree.
  std::span<const group> run(int depth, std::span<const std::uint64_t> keys) {
    keys_ = keys;
    room_ = room_at(depth, settings_.room);
    coarser_ = no_level;
    plan(0);
    for (index_t g = 0; g < stages_.graphs(0); ++g) {
      const index_t n = stages_.size_of(0, g);
      const bool bisects =
          n > 1 && (n > settings_.leaf_order || stages_.total(0, g) > settings_.leaf_weight);
      copies_[0].push_back({.part = bisects ? g : none});
    }
    search(depth);
    std::size_t l = 0;
    while (coarsen(l) && !replicates_) ++l;
    // Parts that are not coarsened have no level of a search.
    std::erase_if(searched_,
                  [&](index_t g) { return next_[0][at(copies_[0][at(g)].first_next)] == none; });
    stages_.beside(!searched_.empty(), [&] {
      while (depth_ > l + 1 && coarsen(++l)) {
      }
      for (std::size_t k = depth_; k-- > 1;) separate(k);
    });
    separate(0);
    return groups();
  }
  /// The part of each group.
  [[nodiscard]] std::span<const index_t> parts() const { return parts_; }

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

  // Which replica of which graph a coarsening is for.
  struct source {
    index_t graph;
    int copy;
  };

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

  // At the first depths, the level that a search finds is one more trial of each part, except the
  // parts that are not coarsened.
  void search(int depth) {
    searched_.clear();
    if (depth >= depths_of_levels) return;
    std::vector<std::uint64_t> keys;
    for (index_t g = 0; g < stages_.graphs(0); ++g) {
      if (copies_[0][at(g)].part == none || stages_.size_of(0, g) <= coarsest) continue;
      searched_.push_back(g);
      keys.push_back(keys_[at(g)]);
    }
    if (!searched_.empty()) stages_.search(searched_, keys);
  }

  // The coarsenings of graph g of level l: none, that of a graph that all trials share, or those of
  // the replicas.
  void want(std::size_t l, index_t g) {
    copy& c = copies_[l][at(g)];
    const index_t n = stages_.size_of(l, g);
    const index_t whole = stages_.size_of(0, c.part);
    const std::uint64_t key = keys_[at(c.part)];
    const auto add = [&](int number, std::uint64_t chain_key, std::size_t length) {
      wanted_.push_back(
          {g, keyed_random(chain_key, matching_word, length), most_weight(stages_.total(l, g))});
      sources_.push_back({g, number});
    };
    c.first_next = static_cast<index_t>(next_[l].size());
    const auto room_for = [&](int number) { next_[l].insert(next_[l].end(), at(number), none); };
    const auto replica_key = [&](int q) {
      return keyed_random(key, matching_word, static_cast<std::uint64_t>(-1 - q));
    };
    if (c.copy >= 0) {
      room_for(1);
      if (n > coarsest) add(c.copy, replica_key(c.copy), c.length);
    } else if (n <= coarsest) {
      c.replicas = 1;
      room_for(1);
    } else if (offset_t{n} * settings_.replicas > whole) {
      room_for(1);
      add(-1, key, c.length);
    } else {
      c.replicas = settings_.replicas;
      room_for(c.replicas);
      for (int q = 0; q < c.replicas; ++q) add(q, replica_key(q), 1);
    }
  }

  // Makes level l + 1; false if no graph has shrunk.
  bool coarsen(std::size_t l) {
    stages_.check_limits();
    wanted_.clear();
    sources_.clear();
    for (index_t g = 0; g < stages_.graphs(l); ++g) {
      if (copies_[l][at(g)].part != none) want(l, g);
    }
    replicates_ = std::ranges::any_of(sources_, [](const source& s) { return s.copy >= 0; });
    if (wanted_.empty()) return false;
    const std::vector<index_t> kept = stages_.coarsen(l, wanted_);
    plan(l + 1);
    give_up_large(l, kept);
    for (const index_t k : kept) {
      const source& s = sources_[at(k)];
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
    return !kept.empty();
  }

  // Parts with a large graph of level l that did not shrink get no trials. kept: places of the
  // graphs that did, ascending.
  void give_up_large(std::size_t l, std::span<const index_t> kept) {
    std::vector<std::uint8_t> is_given_up(copies_[0].size(), 0);
    bool any = false;
    for (std::size_t k = 0; k < sources_.size(); ++k) {
      if (stages_.size_of(l, sources_[k].graph) <= largest_first_cut) continue;
      if (std::ranges::binary_search(kept, static_cast<index_t>(k))) continue;
      is_given_up[at(copies_[l][at(sources_[k].graph)].part)] = 1;
      any = true;
    }
    if (!any) return;
    for (std::size_t k = 0; k <= l; ++k) {  // levels above are those of an earlier run
      for (copy& c : copies_[k]) {
        if (c.part != none && is_given_up[at(c.part)] != 0) c.part = none;
      }
    }
  }

  // First separators on the coarsest graph of each chain; else the best trials of the chain, and
  // from the replicas' common graph on of all replicas, stay.
  void separate(std::size_t l) {
    stages_.check_limits();
    specs_.clear();
    for (index_t g = 0; g < static_cast<index_t>(copies_[l].size()); ++g) {
      copy& c = copies_[l][at(g)];
      if (c.part == none) continue;
      c.first_trial = static_cast<index_t>(specs_.size());
      const int number = c.copy < 0 && c.replicas > 0 ? c.replicas : 1;
      for (int q = 0; q < number; ++q) {
        const index_t below = next_[l][at(c.first_next + q)];
        if (below == none) {
          try_first(g, c, c.copy < 0 ? q : c.copy);
        } else {
          keep_best(l, g, copies_[l + 1][at(below)]);
        }
      }
      if (l == 0 && std::ranges::binary_search(searched_, g)) {
        const copy& from = copies_[1][at(next_[0][at(c.first_next)])];
        specs_.push_back({.graph = g,
                          .from = from.first_trial,
                          .to = from.last_trial,
                          .key = level_key(keys_[at(c.part)]),
                          .stage = 2,
                          .is_level = true});
      }
      c.last_trial = static_cast<index_t>(specs_.size());
    }
    if (specs_.empty()) return;
    stages_.project(coarser_, l, specs_);
    stages_.refine(l);
    coarser_ = l;
  }
  void try_first(index_t g, const copy& c, int replica) {
    for (int t = 0; t < settings_.tries; ++t) {
      const auto word = static_cast<std::uint64_t>(replica * settings_.tries + t);
      specs_.push_back({.graph = g, .key = keyed_random(keys_[at(c.part)], trial_word, word)});
    }
  }
  void keep_best(std::size_t l, index_t g, const copy& from) {
    const copy& c = copies_[l][at(g)];
    const bool shared = c.copy < 0 && c.replicas == 0;
    const int copies = shared ? 1 : c.copy < 0 ? c.replicas : settings_.replicas;
    const index_t kept =
        std::min(from.last_trial - from.first_trial,
                 trials_kept(stages_.size_of(0, c.part), stages_.size_of(l, g), copies, room_));
    for (index_t r = 0; r < kept; ++r) {
      specs_.push_back({.graph = g,
                        .from = from.first_trial,
                        .to = from.last_trial,
                        .rank = r,
                        .stage = shared ? 2 : 1});
    }
  }

  std::span<const group> groups() {
    groups_.clear();
    parts_.clear();
    for (index_t g = 0; g < stages_.graphs(0); ++g) {
      const copy& c = copies_[0][at(g)];
      if (c.part == none) continue;
      groups_.push_back({.from = c.first_trial,
                         .to = c.last_trial,
                         .with_level = std::ranges::binary_search(searched_, g) ? 1 : 0});
      parts_.push_back(g);
    }
    return groups_;
  }

  const dissection_settings& settings_;
  Stages& stages_;
  std::span<const std::uint64_t> keys_;  // by part
  int room_ = 1;
  bool replicates_ = false;                 // the level made last has replicas
  std::size_t depth_ = 0;                   // levels
  std::size_t coarser_ = no_level;          // of the trials so far
  std::vector<std::vector<copy>> copies_;   // by level and graph
  std::vector<std::vector<index_t>> next_;  // by level: graphs of the next one, or none
  std::vector<coarsening> wanted_;
  std::vector<source> sources_;
  std::vector<trial_spec> specs_;
  std::vector<index_t> searched_;  // parts, ascending
  std::vector<group> groups_;
  std::vector<index_t> parts_;
};

}  // namespace gsofa::orders
