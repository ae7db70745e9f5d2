// Refinement of vertex separators by one-sided moves.
//
// One pass grows side x at the cost of the other side y: vertices of S go to x and draw their
// neighbours of y into S. A vertex goes y -> S -> x only, so it is logged at most twice, and S
// separates after any set of moves: no neighbour of a vertex of x is in y. side[] is constant
// within the pass; moved[] tells what the pass has done.
//
// Several vertices of S move at the same time: where S is small in steps of up to four, the best
// ones, else in rounds of one of 32, chosen by classes. All movers of a step or round leave S
// together, and the gains of the others are those after it. Drawing raises gains only, so that a
// mover never gains less than it would have alone. The pass keeps the best prefix of whole steps or
// rounds.

#include <algorithm>

#include "variants/orderings/nested_dissection_steps.hpp"

namespace gsofa::orderings {

namespace {

enum : std::uint8_t { unmoved = 0, now_separator = 1, now_x = 2 };

// What both kinds of a pass share: the log, the weights and the best prefix.
class pass {
 protected:
  pass(trial& t, scratch& s)
      : t_(t),
        g_(*t.g),
        s_(s),
        y_(static_cast<std::uint8_t>(1 - t.x)),
        salt_(static_cast<std::uint32_t>(t.pass_key)),
        cost_(g_.total) {
    t.log.clear();
    best_ = cost();
  }

  [[nodiscard]] std::uint64_t cost() const {
    return cost_(t_.weight[t_.x] + to_x_, t_.weight[y_] - from_y_,
                 t_.weight[separator] + from_y_ - to_x_);
  }
  // Whether the prefix that ends here is the best so far, which is then kept.
  bool keep_if_best() {
    const std::uint64_t now = cost();
    if (now >= best_) return false;
    best_ = now;
    kept_ = t_.log.size();
    t_.to_x = to_x_;
    t_.from_y = from_y_;
    return true;
  }
  [[nodiscard]] bool too_heavy(offset_t more) const {
    return too_large(t_.weight[t_.x] + to_x_ + more, t_.weight[side_a] + t_.weight[side_b]);
  }
  [[nodiscard]] bool in_y(index_t u) const {
    return t_.side[at(u)] == y_ && t_.moved[at(u)] == unmoved;
  }
  [[nodiscard]] index_t pull_of(index_t v) const {
    index_t pull = 0;
    for (const index_t u : g_.row(v)) pull += in_y(u) ? g_.weight[at(u)] : 0;
    return pull;
  }
  void leave(index_t v) {
    t_.moved[at(v)] = now_x;
    to_x_ += g_.weight[at(v)];
    t_.log.push_back(2 * static_cast<std::uint32_t>(v));
  }
  void come(index_t u) {
    t_.moved[at(u)] = now_separator;
    from_y_ += g_.weight[at(u)];
    t_.log.push_back(2 * static_cast<std::uint32_t>(u) + 1);
  }
  void roll_back() {
    for (; t_.log.size() > kept_; t_.log.pop_back()) {
      const std::uint32_t entry = t_.log.back();
      const std::uint32_t v = entry >> 1;
      t_.moved[v] = entry % 2 == 0 && t_.side[v] == y_ ? now_separator : unmoved;
    }
  }

  trial& t_;
  const graph& g_;
  scratch& s_;
  std::uint8_t y_;
  std::uint32_t salt_;
  cost_function cost_;
  std::uint64_t best_ = 0;
  std::size_t kept_ = 0;
  offset_t to_x_ = 0;
  offset_t from_y_ = 0;
};

// Few moves at a time, the best ones. A heap holds the vertices of S by (gain, hash); the gain of a
// vertex only grows, so an entry is out of date iff it is not the present one.
class step_moves : pass {
 public:
  step_moves(trial& t, scratch& s) : pass(t, s), heap_(s.heap), changed_(s.queue) {}

  void run() {
    heap_.clear();
    for (const index_t v : t_.members) {
      t_.pull[at(v)] = pull_of(v);
      t_.stamp[at(v)] = 0;
      heap_.emplace_back(rank(v), v);
    }
    std::ranges::make_heap(heap_, lower);
    const std::uint32_t limit = idle_limit(static_cast<std::uint32_t>(t_.members.size()),
                                           static_cast<std::uint32_t>(t_.idle_moves));
    movers_ = movers_of_step(static_cast<std::uint32_t>(t_.members.size()));
    for (std::uint32_t idle = 0; idle < limit && choose();) {
      ++moves_;
      for (const index_t v : s_.next) leave(v);
      changed_.clear();
      for (const index_t v : s_.next) draw_neighbours(v);
      for (const index_t z : changed_) {
        heap_.emplace_back(rank(z), z);
        std::ranges::push_heap(heap_, lower);
      }
      idle += static_cast<std::uint32_t>(s_.next.size());
      if (keep_if_best()) idle = 0;
    }
    roll_back();
  }

 private:
  [[nodiscard]] std::uint64_t rank(index_t v) const {
    return move_rank(g_.weight[at(v)] - t_.pull[at(v)], t_.stamp[at(v)], v, salt_);
  }
  using entry = std::pair<std::uint64_t, index_t>;
  static constexpr auto lower = [](const entry& a, const entry& b) {
    return a.first < b.first || (a.first == b.first && a.second < b.second);
  };
  // The gain of v changes in this step, perhaps not for the last time.
  void change(index_t v) {
    if (t_.stamp[at(v)] == moves_) return;
    t_.stamp[at(v)] = std::min(moves_, most_stamp);
    changed_.push_back(v);
  }

  // Leaves the next vertices to move in s_.next, the best ones as long as x has room for all of
  // them; false if there is none.
  bool choose() {
    s_.next.clear();
    offset_t weight = 0;
    while (s_.next.size() < movers_ && !heap_.empty()) {
      const entry top = heap_.front();
      const index_t v = pop();
      if (v < 0) continue;
      weight += g_.weight[at(v)];
      if (too_heavy(weight)) {
        heap_.push_back(top);
        std::ranges::push_heap(heap_, lower);
        break;
      }
      s_.next.push_back(v);
    }
    return !s_.next.empty();
  }
  // The top of the heap, or -1 if it does not move. A vertex that is too heavy for x remains so.
  index_t pop() {
    const auto [top, v] = heap_.front();
    std::ranges::pop_heap(heap_, lower);
    heap_.pop_back();
    if (t_.moved[at(v)] == now_x || rank(v) != top) return -1;
    if (std::ranges::find(s_.next, v) != s_.next.end()) return -1;
    return too_heavy(g_.weight[at(v)]) ? -1 : v;
  }

  void draw_neighbours(index_t v) {
    for (const index_t u : g_.row(v)) {
      if (!in_y(u)) continue;
      come(u);
      // It may have been in S before, in another pass.
      t_.stamp[at(u)] = 0;
      draw(u);
    }
  }

  // u has come to S: its own pull, and that of its neighbours in S, which no longer draw it.
  void draw(index_t u) {
    index_t pull = 0;
    for (const index_t z : g_.row(u)) {
      if (t_.side[at(z)] == t_.x) continue;
      if (in_y(z)) {
        pull += g_.weight[at(z)];
      } else if (t_.moved[at(z)] != now_x) {
        t_.pull[at(z)] -= g_.weight[at(u)];
        change(z);
      }
    }
    t_.pull[at(u)] = pull;
    change(u);
  }

  std::vector<entry>& heap_;
  std::vector<index_t>& changed_;  // in this step
  std::size_t movers_ = 1;
  index_t moves_ = 0;  // steps
};

// Moves in rounds. Every vertex of S has a candidate, in t.slot's place of the list.
class rounds : pass {
 public:
  rounds(trial& t, scratch& s) : pass(t, s), all_(s.candidates) {}

  void run() {
    all_.clear();
    for (const index_t v : t_.members) add(v);
    reference_ = top_gain();
    const auto size = static_cast<std::uint32_t>(t_.members.size());
    movers_ = movers_of(size);
    const std::uint32_t limit =
        idle_limit_of_rounds(size, static_cast<std::uint32_t>(t_.idle_moves));
    for (std::uint32_t idle = 0; idle < limit && choose();) {
      const std::size_t first_drawn = all_.size();
      ++round_;
      for (const index_t v : s_.queue) leave(v);
      for (const index_t v : s_.queue) {
        for (const index_t u : g_.row(v)) {
          if (!in_y(u)) continue;
          come(u);
          t_.pull[at(u)] = static_cast<index_t>(all_.size());
          all_.push_back({.v = u});
        }
      }
      for (std::size_t k = first_drawn; k < all_.size(); ++k) draw(all_[k], first_drawn);
      idle += static_cast<std::uint32_t>(s_.queue.size());
      if (keep_if_best()) idle = 0;
    }
    roll_back();
  }

 private:
  void add(index_t v) {
    t_.pull[at(v)] = static_cast<index_t>(all_.size());
    all_.push_back({.v = v, .gain = g_.weight[at(v)] - pull_of(v)});
  }

  // u has come to S in this round, as all candidates from `first_drawn` on.
  void draw(candidate& c, std::size_t first_drawn) {
    index_t pull = 0;
    for (const index_t z : g_.row(c.v)) {
      if (in_y(z)) {
        pull += g_.weight[at(z)];
      } else if (t_.side[at(z)] != t_.x && t_.moved[at(z)] != now_x) {
        const std::size_t slot = at(t_.pull[at(z)]);
        if (slot >= first_drawn || all_[slot].gain == least_gain) continue;
        all_[slot].gain += g_.weight[at(c.v)];
        all_[slot].stamp = round_;
      }
    }
    c.gain = g_.weight[at(c.v)] - pull;
    c.stamp = round_;
  }

  // Leaves the movers of the next round in s_.queue; false if there is none. Gains are compared
  // with the best one before the round before, so that one look at the candidates suffices.
  bool choose() {
    for (;;) {
      const index_t top = top_gain();
      if (top == least_gain) return false;
      const std::uint32_t bound = bound_of_keys();
      reference_ = top;
      const offset_t weight = list([&](std::size_t k) { return s_.keys[k] < bound; });
      if (s_.queue.empty() || too_heavy(weight)) {
        if (discard_heavy()) continue;
        list_best(top);
      }
      for (const index_t v : s_.queue) all_[at(t_.pull[at(v)])].gain = least_gain;
      return true;
    }
  }
  [[nodiscard]] index_t top_gain() const {
    index_t top = least_gain;
    for (const candidate& c : all_) top = std::max(top, c.gain);
    return top;
  }
  // Computes the keys, and the bound of those that move.
  std::uint32_t bound_of_keys() {
    const std::uint32_t salt = round_salt(salt_, round_);
    std::uint32_t count[round_classes] = {};
    s_.keys.clear();
    for (const candidate& c : all_) {
      const bool is = c.gain != least_gain;
      s_.keys.push_back(is ? round_key(reference_, c.gain, round_ - c.stamp, c.v, salt)
                           : no_round_key);
      if (is) ++count[s_.keys.back() >> 16];
    }
    std::uint32_t wanted = movers_;
    for (std::uint32_t k = 0; k < round_classes; ++k) {
      if (count[k] >= wanted) return key_bound(k, wanted, count[k]);
      wanted -= count[k];
    }
    return no_round_key;
  }
  // Lists the candidates that move; returns their weight.
  template <class Moves>
  offset_t list(Moves&& moves) {
    s_.queue.clear();
    offset_t weight = 0;
    for (std::size_t k = 0; k < all_.size(); ++k) {
      if (!moves(k)) continue;
      s_.queue.push_back(all_[k].v);
      weight += g_.weight[at(all_[k].v)];
    }
    return weight;
  }
  // Of the candidates with the best gain the one with the largest number.
  void list_best(index_t top) {
    index_t best = -1;
    for (const candidate& c : all_) {
      if (c.gain == top) best = std::max(best, c.v);
    }
    s_.queue.assign(1, best);
  }
  // Candidates that are too heavy for x remain so; true if there were any.
  bool discard_heavy() {
    bool any = false;
    for (candidate& c : all_) {
      if (c.gain == least_gain || !too_heavy(g_.weight[at(c.v)])) continue;
      c.gain = least_gain;
      any = true;
    }
    return any;
  }

  std::vector<candidate>& all_;
  std::uint32_t movers_ = 1;
  index_t round_ = 0;
  index_t reference_ = least_gain;  // of the keys
};

// Applies the moves that the pass has kept if they lower the cost, else none.
void end_pass(trial& t) {
  const int y = 1 - t.x;
  offset_t weight[3] = {0, 0, t.weight[separator] + t.from_y - t.to_x};
  weight[t.x] = t.weight[t.x] + t.to_x;
  weight[y] = t.weight[y] - t.from_y;
  const std::uint64_t cost = cost_function(t.g->total)(weight[0], weight[1], weight[2]);
  const bool better = cost < t.cost;
  for (const std::uint32_t entry : t.log) {
    const std::uint32_t v = entry >> 1;
    if (better && t.moved[v] != unmoved) {
      if (t.moved[v] == now_separator) t.members.push_back(static_cast<index_t>(v));
      t.side[v] = t.moved[v] == now_x ? t.x : static_cast<std::uint8_t>(separator);
    }
    t.moved[v] = unmoved;
  }
  t.idle = better ? 0 : t.idle + 1;
  if (better) {
    std::erase_if(t.members, [&](index_t v) { return t.side[at(v)] != separator; });
    std::ranges::copy(weight, t.weight);
    t.cost = cost;
  }
  t.x = static_cast<std::uint8_t>(y);
}

void refine_trial(trial& t, scratch& s, int passes, index_t idle_moves, std::uint64_t key) {
  const auto n = at(t.g->n);
  if (t.moved.size() < n) {
    t.moved.resize(n, unmoved);
    t.pull.resize(n);
    t.stamp.resize(n);
  }
  t.idle = 0;
  t.idle_moves = idle_moves;
  t.x = t.weight[side_a] <= t.weight[side_b] ? side_a : side_b;
  for (int k = 0; k < passes && t.idle < 2 && (k == 0 || !t.members.empty()); ++k) {
    t.pass_key = keyed_random(t.key, key, static_cast<std::uint64_t>(k));
    t.to_x = t.from_y = 0;
    if (t.members.size() < members_of_rounds) {
      step_moves(t, s).run();
    } else {
      rounds(t, s).run();
    }
    end_pass(t);
  }
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
            index_t idle_moves, std::uint64_t key) {
  crew.items(static_cast<offset_t>(trials.size()), [&](int thread, offset_t i) {
    refine_trial(*trials[at(i)], per_thread[thread], passes, idle_moves, key);
  });
}

}  // namespace gsofa::orderings
