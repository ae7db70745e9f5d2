// Nested dissection on the device: the order of cpu_nested_dissection, bit by bit, by the same
// steps on all parts of a depth of the separator tree at once. The host plans: it knows how large
// graphs are, not what is in them.

#include "variants/device/gpu_variant.hpp"

#include <functional>
#include <numeric>
#include <optional>

#include "common/ordering.hpp"
#include "common/parallel.hpp"
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
/// position of the node above. first < 0: a part of another search.
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
            trial_steps& trials, timeline& time)
      : settings_(settings), budget_(&budget), graphs_(&graphs), trials_(&trials), time_(&time) {}

  /// Finds separators of the parts of this search that have more than leaf_order vertices: fills
  /// `splits`, `winner` and `weight` of endings.
  void run(const level& whole, std::span<const part> parts,
           std::span<graph_steps::ending> endings) {
    whole_ = &whole;
    plan(0);
    for (index_t i = 0; i < whole.graphs(); ++i) {
      const bool bisects =
          parts[at(i)].first >= 0 && whole.size_of(i) > std::max<index_t>(1, settings_.leaf_order);
      copies_[0].push_back({.part = bisects ? i : none});
    }
    time_->mark("coarsen");
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

  // First separators on the coarsest graph of each chain, then up, level by level: the best trials
  // of each chain, and from the replicas' common graph on of all replicas, stay.
  void separate(std::span<const part> parts) {
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
                                              shared ? 1 : replicas_of(l, g), settings_.room));
          for (index_t r = 0; r < kept; ++r) {
            specs.push_back({.graph = g,
                             .from = from.first_trial,
                             .to = from.last_trial,
                             .rank = r,
                             .stage = shared ? 2 : 1});
          }
        }
        c.last_trial = static_cast<index_t>(specs.size());
      }
      if (specs.empty()) continue;
      trials_->move(coarser, fine, specs);
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
      groups.push_back({c.first_trial, c.last_trial});
      graphs.push_back(g);
    }
    if (groups.empty()) return;
    const std::vector<trial_steps::winner> winners = trials_->best(groups);
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
  timeline* time_;
  const level* whole_ = nullptr;
  std::vector<std::unique_ptr<level>> levels_;  // from 1 on
  std::size_t depth_ = 0;                       // levels
  std::vector<std::vector<copy>> copies_;       // by level and graph
  std::vector<std::vector<index_t>> next_;      // by level: graphs of the next one, or none
  std::vector<coarsening> wanted_;
  std::vector<source> sources_;
  std::vector<trial_spec> specs_;
};

GSOFA_KERNEL void identity_kernel(index_t n, index_t* values) {
  simt::after_earlier_launches();
  for (offset_t k = offset_t{simt::block_index()} * simt::block_size() + simt::thread_index();
       k < n; k += offset_t{simt::grid_size()} * simt::block_size()) {
    values[k] = static_cast<index_t>(k);
  }
}

/// What is found below some parts: nodes of the tree in any order, and its leaves.
struct found_tree {
  std::vector<node> nodes;
  std::vector<leaf> leaves;

  void append(const found_tree& o) {
    nodes.insert(nodes.end(), o.nodes.begin(), o.nodes.end());
    leaves.insert(leaves.end(), o.leaves.begin(), o.leaves.end());
  }
};

/// Finds what is below some parts, a depth at a time.
class search {
 public:
  /// order: gets the vertices of leaves and separators by position.
  search(const dissection_settings& settings, memory_budget& budget, timeline& time, int desk,
         index_t* order)
      : settings_(settings),
        budget_(&budget),
        time_(&time),
        order_(order),
        own_{level(budget), level(budget)},
        vertex_(budget, "order_vertices"),
        next_vertex_(budget, "order_vertices"),
        desk_(desk) {}

  /// Parts of the graphs of `g`; vertex[v]: the vertex of the pattern that v of g is. Those whose
  /// `first` is negative are left out.
  void begin(const level& g, const index_t* vertex, std::vector<part> parts) {
    graphs_ = &g;
    vertices_ = vertex;
    parts_ = std::move(parts);
    prepare();
  }
  [[nodiscard]] const level& graphs() const { return *graphs_; }
  [[nodiscard]] const index_t* vertices() const { return vertices_; }
  [[nodiscard]] const std::vector<part>& parts() const { return parts_; }
  [[nodiscard]] const found_tree& found() const { return found_; }

  /// Bisects all parts; their sides are the next ones.
  void step() {
    prepare();
    std::vector<graph_steps::ending> endings(parts_.size());
    for (std::size_t k = 0; k < parts_.size(); ++k) endings[k].position = parts_[k].first;
    work_->bisect.run(*graphs_, parts_, endings);
    time_->mark("split");
    level& sides = own_[depth_++ % 2];
    work_->graphs.split(*graphs_, work_->trials.side(), endings, vertices_, order_, sides,
                        next_vertex_);
    next_.clear();
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      if (parts_[k].first < 0) continue;
      end(parts_[k], parts_[k].first + graphs_->size_of(static_cast<index_t>(k)), endings[k]);
    }
    parts_.swap(next_);
    vertex_.swap(next_vertex_);
    vertices_ = vertex_.data();
    graphs_ = &sides;
  }
  void run() {
    while (!parts_.empty()) step();
  }
  /// Gives back what lasts from step to step only, and waits for the device.
  void rest() {
    work_.reset();
    synchronize();
  }

 private:
  struct work {
    work(const dissection_settings& settings, memory_budget& budget, timeline& time, int desk)
        : graphs(budget, desk),
          trials(budget, desk),
          bisect(settings, budget, graphs, trials, time) {}
    graph_steps graphs;
    trial_steps trials;
    bisection bisect;
  };

  void prepare() {
    if (!work_) work_.emplace(settings_, *budget_, *time_, desk_);
  }
  // The part p, of positions up to `last`, becomes a node and two parts, or a leaf.
  void end(const part& p, index_t last, const graph_steps::ending& e) {
    if (!e.splits) {
      found_.nodes.push_back({p.first, last, p.above});
      found_.leaves.push_back({p.first, last});
      return;
    }
    const index_t start[3] = {p.first, p.first + e.count[0], p.first + e.count[0] + e.count[1]};
    const index_t above = e.count[2] > 0 ? start[2] : p.above;
    if (e.count[2] > 0) found_.nodes.push_back({start[2], last, p.above});
    for (const int s : {0, 1}) {
      next_.push_back({start[s], above, keyed_random(p.key, 0, static_cast<std::uint64_t>(s))});
    }
  }

  const dissection_settings& settings_;
  memory_budget* budget_;
  timeline* time_;
  index_t* order_;
  std::optional<work> work_;
  level own_[2];
  growing_array<index_t> vertex_, next_vertex_;
  int desk_;
  int depth_ = 0;
  const level* graphs_ = nullptr;
  const index_t* vertices_ = nullptr;
  std::vector<part> parts_, next_;
  found_tree found_;
};

// Groups of parts that are searched at the same time, of patterns with many vertices.
#if defined(__CUDACC__)
constexpr std::size_t group_count = 4;
constexpr index_t vertices_of_groups = 40000;
#else
constexpr std::size_t group_count = 2;
constexpr index_t vertices_of_groups = 150;
#endif

/// Calls body(k) for each group: on a device at the same time, by host threads, each of which has a
/// stream of its own.
template <class Body>
void for_groups(Body&& body) {
  synchronize();
#if defined(__CUDACC__)
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  if (const auto pool = memory_pool()) {
    // Else a thread's allocation may wait for launches of another one.
    int no = 0;
    check(cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowInternalDependencies, &no),
          "memory pool");
  }
  on_threads(static_cast<int>(group_count), [&](int k) {
    check(cudaSetDevice(device), "cudaSetDevice");
    try {
      body(static_cast<std::size_t>(k));
    } catch (...) {
      // Arrays of the group must outlast its launches.
      cudaStreamSynchronize(cudaStreamPerThread);
      throw;
    }
    synchronize();
  });
#else
  for (std::size_t k = 0; k < group_count; ++k) body(k);
#endif
}

/// The group of each part: the largest ones first, each to the group with the fewest vertices.
std::vector<std::size_t> groups_of(const level& g) {
  std::vector<index_t> by_size(at(g.graphs()));
  std::iota(by_size.begin(), by_size.end(), 0);
  std::ranges::stable_sort(by_size, std::greater{}, [&](index_t i) { return g.size_of(i); });
  offset_t vertices[group_count] = {};
  std::vector<std::size_t> group(by_size.size());
  for (const index_t i : by_size) {
    const auto least = std::ranges::min_element(vertices);
    *least += g.size_of(i);
    group[at(i)] = static_cast<std::size_t>(least - vertices);
  }
  return group;
}

/// A group of parts, and memory for it alone.
struct group_search {
  memory_budget budget;
  timeline time;
  std::optional<search> below;
};

/// Finds what is below the parts of `above`, in groups: while the separators of one are refined,
/// each by one block, the whole device coarsens the graphs of another. Each group has an equal
/// share of the memory that is left; throws budget_error if one does not suffice. The calling
/// thread makes all work arrays, since it keeps their page-locked memory from order to order.
found_tree search_groups(const search& above, const dissection_settings& settings,
                         memory_budget& budget, timeline& time, index_t* order) {
  const std::vector<std::size_t> group = groups_of(above.graphs());
  group_search groups[group_count];
  for (std::size_t k = 0; k < group_count; ++k) {
    group_search& own = groups[k];
    own.budget.set_limit((budget.limit() - budget.used()) / static_cast<offset_t>(group_count));
    // The phases are those of the first group, which the calling thread searches.
    own.below.emplace(settings, own.budget, k == 0 ? time : own.time, static_cast<int>(k), order);
    std::vector<part> parts = above.parts();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (group[i] != k) parts[i].first = -1;
    }
    own.below->begin(above.graphs(), above.vertices(), std::move(parts));
  }
  for_groups([&](std::size_t k) { groups[k].below->run(); });
  found_tree found;
  offset_t peak = 0;
  for (const group_search& own : groups) {
    found.append(own.below->found());
    peak += own.budget.peak();
    for (const auto& [structure, bytes] : own.budget.by_structure()) {
      budget.take(structure.c_str(), bytes);
      budget.give(bytes);
    }
  }
  budget.take("groups", peak);
  budget.give(peak);
  return found;
}

/// Finds the tree; `order` gets the vertices by position.
found_tree find_tree(const level& root, const dissection_settings& settings, memory_budget& budget,
                     timeline& time, index_t* order) {
  const index_t n = root.first.back();
  device_array<index_t> vertex(budget, "order_vertices", n);
  launch_overlapping(identity_kernel, blocks_for(n), threads_per_block, 0, n, vertex.data());
  search all(settings, budget, time, 0, order);
  all.begin(root, vertex.data(), {{.first = 0, .above = no_node, .key = mix64(settings.seed + 1)}});
  while (!all.parts().empty() && all.parts().size() < group_count) all.step();
  if (n >= vertices_of_groups && !all.parts().empty()) {
    all.rest();
    // A group takes about its share of what the first depths have taken.
    if (budget.limit() - budget.used() >= 2 * budget.peak()) {
      try {
        found_tree found = search_groups(all, settings, budget, time, order);
        found.append(all.found());
        return found;
      } catch (const budget_error&) {
        // Groups differ much: one after the other, they have room.
      }
    }
  }
  all.run();
  return all.found();
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
                              device_array<index_t> col_idx, const dissection_settings& settings,
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
    device_array<index_t> order(budget, "order", n);
    found_tree found = find_tree(root, settings, budget, time, order.data());
    time.mark("leaves");
    order_leaves(root, found.leaves, order.data(), budget);
    tree = std::move(found.nodes);
    std::ranges::sort(tree, {}, &node::first);
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
           .help = "vertices of the separators that a level refines, by those of the part",
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
