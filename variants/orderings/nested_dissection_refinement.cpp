// Refinement of vertex separators by one-sided moves in independent patches.
//
// One pass grows side x at the cost of the other side y: a vertex v of S goes to x and draws its
// neighbours of y into S. A vertex goes y -> S -> x only, so it is logged at most twice. Patches
// are disjoint sets of vertices of S and y; side[] is constant within the pass and moved[] of a
// patch's vertices is written by that patch alone. A vertex with a neighbour that is y at the start
// of the pass and belongs to no or another patch is frozen: so S separates whatever prefix of its
// moves each patch keeps, and the changes of the weights add.

#include <algorithm>

#include "variants/orderings/nested_dissection_steps.hpp"

namespace gsofa::orderings {

namespace {

constexpr index_t frozen = std::numeric_limits<index_t>::max();
enum : std::uint8_t { unmoved = 0, now_separator = 1, now_x = 2 };

// Seeds of the patches: about |S| / t.patch_size vertices of S, in order of their numbers.
void choose_seeds(const trial& t, std::vector<index_t>& seeds) {
  seeds.clear();
  const auto size = static_cast<std::uint64_t>(t.members.size());
  const auto own = static_cast<std::uint64_t>(t.patch_size);
  const std::uint64_t wanted = size / own;
  if (size <= 2 * own || is_expander(t.g->n, static_cast<offset_t>(size))) return;
  for (const index_t v : t.members) {
    if (vertex_hash(t.pass_key, v) * size < (wanted << 32)) seeds.push_back(v);
  }
  std::ranges::sort(seeds);
}

// Labels grow from the seeds in rounds, first through S and the vertices of y beside it, then a few
// layers into y; of several, a vertex takes the smallest. Within a round label l is written as
// -2 - l.
void grow_labels(trial& t, scratch& s) {
  const graph& g = *t.g;
  std::size_t missing = t.members.size();
  const auto settle = [&] {
    for (const index_t v : s.queue) {
      t.label[at(v)] = -2 - t.label[at(v)];
      if (t.side[at(v)] == separator) --missing;
      t.labelled.push_back(v);
    }
  };
  for (std::size_t i = 0; i < s.queue.size(); ++i) {
    t.label[at(s.queue[i])] = -2 - static_cast<index_t>(i);
  }
  settle();
  // layers: from y into y, too.
  const auto grow = [&](bool layers) {
    s.next.clear();
    for (const index_t v : s.queue) {
      const index_t mark = -2 - t.label[at(v)];
      const bool passes = layers || t.side[at(v)] == separator;
      for (const index_t u : g.row(v)) {
        index_t& label = t.label[at(u)];
        if (label >= 0 || t.side[at(u)] == t.x) continue;
        if (!passes && t.side[at(u)] != separator) continue;
        if (label == -1) s.next.push_back(u);
        if (label == -1 || label < mark) label = mark;
      }
    }
    s.queue.swap(s.next);
    settle();
  };
  for (int k = patch_rounds(t.patch_size); k > 0 && missing > 0 && !s.queue.empty(); --k) {
    grow(false);
  }
  s.queue.assign(t.labelled.begin(), t.labelled.end());
  for (int k = 0; k < layer_rounds && !s.queue.empty(); ++k) grow(true);
}

// Sorts the members of S by patch; with less than two seeds all are one patch.
void sort_by_patch(trial& t, index_t patches) {
  t.patch_start.assign(at(patches) + 1, 0);
  if (patches == 1) {
    t.by_patch = t.members;
    t.patch_start[1] = static_cast<index_t>(t.members.size());
  } else {
    for (const index_t v : t.members) {
      if (t.label[at(v)] >= 0) ++t.patch_start[at(t.label[at(v)]) + 1];
    }
    for (index_t p = 0; p < patches; ++p) t.patch_start[at(p) + 1] += t.patch_start[at(p)];
    t.by_patch.resize(at(t.patch_start.back()));
    std::vector<index_t> next(t.patch_start.begin(), t.patch_start.end() - 1);
    for (const index_t v : t.members) {
      if (t.label[at(v)] >= 0) t.by_patch[at(next[at(t.label[at(v)])]++)] = v;
    }
  }
  if (t.patches.size() < at(patches)) t.patches.resize(at(patches));
}

// Whether patches would freeze more than half of S, as they do in expanders, where a few rounds of
// growth reach everything. One patch is better there (Trefethen_20000: flops 0.84 against 1.36).
bool mostly_frozen(const trial& t) {
  std::size_t count = 0;
  for (const index_t v : t.members) {
    const auto foreign = [&](index_t u) {
      return t.side[at(u)] == 1 - t.x && t.label[at(u)] != t.label[at(v)];
    };
    if (t.label[at(v)] < 0 || std::ranges::any_of(t.g->row(v), foreign)) ++count;
  }
  return 2 * count > t.members.size();
}

void begin_pass(trial& t, scratch& s) {
  t.labelled.clear();
  choose_seeds(t, s.queue);
  auto patches = static_cast<index_t>(s.queue.size());
  if (patches >= 2) {
    grow_labels(t, s);
    if (mostly_frozen(t)) {
      for (const index_t v : t.labelled) t.label[at(v)] = -1;
      t.labelled.clear();
      patches = 1;
    }
  }
  sort_by_patch(t, std::max(1, patches));
}

// The moves of one patch of one trial. A heap holds the vertices of S by (gain, hash); the gain of
// a vertex only grows, so an entry is out of date iff it is not the present one.
class patch_pass {
 public:
  patch_pass(trial& t, index_t p, scratch& s)
      : t_(t),
        g_(*t.g),
        heap_(s.heap),
        result_(t.patches[at(p)]),
        label_(t.patch_count() > 1 ? p : -1),
        count_(t.patch_count()),
        y_(static_cast<std::uint8_t>(1 - t.x)),
        cost_(g_.total) {
    const auto first = at(t.patch_start[at(p)]);
    members_ = std::span(t.by_patch).subspan(first, at(t.patch_start[at(p) + 1]) - first);
    salt_ = static_cast<std::uint32_t>(t.pass_key);
  }

  void run() {
    start();
    const std::uint32_t limit = idle_limit(static_cast<std::uint32_t>(members_.size()),
                                           static_cast<std::uint32_t>(t_.idle_percent),
                                           static_cast<std::uint32_t>(t_.idle_moves));
    std::uint64_t best = cost();
    std::size_t kept = 0;
    offset_t best_x = 0;
    offset_t best_y = 0;
    for (std::uint32_t idle = 0; !heap_.empty() && idle < limit;) {
      const index_t v = pop();
      if (v < 0) continue;
      move(v);
      ++idle;
      if (const std::uint64_t now = cost(); now < best) {
        best = now;
        kept = result_.log.size();
        best_x = to_x_;
        best_y = from_y_;
        idle = 0;
      }
    }
    roll_back(kept);
    result_.to_x = best_x;
    result_.from_y = best_y;
  }

 private:
  [[nodiscard]] std::uint64_t rank(index_t v) const {
    return move_rank(g_.weight[at(v)] - t_.pull[at(v)], t_.stamp[at(v)], v, salt_);
  }
  void push(index_t v) {
    t_.stamp[at(v)] = std::min(moves_, most_stamp);
    heap_.emplace_back(rank(v), v);
    std::ranges::push_heap(heap_);
  }
  [[nodiscard]] bool foreign(index_t v) const { return label_ >= 0 && t_.label[at(v)] != label_; }

  // The weight of v's neighbours in y; frozen if one of them is foreign.
  [[nodiscard]] index_t pull_of(index_t v) const {
    index_t pull = 0;
    for (const index_t u : g_.row(v)) {
      if (t_.side[at(u)] != y_) continue;
      if (foreign(u)) return frozen;
      if (t_.moved[at(u)] == unmoved) pull += g_.weight[at(u)];
    }
    return pull;
  }

  void start() {
    heap_.clear();
    result_.log.clear();
    for (const index_t v : members_) {
      weight_ += g_.weight[at(v)];
      t_.pull[at(v)] = pull_of(v);
      t_.stamp[at(v)] = 0;
      if (t_.pull[at(v)] != frozen) heap_.emplace_back(rank(v), v);
    }
    std::ranges::make_heap(heap_);
  }

  // As if the other patches moved as this one does, which is what they do on average.
  [[nodiscard]] std::uint64_t cost() const {
    return cost_(t_.weight[t_.x] + count_ * to_x_, t_.weight[y_] - count_ * from_y_,
                 weight_ + from_y_ - to_x_);
  }

  // The next vertex to move, or -1 if the top of the heap is none. A vertex that is too heavy for x
  // remains so.
  index_t pop() {
    const auto [top, v] = heap_.front();
    std::ranges::pop_heap(heap_);
    heap_.pop_back();
    if (t_.moved[at(v)] == now_x || rank(v) != top) return -1;
    const offset_t x = t_.weight[t_.x] + count_ * (to_x_ + g_.weight[at(v)]);
    return too_large(x, t_.weight[side_a] + t_.weight[side_b]) ? -1 : v;
  }

  void move(index_t v) {
    ++moves_;
    t_.moved[at(v)] = now_x;
    to_x_ += g_.weight[at(v)];
    result_.log.push_back(2 * static_cast<std::uint32_t>(v));
    for (const index_t u : g_.row(v)) {
      if (t_.side[at(u)] != y_ || t_.moved[at(u)] != unmoved) continue;
      t_.moved[at(u)] = now_separator;
      from_y_ += g_.weight[at(u)];
      result_.log.push_back(2 * static_cast<std::uint32_t>(u) + 1);
      draw(u);
    }
  }

  // u has come to S: its own pull, and that of its neighbours in S, which no longer draw it.
  void draw(index_t u) {
    index_t pull = 0;
    for (const index_t z : g_.row(u)) {
      if (t_.side[at(z)] == t_.x) continue;
      if (foreign(z)) {
        if (t_.side[at(z)] == y_) pull = frozen;
        continue;
      }
      if (t_.side[at(z)] == y_ && t_.moved[at(z)] == unmoved) {
        if (pull != frozen) pull += g_.weight[at(z)];
      } else if (t_.moved[at(z)] != now_x && t_.pull[at(z)] != frozen) {
        t_.pull[at(z)] -= g_.weight[at(u)];
        push(z);
      }
    }
    t_.pull[at(u)] = pull;
    if (pull != frozen) push(u);
  }

  void roll_back(std::size_t kept) {
    for (; result_.log.size() > kept; result_.log.pop_back()) {
      const std::uint32_t entry = result_.log.back();
      const std::uint32_t v = entry >> 1;
      t_.moved[v] = entry % 2 == 0 && t_.side[v] == y_ ? now_separator : unmoved;
    }
  }

  trial& t_;
  const graph& g_;
  std::vector<std::pair<std::uint64_t, index_t>>& heap_;
  patch& result_;
  index_t label_;
  offset_t count_;
  std::uint8_t y_;
  cost_function cost_;
  std::span<const index_t> members_;
  std::uint32_t salt_ = 0;
  index_t moves_ = 0;
  offset_t weight_ = 0;  // of the patch's S at the start
  offset_t to_x_ = 0;
  offset_t from_y_ = 0;
};

// Applies the moves of all patches if they lower the cost together, else none.
void end_pass(trial& t) {
  offset_t to_x = 0;
  offset_t from_y = 0;
  for (index_t p = 0; p < t.patch_count(); ++p) {
    to_x += t.patches[at(p)].to_x;
    from_y += t.patches[at(p)].from_y;
  }
  const int y = 1 - t.x;
  offset_t weight[3] = {0, 0, t.weight[separator] + from_y - to_x};
  weight[t.x] = t.weight[t.x] + to_x;
  weight[y] = t.weight[y] - from_y;
  const std::uint64_t cost = cost_function(t.g->total)(weight[0], weight[1], weight[2]);
  const bool better = cost < t.cost;
  for (index_t p = 0; p < t.patch_count(); ++p) {
    for (const std::uint32_t entry : t.patches[at(p)].log) {
      const std::uint32_t v = entry >> 1;
      if (better && t.moved[v] != unmoved) {
        if (t.moved[v] == now_separator) t.members.push_back(static_cast<index_t>(v));
        t.side[v] = t.moved[v] == now_x ? t.x : static_cast<std::uint8_t>(separator);
      }
      t.moved[v] = unmoved;
    }
  }
  for (const index_t v : t.labelled) t.label[at(v)] = -1;
  t.idle = better ? 0 : t.idle + 1;
  if (better) {
    std::erase_if(t.members, [&](index_t v) { return t.side[at(v)] != separator; });
    std::ranges::copy(weight, t.weight);
    t.cost = cost;
  }
  t.x = static_cast<std::uint8_t>(y);
}

}  // namespace

void collect_separator(trial& t) {
  const graph& g = *t.g;
  t.members.clear();
  std::ranges::fill(t.weight, 0);
  for (index_t v = 0; v < g.n; ++v) {
    t.weight[t.side[at(v)]] += g.weight[at(v)];
    if (t.side[at(v)] == separator) t.members.push_back(v);
  }
  t.cost = cost_function(g.total)(t.weight[0], t.weight[1], t.weight[2]);
}

void project(trial& t, const graph& finer) {
  const std::vector<index_t>& coarse = t.g->from_finer;
  t.finer_side.resize(at(finer.n));
  t.members.clear();
  for (index_t v = 0; v < finer.n; ++v) {
    const std::uint8_t s = t.side[at(coarse[at(v)])];
    t.finer_side[at(v)] = s;
    if (s == separator) t.members.push_back(v);
  }
  t.side.swap(t.finer_side);
  t.g = &finer;
}

void refine(team& crew, scratch* per_thread, std::span<trial* const> trials, int passes,
            index_t idle_moves, index_t patch, std::uint64_t key, int idle_percent) {
  for (trial* t : trials) {
    const auto n = at(t->g->n);
    if (t->moved.size() < n) {
      t->moved.resize(n, unmoved);
      t->label.resize(n, -1);
      t->pull.resize(n);
      t->stamp.resize(n);
    }
    t->idle = 0;
    t->idle_moves = idle_moves;
    t->idle_percent = idle_percent;
    t->patch_size = patch_of(t->g->n, patch);
    t->x = t->weight[side_a] <= t->weight[side_b] ? side_a : side_b;
  }
  std::vector<std::pair<trial*, index_t>> items;
  std::vector<trial*> active(trials.begin(), trials.end());
  for (int pass = 0; pass < passes && !active.empty(); ++pass) {
    crew.items(static_cast<offset_t>(active.size()), [&](int thread, offset_t i) {
      trial& t = *active[at(i)];
      t.pass_key = keyed_random(t.key, key, static_cast<std::uint64_t>(pass));
      begin_pass(t, per_thread[thread]);
    });
    items.clear();
    for (trial* t : active) {
      for (index_t p = 0; p < t->patch_count(); ++p) items.emplace_back(t, p);
    }
    crew.items(static_cast<offset_t>(items.size()), [&](int thread, offset_t i) {
      patch_pass(*items[at(i)].first, items[at(i)].second, per_thread[thread]).run();
    });
    crew.items(static_cast<offset_t>(active.size()),
               [&](int, offset_t i) { end_pass(*active[at(i)]); });
    std::erase_if(active, [](const trial* t) { return t->idle >= 2 || t->members.empty(); });
  }
}

}  // namespace gsofa::orderings
