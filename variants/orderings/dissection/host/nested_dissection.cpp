// Nested dissection: compress, then bisect and split, component by component, down to leaves of
// minimum fill. A component's separator depends on its graph and its key alone, so components may
// be bisected in any order and at the same time.

#include "variants/orderings/dissection/nested_dissection.hpp"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <thread>

#include "variants/orderings/dissection/host/reduce.hpp"
#include "variants/orderings/dissection/host/stages.hpp"

namespace gsofa::orders {

namespace {

// A component: positions first .. first + g().n - 1 of the order hold its vertices, local vertex v
// at position first + v until it is split.
struct component {
  index_t first = 0;
  index_t above = no_node;  // first position of the node above
  std::uint64_t key = 0;
  int depth = 0;
  graph own;
  const graph* given = nullptr;  // instead of its own

  [[nodiscard]] const graph& g() const { return given != nullptr ? *given : own; }
};

// Finds the tree; `position` is the order of the vertices of the compressed graph.
class dissector {
 public:
  dissector(const dissection_settings& settings, std::vector<index_t>& position)
      : settings_(settings), position_(position) {}

  // Bisects c: appends its node, or that of a leaf, and what remains to be bisected.
  void step(bisector& b, component c, std::vector<node>& nodes, std::vector<component>& children) {
    const graph& g = c.g();
    const index_t last = c.first + g.n;
    if (g.n == 0) return;
    check_stop(settings_);
    const bool is_leaf = g.n <= settings_.leaf_order && g.total <= settings_.leaf_weight;
    if (g.n == 1 || is_leaf ||
        !(b.bisect(g, c.key, c.depth) ||
          (settings_.through_hubs && g.total > settings_.leaf_weight &&
           b.bisect(g, c.key, c.depth, true)))) {
      nodes.push_back({c.first, last, c.above});
      return;
    }
    const trial& t = b.best();
    std::vector<index_t> local(at(g.n));
    index_t count[3] = {0, 0, 0};
    for (index_t v = 0; v < g.n; ++v) local[at(v)] = count[t.side[at(v)]]++;
    const index_t start[3] = {c.first, c.first + count[0], c.first + count[0] + count[1]};
    std::vector<index_t> old(position_.begin() + c.first, position_.begin() + last);
    for (index_t v = 0; v < g.n; ++v) {
      position_[at(start[t.side[at(v)]] + local[at(v)])] = old[at(v)];
    }
    graph sides[2];
    split_graph(b.crew(), g, t, local, count, sides);
    const index_t above = count[2] > 0 ? start[2] : c.above;
    if (count[2] > 0) nodes.push_back({start[2], last, c.above});
    for (const int k : {0, 1}) {
      const std::uint64_t key = keyed_random(c.key, 0, static_cast<std::uint64_t>(k));
      children.push_back({start[k], above, key, c.depth + 1, std::move(sides[k]), nullptr});
    }
  }

 private:
  const dissection_settings& settings_;
  std::vector<index_t>& position_;
};

// All threads bisect the whole graph. Then the threads are divided, as the vertices are, among the
// two sides, and so on while components are large; each of the others, with all below it, is left
// to one thread.
class tree_finder {
 public:
  tree_finder(team& crew, const dissection_settings& settings, std::vector<index_t>& position)
      : crew_(crew),
        settings_(settings),
        dissector_(settings, position),
        nodes_(at(crew.size())),
        own_(at(crew.size())) {}

  std::vector<node> run(const graph& g) {
    most_ = crew_.size() == 1 ? g.n : g.n / (offset_t{2} * crew_.size());
    component whole;
    whole.key = mix64(settings_.seed + 1);
    whole.given = &g;
    bisect_large(crew_, 0, std::move(whole));
    std::ranges::make_heap(small_, smaller);
    team alone;
    crew_.items(crew_.size(), [&](int thread, offset_t) { take_small(thread, alone); });
    std::vector<node> tree;
    for (const auto& part : nodes_) tree.insert(tree.end(), part.begin(), part.end());
    std::ranges::sort(tree, {}, &node::first);
    return tree;
  }

 private:
  static bool smaller(const component& a, const component& b) { return a.g().n < b.g().n; }

  // Bisects components until none is left, the largest first. What is left of one is for all
  // threads as long as it is large.
  void take_small(int thread, team& alone) {
    bisector& mine = bisector_of(thread, alone);
    std::vector<component> stack;
    for (;;) {
      {
        const std::scoped_lock lock(mutex_);
        if (small_.empty() && working_ == 0) return;
        if (!small_.empty()) {
          std::ranges::pop_heap(small_, smaller);
          stack.push_back(std::move(small_.back()));
          small_.pop_back();
          ++working_;
        }
      }
      if (stack.empty()) {
        std::this_thread::yield();
        continue;
      }
      const end_of_work ends{*this};
      while (!stack.empty()) {
        component c = std::move(stack.back());
        stack.pop_back();
        dissector_.step(mine, std::move(c), nodes_[at(thread)], stack);
        share_large(stack);
      }
    }
  }
  // Where a step throws, too: others wait for it.
  struct end_of_work {
    tree_finder& of;
    ~end_of_work() {
      const std::scoped_lock lock(of.mutex_);
      --of.working_;
    }
  };
  void share_large(std::vector<component>& stack) {
    while (!stack.empty() && stack.back().g().n > most_ / 8) {
      const std::scoped_lock lock(mutex_);
      small_.push_back(std::move(stack.back()));
      std::ranges::push_heap(small_, smaller);
      stack.pop_back();
    }
  }

  // That of a thread, which leads `crew` now.
  bisector& bisector_of(int thread, team& crew) {
    auto& own = own_[at(thread)];
    if (!own) own = std::make_unique<bisector>(crew, settings_);
    own->lead(crew);
    return *own;
  }

  // By a team whose first thread is number `leader`.
  void bisect_large(team& crew, int leader, component c) {
    if (c.g().n <= most_) {
      const std::scoped_lock lock(mutex_);
      small_.push_back(std::move(c));
      return;
    }
    std::vector<component> sides;
    dissector_.step(bisector_of(leader, crew), std::move(c), nodes_[at(leader)], sides);
    if (sides.empty()) return;
    const offset_t n[2] = {sides[0].g().n, sides[1].g().n};
    if (crew.size() == 1 || std::min(n[0], n[1]) <= most_) {
      for (component& side : sides) bisect_large(crew, leader, std::move(side));
      return;
    }
    const offset_t share = (crew.size() * n[0] + (n[0] + n[1]) / 2) / (n[0] + n[1]);
    const int first = static_cast<int>(std::clamp<offset_t>(share, 1, crew.size() - 1));
    crew.split(first, [&](team& part, int k) {
      bisect_large(part, leader + k * first, std::move(sides[at(k)]));
    });
  }

  team& crew_;
  const dissection_settings& settings_;
  dissector dissector_;
  offset_t most_ = 0;
  std::vector<std::vector<node>> nodes_;        // by thread
  std::vector<std::unique_ptr<bisector>> own_;  // by thread
  std::mutex mutex_;
  std::vector<component> small_;  // a heap once there are no large ones
  int working_ = 0;               // threads at work on what was in it
};

// The nodes of a tree without separators below the last level, leaves of g ordered in place.
void order_leaves(team& crew, const graph& g, const std::vector<node>& tree,
                  std::vector<index_t>& position, const std::atomic<bool>* stop) {
  std::vector<std::uint8_t> inner(tree.size(), 0);
  std::vector<scratch> space(at(crew.size()));
  const auto find = [&](index_t first) {
    return static_cast<std::size_t>(std::ranges::lower_bound(tree, first, {}, &node::first) -
                                    tree.begin());
  };
  for (const node& k : tree) {
    if (k.above != no_node) inner[find(k.above)] = 1;
  }
  crew.ranges(static_cast<offset_t>(tree.size()), 16, [&](int thread, offset_t from, offset_t to) {
    scratch& s = space[at(thread)];
    s.local.resize(at(g.n), -1);
    for (offset_t i = from; i < to; ++i) {
      const node& k = tree[at(i)];
      if (inner[at(i)] != 0) continue;
      order_leaf(g, std::span(position).subspan(at(k.first), at(k.last - k.first)), s, stop);
    }
  });
}

// The weights of the vertices of r.graph().
std::vector<index_t> weights_of_rest(const reduction& r, std::span<const index_t> weights) {
  if (weights.empty() || r.removed.empty()) return {weights.begin(), weights.end()};
  std::vector<index_t> rest;
  rest.reserve(r.kept.size());
  for (const index_t v : r.kept) rest.push_back(weights[at(v)]);
  return rest;
}

// The weight of a part is an index_t.
void check_weights(std::span<const index_t> weights, index_t n) {
  if (weights.empty()) return;
  if (weights.size() != at(n)) {
    throw input_error("weights: " + std::to_string(weights.size()) + " for " + std::to_string(n) +
                      " vertices");
  }
  offset_t total = 0;
  for (std::size_t v = 0; v < weights.size(); ++v) {
    if (weights[v] < 1) {
      throw input_error("weights: vertex " + std::to_string(v) + " has weight " +
                        std::to_string(weights[v]) + ", which is not 1 or more");
    }
    total += weights[v];
  }
  narrow<index_t>(total, "weights: their sum");
}

// Dissects what a reduction leaves.
dissection dissect(team& crew, const pattern_view& s, const reduction& r,
                   dissection_settings settings) {
  compressed_graph c = compress(crew, r.graph(s), weights_of_rest(r, settings.weights));
  if (settings.tree_levels > 1) {
    const offset_t total = c.g.total + std::ssize(c.isolated);
    settings.leaf_weight = leaf_weight(total, settings.tree_levels);
  }
  std::vector<index_t> position(at(c.g.n));
  std::iota(position.begin(), position.end(), 0);
  const std::vector<node> tree = tree_finder(crew, settings, position).run(c.g);
  order_leaves(crew, c.g, tree, position, settings.stop);
  return expand(r, expand(c, tree, std::move(position), settings.leaf_weight));
}

}  // namespace

bool divides(const dissection& d, int tree_levels) {
  std::vector<std::uint8_t> inner(d.tree.parent.size(), 0);
  for (const index_t p : d.tree.parent) {
    if (p >= 0) inner[at(p)] = 1;
  }
  const offset_t most = leaf_weight(static_cast<offset_t>(d.order.size()), tree_levels);
  for (std::size_t k = 0; k < inner.size(); ++k) {
    if (inner[k] == 0 && d.tree.start[k + 1] - d.tree.start[k] > most) return false;
  }
  return true;
}

dissection nested_dissection(const pattern_view& s, const dissection_settings& settings) {
  if (s.n_rows != s.n_cols) throw input_error("nested dissection: the pattern is not square");
  check_weights(settings.weights, s.n_rows);
  dissection result;
  team::run(settings.threads, [&](team& crew) {
    const reduction r = reduce(crew, s, settings.reduce);
    const index_t left = r.left(s.n_rows);
    const bool has_tree = settings.tree_levels > 1;
    if (!has_tree || !removes_many(left, s.n_rows)) {
      result = dissect(crew, s, r, settings);
      if (!has_tree || divides(result, settings.tree_levels)) return;
    }
    // Where reductions would leave a small core, the parts of the last level have minimum fill,
    // which begins with the vertices that reductions would remove.
    dissection_settings whole = settings;
    if (is_core(left, s.n_rows)) whole.leaf_order = s.n_rows;
    whole.through_hubs = true;
    result = dissect(crew, s, {}, whole);
  });
  return result;
}

}  // namespace gsofa::orders
