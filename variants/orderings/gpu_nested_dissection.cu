// Nested dissection on the device: the order of cpu_nested_dissection, bit by bit, by the same
// steps on all parts of a depth of the separator tree at once. The host plans: it knows how large
// graphs are, not what is in them.

#include "variants/device/gpu_variant.hpp"

#include "common/ordering.hpp"
#include "variants/device/device_patterns.hpp"
#include "variants/device/tile_scan.hpp"
#include "variants/orderings/gpu_dissection.hpp"

#if defined(GSOFA_GPU)

namespace gsofa::gpu {

namespace {

using namespace dissection;
using orderings::dissection_settings;
using orderings::no_node;
using orderings::node;

/// A part of the pattern: positions first .. of the order hold its vertices, `above` is the first
/// position of the node above.
struct part {
  index_t first = 0;
  index_t above = no_node;
  std::uint64_t key = 0;
};

void check_limits(const dissection_settings& settings) {
  if (settings.stop != nullptr && settings.stop->load(std::memory_order_relaxed)) {
    throw cancelled_error();
  }
  if (settings.run != nullptr) settings.run->check_deadline();
}

/// Bisects all parts of one depth at once.
class bisection {
 public:
  bisection(const dissection_settings& settings, memory_budget& budget, graph_steps& graphs,
            trial_steps& trials, level_steps& levels, timeline& time)
      : settings_(settings),
        budget_(&budget),
        graphs_(&graphs),
        trials_(&trials),
        searches_(&levels),
        time_(&time) {}

  /// Finds separators of the graphs of `whole` that have more than leaf_order vertices: fills
  /// `splits`, `winner` and `weight` of endings.
  void run(int depth, const level& whole, std::span<const part> parts,
           std::span<graph_steps::ending> endings) {
    whole_ = &whole;
    room_ = orderings::room_at(depth, settings_.room);
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
        const offset_t most = orderings::most_weight(fine.total[at(g)]);
        const std::uint64_t key = parts[at(c.part)].key;
        const auto want = [&](int number, std::uint64_t chain_key, std::size_t length) {
          wanted.push_back({g, keyed_random(chain_key, orderings::matching_word, length), most});
          sources.push_back({g, number});
        };
        c.first_next = static_cast<index_t>(next_[l].size());
        const auto room_for = [&](int number) {
          next_[l].insert(next_[l].end(), at(number), none);
        };
        const auto replica_key = [&](int q) {
          return keyed_random(key, orderings::matching_word, static_cast<std::uint64_t>(-1 - q));
        };
        if (c.copy >= 0) {
          room_for(1);
          if (n > orderings::coarsest) want(c.copy, replica_key(c.copy), c.length);
        } else if (n <= orderings::coarsest) {
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
      const std::vector<index_t> kept = graphs_->coarsen(fine, wanted, coarse);
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
    if (depth >= orderings::depths_of_levels) return;
    std::vector<std::uint64_t> keys;
    for (index_t g = 0; g < whole_->graphs(); ++g) {
      if (copies_[0][at(g)].part == none || whole_->size_of(g) <= orderings::coarsest) continue;
      searched_.push_back(g);
      keys.push_back(parts[at(g)].key);
    }
    if (!searched_.empty()) searches_->search(*whole_, searched_, keys);
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
              specs.push_back({.graph = g, .key = keyed_random(key, orderings::trial_word, word)});
            }
            continue;
          }
          const copy& from = copies_[l + 1][at(below)];
          const bool shared = c.copy < 0 && c.replicas == 0;
          const index_t kept =
              std::min(from.last_trial - from.first_trial,
                       orderings::trials_kept(whole_->size_of(c.part), fine.size_of(g),
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
                           .key = orderings::level_key(parts[at(c.part)].key),
                           .stage = 2,
                           .is_level = true});
        }
        c.last_trial = static_cast<index_t>(specs.size());
      }
      if (l == 0) searches_->join();
      if (specs.empty()) continue;
      trials_->move(coarser, fine, specs, searched_.empty() ? found_levels{} : searches_->found());
      trials_->refine(fine, settings_, l);
      coarser = &fine;
    }
  }

  // How many replicas the part of a graph has that is one of them, or their common graph.
  [[nodiscard]] int replicas_of(std::size_t l, index_t g) const {
    const copy& c = copies_[l][at(g)];
    return c.copy < 0 ? c.replicas : settings_.replicas;
  }

  void choose(std::span<graph_steps::ending> endings) {
    std::vector<trial_steps::group> groups;
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
    const std::vector<trial_steps::winner> winners = trials_->best(*whole_, groups);
    for (std::size_t k = 0; k < groups.size(); ++k) {
      graph_steps::ending& e = endings[at(graphs[k])];
      e.winner = winners[k].first;
      e.weight[0] = winners[k].weight[0];
      e.weight[1] = winners[k].weight[1];
      e.splits = e.weight[0] > 0 && e.weight[1] > 0;
    }
  }

  const dissection_settings& settings_;
  memory_budget* budget_;
  graph_steps* graphs_;
  trial_steps* trials_;
  level_steps* searches_;
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

GSOFA_KERNEL void identity_kernel(index_t n, index_t* values) {
  simt::after_earlier_launches();
  for (offset_t k = offset_t{simt::block_index()} * simt::block_size() + simt::thread_index();
       k < n; k += offset_t{simt::grid_size()} * simt::block_size()) {
    values[k] = static_cast<index_t>(k);
  }
}

/// Finds the tree: appends its nodes and leaves; `order` gets the vertices by position.
void find_tree(const level& root, const dissection_settings& settings, memory_budget& budget,
               timeline& time, index_t* order, std::vector<node>& tree, std::vector<leaf>& leaves) {
  graph_steps graphs(budget);
  trial_steps trials(budget);
  level own[2]{level(budget), level(budget)};
  level_steps levels(budget);  // whose searches read the graphs until its end
  bisection bisect(settings, budget, graphs, trials, levels, time);
  growing_array<index_t> vertex(budget, "order_vertices");
  growing_array<index_t> next_vertex(budget, "order_vertices");
  const index_t n = root.first.back();
  launch_overlapping(identity_kernel, blocks_for(n), threads_per_block, 0, n, vertex.resize(n));
  std::vector<part> parts{{.first = 0, .above = no_node, .key = mix64(settings.seed + 1)}};
  std::vector<part> next;
  const level* whole = &root;
  for (int depth = 0; !parts.empty(); ++depth) {
    std::vector<graph_steps::ending> endings(parts.size());
    for (std::size_t k = 0; k < parts.size(); ++k) endings[k].position = parts[k].first;
    bisect.run(depth, *whole, parts, endings);
    time.mark("split");
    level& sides = own[depth % 2];
    graphs.split(*whole, trials.side(), endings, vertex.data(), order, sides, next_vertex);
    next.clear();
    for (std::size_t k = 0; k < parts.size(); ++k) {
      const part& p = parts[k];
      const graph_steps::ending& e = endings[k];
      const index_t last = p.first + whole->size_of(static_cast<index_t>(k));
      if (!e.splits) {
        tree.push_back({p.first, last, p.above});
        leaves.push_back({p.first, last});
        continue;
      }
      const index_t start[3] = {p.first, p.first + e.count[0], p.first + e.count[0] + e.count[1]};
      const index_t above = e.count[2] > 0 ? start[2] : p.above;
      if (e.count[2] > 0) tree.push_back({start[2], last, p.above});
      for (const int s : {0, 1}) {
        next.push_back({start[s], above, keyed_random(p.key, 0, static_cast<std::uint64_t>(s))});
      }
    }
    parts.swap(next);
    vertex.swap(next_vertex);
    whole = &sides;
  }
  std::ranges::sort(tree, {}, &node::first);
}

/// The graph of A + A^T: made on the device where the sort of its entries fits the budget, else on
/// the host.
patterns::device_pattern graph_of(const pattern_view& a, memory_budget& budget, timeline& time) {
  if (a.n_rows != a.n_cols) throw input_error("nested dissection: the pattern is not square");
  try {
    time.mark("upload");
    const patterns::device_pattern d = patterns::upload(a, budget);
    time.mark("graph");
    return patterns::symmetric_graph(d.view(), budget);
  } catch (const budget_error&) {
    time.mark("symmetrize");
    return patterns::upload(symmetrized(a, diagonal::drop), budget);
  }
}

ordering order_by_dissection(const pattern_view& a, const order_settings& settings) {
  memory_budget budget;
  const std::int64_t megabytes = settings.options.integer("memory_budget_mb");
  budget.set_limit(megabytes > 0 ? megabytes << 20 : current_limits().free_bytes / 4 * 3);
  timeline time;
  patterns::device_pattern graph = graph_of(a, budget, time);
  orderings::dissection d = dissect(graph.n, std::move(graph.row_ptr), std::move(graph.col_idx),
                                    search_of(settings), budget, time);
  ordering result;
  result.phases_s = time.finish();
  result.order = std::move(d.order);
  result.separators = std::move(d.tree);
  return result;
}

}  // namespace

namespace dissection {

dissection_settings search_of(const order_settings& settings) {
  const option_set& o = settings.options;
  return {.seed = settings.seed < 0 ? 0 : static_cast<std::uint64_t>(settings.seed),
          .tries = static_cast<int>(o.integer("tries")),
          .replicas = static_cast<int>(o.integer("replicas")),
          .room = static_cast<int>(o.integer("room")),
          .idle_moves = static_cast<index_t>(o.integer("idle_moves")),
          .stride = static_cast<int>(o.integer("stride")),
          .leaf_order = static_cast<index_t>(o.integer("leaf_order")),
          .stop = settings.stop};
}

orderings::dissection dissect(index_t rows, device_array<offset_t> row_ptr,
                              device_array<index_t> col_idx, const dissection_settings& search,
                              memory_budget& budget, timeline& time) {
  time.mark("compress");
  level root(budget);
  const orderings::vertex_classes classes =
      compress(rows, row_ptr.data(), col_idx.data(), budget, root);
  row_ptr = {};
  col_idx = {};
  const index_t n = root.first.back();
  std::vector<node> tree;
  std::vector<index_t> position(at(n));
  if (n > 0) {
    std::vector<leaf> leaves;
    device_array<index_t> order(budget, "order", n);
    find_tree(root, search, budget, time, order.data(), tree, leaves);
    time.mark("leaves");
    order_leaves(root, leaves, order.data(), budget);
    time.mark("download");
    copy_to_host(position.data(), order.data(), n);
  }
  return orderings::expand(classes, tree, std::move(position));
}

}  // namespace dissection

}  // namespace gsofa::gpu

#endif

namespace gsofa {

namespace {

ordering order_on_gpu([[maybe_unused]] const pattern_view& a,
                      [[maybe_unused]] const order_settings& settings) {
#if defined(GSOFA_GPU)
  return gpu::order_by_dissection(a, settings);
#else
  gpu::refuse();
#endif
}

}  // namespace

namespace gpu::dissection {

std::vector<option_spec> search_options() {
  return {{.name = "tries",
           .default_value = std::int64_t{4},
           .help = "initial separators of each replica",
           .minimum = 1,
           .maximum = 64,
           .tested = {"1", "3"}},
          {.name = "replicas",
           .default_value = std::int64_t{4},
           .help = "independent coarsenings of each large part",
           .minimum = 1,
           .maximum = 16,
           .tested = {"1", "5"}},
          {.name = "room",
           .default_value = std::int64_t{8},
           .help = "vertices of the separators that a level refines, by those of the part; at the "
                   "first four depths at least 4",
           .minimum = 1,
           .maximum = 64,
           .tested = {"3"}},
          {.name = "idle_moves",
           .default_value = std::int64_t{100},
           .help = "a pass over a separator ends after so many moves without gain",
           .minimum = 1,
           .maximum = 10000,
           .tested = {"10"}},
          {.name = "stride",
           .default_value = std::int64_t{2},
           .help = "separators are refined on every so many-th graph from the finest on",
           .minimum = 1,
           .maximum = 10,
           .tested = {"1"}},
          {.name = "leaf_order",
           .default_value = std::int64_t{120},
           .help = "a part with so many vertices or fewer is not dissected",
           .minimum = 1,
           .maximum = 1000,
           .tested = {"1", "7", "60", "200"}},
          memory_budget_option()};
}

}  // namespace gpu::dissection

GSOFA_REGISTER_ORDER({
    .name = "gpu_nested_dissection",
    .device = "gpu",
    .summary = "the order of cpu_nested_dissection, on a GPU",
    .citation = "George 1973; Karypis & Kumar 1998",
    .options = gpu::dissection::search_options(),
    .dissects = true,
    .preference = 3,
    .preferred_from = 20000,
    .same_as = "cpu_nested_dissection",
    .unavailable = gpu::unavailable,
    .compute = order_on_gpu,
});

}  // namespace gsofa
