// Refinement of vertex separators by one-sided moves.
//
// One pass grows side x at the cost of the other side y: vertices of S go to x and draw their
// neighbours of y into S. A vertex goes y -> S -> x only, so it is logged at most twice, and S
// separates after any set of moves: no neighbour of a vertex of x is in y. side[] is where a vertex
// is now; the log undoes moves from its end.
//
// Several vertices of S move at the same time. If S is small, a pass proceeds in steps: up to four
// vertices of highest rank move. Otherwise it proceeds in rounds: one of 32 vertices of S moves,
// chosen by classes. All movers of a step or round leave S together; then the pass updates the
// gains of the vertices that remain in S. Drawing a vertex into S lowers no gain, so no mover gains
// less than it would gain alone. The pass keeps the best prefix of whole steps or rounds.
//
// The vertices of S have slots, side by side, so that a choice is a scan of arrays.

#include <algorithm>
#include <array>
#include <utility>

#include "variants/orderings/dissection/host/stages.hpp"
#include "variants/support/processors.hpp"

namespace gsofa::orders {

namespace {

constexpr index_t no_slot = -1;

// What both kinds of a pass share: the log, the weights and the best prefix. Pointers, as a side
// that is written might else be part of a vector's own data.
class pass {
 protected:
  pass(trial& t, scratch& s)
      : t_(t),
        s_(s),
        begin_(t.g->begin.data()),
        end_(t.g->end.data()),
        adj_(t.g->adj.data()),
        weight_(t.g->weight.data()),
        side_(t.side.data()),
        slot_(t.slot.data()),
        x_(t.x),
        y_(static_cast<std::uint8_t>(1 - t.x)),
        salt_(static_cast<std::uint32_t>(t.pass_key)),
        both_sides_(t.weight[side_a] + t.weight[side_b]),
        cost_(t.g->total) {
    t.log.clear();
    best_ = cost();
  }

  [[nodiscard]] std::uint64_t cost() const {
    return cost_(t_.weight[x_] + to_x_, t_.weight[y_] - from_y_,
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
    return too_large(t_.weight[x_] + to_x_ + more, both_sides_);
  }
  [[nodiscard]] std::span<const index_t> row(index_t v) const {
    return {adj_ + begin_[v], at(end_[v] - begin_[v])};
  }
  // The weight of u if it is in y, else 0; without a branch, which would be of chance.
  [[nodiscard]] index_t weight_in_y(index_t u) const {
    return weight_[u] & -static_cast<index_t>(side_[u] == y_);
  }
  // Weight of v less that of its neighbours in y.
  [[nodiscard]] index_t gain_of(index_t v) const {
    index_t gain = weight_[v];
    for (const index_t u : row(v)) gain -= weight_in_y(u);
    return gain;
  }
  void leave(index_t v) {
    side_[v] = x_;
    to_x_ += weight_[v];
    t_.log.push_back(2 * static_cast<std::uint32_t>(v));
  }
  void come(index_t u) {
    side_[u] = separator;
    from_y_ += weight_[u];
    t_.log.push_back(2 * static_cast<std::uint32_t>(u) + 1);
  }
  void roll_back() { undo_moves(t_, kept_); }

  trial& t_;
  scratch& s_;
  const offset_t* begin_;
  const offset_t* end_;
  const index_t* adj_;
  const index_t* weight_;
  std::uint8_t* side_;
  index_t* slot_;
  std::uint8_t x_, y_;
  std::uint32_t salt_;
  offset_t both_sides_;
  cost_function cost_;
  std::uint64_t best_ = 0;
  std::size_t kept_ = 0;
  offset_t to_x_ = 0;
  offset_t from_y_ = 0;

 public:
  // All but the first `kept` moves.
  static void undo_moves(trial& t, std::size_t kept) {
    const auto y = static_cast<std::uint8_t>(1 - t.x);
    for (; t.log.size() > kept; t.log.pop_back()) {
      const std::uint32_t entry = t.log.back();
      t.side[entry >> 1] = entry % 2 == 0 ? static_cast<std::uint8_t>(separator) : y;
    }
  }
};

// Few moves at a time, the best ones, by ranks (move_rank); of equal ranks the larger number goes
// first.
class step_moves : pass {
 public:
  step_moves(trial& t, scratch& s) : pass(t, s), ranks_(s.ranks), vertices_(s.vertices) {}

  void run() {
    const auto size = static_cast<std::uint32_t>(t_.members.size());
    ranks_.clear();
    vertices_.clear();
    for (const index_t v : t_.members) add(v, move_rank(gain_of(v), 0, v, salt_));
    const std::uint32_t limit = idle_limit(size, static_cast<std::uint32_t>(t_.idle_moves));
    movers_ = movers_of_step(size);
    for (std::uint32_t idle = 0; idle < limit && choose();) {
      stamp_ = std::min(stamp_ + 1, most_stamp);
      for (std::size_t k = 0; k < chosen_; ++k) {
        remove(best_of_[k].second);
        leave(best_of_[k].second);
      }
      for (std::size_t k = 0; k < chosen_; ++k) draw_neighbours(best_of_[k].second);
      idle += static_cast<std::uint32_t>(chosen_);
      if (keep_if_best()) idle = 0;
    }
    roll_back();
  }

 private:
  using entry = std::pair<std::uint64_t, index_t>;

  void add(index_t v, std::uint64_t rank) {
    slot_[v] = static_cast<index_t>(ranks_.size());
    ranks_.push_back(rank);
    vertices_.push_back(v);
  }
  void remove(index_t v) {
    const index_t slot = std::exchange(slot_[v], no_slot);
    const index_t last = vertices_.back();
    if (last != v) {
      ranks_[at(slot)] = ranks_.back();
      vertices_[at(slot)] = last;
      slot_[last] = slot;
    }
    ranks_.pop_back();
    vertices_.pop_back();
  }

  // The best `movers_` ones, descending; places that are left have no vertex.
  void find_best() {
    const entry none(0, -1);
    best_of_.fill(none);
    const std::size_t last = movers_ - 1;
    for (std::size_t k = 0; k < ranks_.size(); ++k) {
      if (ranks_[k] < best_of_[last].first) continue;
      const entry own(ranks_[k], vertices_[k]);
      if (own < best_of_[last]) continue;
      std::size_t place = last;
      for (; place > 0 && best_of_[place - 1] < own; --place) best_of_[place] = best_of_[place - 1];
      best_of_[place] = own;
    }
    chosen_ = 0;
    while (chosen_ < movers_ && best_of_[chosen_].second >= 0) ++chosen_;
  }
  // Chooses the vertices to move, the best ones as long as x has room for all of them; false if
  // there is none. A vertex that is too heavy for x remains so.
  bool choose() {
    for (;;) {
      find_best();
      offset_t weight = 0;
      for (std::size_t k = 0; k < chosen_; ++k) {
        const index_t own = weight_[best_of_[k].second];
        if (too_heavy(own)) {
          chosen_ = no_choice;
          break;
        }
        weight += own;
        if (too_heavy(weight)) chosen_ = k;
      }
      if (chosen_ != no_choice) return chosen_ > 0;
      discard_heavy();
    }
  }
  void discard_heavy() {
    for (std::size_t k = vertices_.size(); k-- > 0;) {
      if (too_heavy(weight_[vertices_[k]])) remove(vertices_[k]);
    }
  }

  void draw_neighbours(index_t v) {
    for (const index_t u : row(v)) {
      if (side_[u] != y_) continue;
      come(u);
      draw(u);
    }
  }
  // u has come to S: its own gain, and that of its neighbours in S, which no longer draw it.
  void draw(index_t u) {
    const index_t own = weight_[u];
    index_t gain = own;
    for (const index_t z : row(u)) {
      gain -= weight_in_y(z);
      if (side_[z] != separator || slot_[z] == no_slot) continue;
      std::uint64_t& rank = ranks_[at(slot_[z])];
      rank = with_stamp(rank + (static_cast<std::uint64_t>(own) << 32), stamp_);
    }
    add(u, move_rank(gain, stamp_, u, salt_));
  }
  static std::uint64_t with_stamp(std::uint64_t rank, index_t stamp) {
    return (rank & ~(std::uint64_t{0xffff} << 16)) | (static_cast<std::uint64_t>(stamp) << 16);
  }

  static constexpr std::size_t no_choice = ~std::size_t{0};

  // By slots.
  std::vector<std::uint64_t>& ranks_;
  std::vector<index_t>& vertices_;
  std::array<entry, most_movers_of_step> best_of_{};
  std::size_t movers_ = 1;
  std::size_t chosen_ = 0;
  index_t stamp_ = 0;  // steps
};

// Moves in rounds. Every vertex that has been in S has a slot; of one that cannot move the gain is
// least_gain.
class rounds : pass {
 public:
  rounds(trial& t, scratch& s) : pass(t, s), all_(s.candidates) {}

  void run() {
    all_.clear();
    for (const index_t v : t_.members) add(v, gain_of(v));
    reference_ = top_gain(all_);
    const auto size = static_cast<std::uint32_t>(t_.members.size());
    movers_ = movers_of(size);
    const std::uint32_t limit =
        idle_limit_of_rounds(size, static_cast<std::uint32_t>(t_.idle_moves));
    for (std::uint32_t idle = 0; idle < limit && choose();) {
      const std::size_t first_drawn = all_.size();
      ++round_;
      for (const index_t v : s_.queue) leave(v);
      for (const index_t v : s_.queue) {
        for (const index_t u : row(v)) {
          if (side_[u] != y_) continue;
          come(u);
          add(u, 0);
        }
      }
      for (std::size_t k = first_drawn; k < all_.size(); ++k) draw(k, first_drawn);
      idle += static_cast<std::uint32_t>(s_.queue.size());
      if (keep_if_best()) idle = 0;
    }
    roll_back();
  }

 private:
  void add(index_t v, index_t gain) {
    slot_[v] = static_cast<index_t>(all_.size());
    all_.add(v, gain, round_);
  }

  // The vertex of slot k has come to S in this round, as all from `first_drawn` on.
  void draw(std::size_t k, std::size_t first_drawn) {
    const index_t u = all_.vertex[k];
    const index_t own = weight_[u];
    index_t gain = own;
    for (const index_t z : row(u)) {
      gain -= weight_in_y(z);
      if (side_[z] != separator) continue;
      const std::size_t slot = at(slot_[z]);
      if (slot >= first_drawn || all_.gain[slot] == least_gain) continue;
      all_.gain[slot] += own;
      all_.stamp[slot] = round_;
    }
    all_.gain[k] = gain;
  }

  // Leaves the movers of the next round in s_.queue; false if there is none. Gains are compared
  // with the best one before the round before, so that one look at the candidates suffices.
  bool choose() {
    for (;;) {
      const index_t top = top_gain(all_);
      if (top == least_gain) return false;
      const std::uint32_t bound = bound_of_keys();
      reference_ = top;
      const offset_t weight = list(bound);
      if (s_.queue.empty() || too_heavy(weight)) {
        if (discard_heavy()) continue;
        list_best(top);
      }
      for (const index_t v : s_.queue) all_.gain[at(slot_[v])] = least_gain;
      return true;
    }
  }
  GSOFA_FOR_PROCESSORS
  static index_t top_gain(const candidates& all) noexcept {
    index_t top = least_gain;
    for (const index_t gain : all.gain) top = std::max(top, gain);
    return top;
  }
  GSOFA_FOR_PROCESSORS
  static void find_keys(const candidates& all, index_t reference, index_t round, std::uint32_t salt,
                        std::uint32_t* keys) noexcept {
    const index_t* const vertex = all.vertex.data();
    const index_t* const gain = all.gain.data();
    const index_t* const stamp = all.stamp.data();
    const std::size_t size = all.size();
    for (std::size_t k = 0; k < size; ++k) {
      keys[k] = branchless_round_key(reference, gain[k], round - stamp[k], vertex[k], salt);
    }
  }
  // Computes the keys; returns the bound below which a key moves.
  std::uint32_t bound_of_keys() {
    s_.keys.resize(all_.size());
    find_keys(all_, reference_, round_, round_salt(salt_, round_), s_.keys.data());
    // Two, as keys one after the other are often of one class.
    std::array<std::uint32_t, round_classes + 1> even{}, odd{};
    std::size_t k = 0;
    for (; k + 1 < s_.keys.size(); k += 2) {
      ++even[s_.keys[k] >> 16];
      ++odd[s_.keys[k + 1] >> 16];
    }
    if (k < s_.keys.size()) ++even[s_.keys[k] >> 16];
    std::uint32_t wanted = movers_;
    for (std::uint32_t c = 0; c < round_classes; ++c) {
      const std::uint32_t count = even[c] + odd[c];
      if (count >= wanted) return key_bound(c, wanted, count);
      wanted -= count;
    }
    return no_round_key;
  }
  // Lists the candidates with keys below `bound`; returns their weight.
  offset_t list(std::uint32_t bound) {
    s_.queue.clear();
    offset_t weight = 0;
    for (std::size_t k = 0; k < all_.size(); ++k) {
      if (s_.keys[k] >= bound) continue;
      s_.queue.push_back(all_.vertex[k]);
      weight += weight_[all_.vertex[k]];
    }
    return weight;
  }
  // Of the candidates with the best gain the one with the largest number.
  void list_best(index_t top) {
    index_t best = -1;
    for (std::size_t k = 0; k < all_.size(); ++k) {
      if (all_.gain[k] == top) best = std::max(best, all_.vertex[k]);
    }
    s_.queue.assign(1, best);
  }
  // Candidates that are too heavy for x remain so; true if there were any.
  bool discard_heavy() {
    bool any = false;
    for (std::size_t k = 0; k < all_.size(); ++k) {
      if (all_.gain[k] == least_gain || !too_heavy(weight_[all_.vertex[k]])) continue;
      all_.gain[k] = least_gain;
      any = true;
    }
    return any;
  }

  candidates& all_;
  std::uint32_t movers_ = 1;
  index_t round_ = 0;
  index_t reference_ = least_gain;  // of the keys
};

// Keeps the moves that the pass has kept if they lower the cost, else none.
void end_pass(trial& t) {
  const int y = 1 - t.x;
  offset_t weight[3] = {0, 0, t.weight[separator] + t.from_y - t.to_x};
  weight[t.x] = t.weight[t.x] + t.to_x;
  weight[y] = t.weight[y] - t.from_y;
  const std::uint64_t cost = cost_function(t.g->total)(weight[0], weight[1], weight[2]);
  const bool better = cost < t.cost;
  t.idle = better ? 0 : t.idle + 1;
  if (better) {
    for (const std::uint32_t entry : t.log) {
      if (entry % 2 == 1) t.members.push_back(static_cast<index_t>(entry >> 1));
    }
    std::erase_if(t.members, [&](index_t v) { return t.side[at(v)] != separator; });
    std::ranges::copy(weight, t.weight);
    t.cost = cost;
  } else {
    pass::undo_moves(t, 0);
  }
  t.x = static_cast<std::uint8_t>(y);
}

void refine_trial(trial& t, scratch& s, int passes, index_t idle_moves, std::uint64_t key) {
  const auto n = at(t.g->n);
  if (t.slot.size() < n) t.slot.resize(n);
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

}  // namespace gsofa::orders
