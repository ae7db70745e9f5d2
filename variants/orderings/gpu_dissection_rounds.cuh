#pragma once

// Passes in rounds, where S is large.

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include "variants/orderings/gpu_dissection_pass.cuh"

namespace gsofa::orders::device {

/// Candidates of rounds: a slot each for every vertex that has been in S in this pass, the first
/// ones in shared memory. gain: plus 2^31; 0: it has moved, or is too heavy. key: of the round.
struct round_candidates {
  std::uint32_t *gain, *stamp, *vertex, *key;                  // `near` each
  std::uint32_t *far_gain, *far_stamp, *far_vertex, *far_key;  // by slot
  std::uint32_t near;

  [[nodiscard]] GSOFA_DEVICE std::uint32_t& gain_of(std::uint32_t slot) const {
    return slot < near ? gain[slot] : far_gain[slot];
  }
  [[nodiscard]] GSOFA_DEVICE std::uint32_t& stamp_of(std::uint32_t slot) const {
    return slot < near ? stamp[slot] : far_stamp[slot];
  }
  [[nodiscard]] GSOFA_DEVICE std::uint32_t& vertex_of(std::uint32_t slot) const {
    return slot < near ? vertex[slot] : far_vertex[slot];
  }
  [[nodiscard]] GSOFA_DEVICE std::uint32_t& key_of(std::uint32_t slot) const {
    return slot < near ? key[slot] : far_key[slot];
  }
};

/// A pass in rounds, by one block.
class trial_rounds {
 public:
  GSOFA_DEVICE trial_rounds(const block_trial& w, const round_candidates& c)
      : w_(w),
        r_(w.b.rounds),
        c_(c),
        log_(w.t.log + 2 * w.d.first),
        more_movers_(w.t.spare + w.d.first),
        y_(1 - w.d.x),
        salt_(static_cast<std::uint32_t>(w.d.pass_key)),
        size_(w.d.members),
        wanted_(movers_of(w.d.members)) {}

  GSOFA_DEVICE void run() {
    begin();
    reference_ = most_of([&](std::uint32_t slot) { return c_.gain_of(slot); });
    simt::sync_block();
    const cost_function cost(w_.g.total[w_.d.graph]);
    const offset_t x = w_.d.weight[w_.d.x];
    const offset_t y = w_.d.weight[y_];
    const offset_t s = w_.d.weight[separator];
    const std::uint32_t limit = idle_limit_of_rounds(size_, w_.t.idle_moves);
    pass_result best{0, 0, 0, 0};
    std::uint64_t least = cost(x, y, s);
    std::uint32_t round = 0;
    for (std::uint32_t idle = 0; idle < limit;) {
      const std::uint32_t first_drawn = r_.slots;
      if (!choose(static_cast<index_t>(round))) break;
      idle += r_.movers;
      ++round;
      leave();
      simt::sync_block();
      draw(first_drawn, round);
      simt::sync_block();
      const auto to_x = static_cast<offset_t>(r_.to_x);
      const auto from_y = static_cast<offset_t>(r_.from_y);
      if (const std::uint64_t now = cost(x + to_x, y - from_y, s + from_y - to_x); now < least) {
        least = now;
        best = {r_.logged, 0, to_x, from_y};
        idle = 0;
      }
    }
    simt::sync_block();
    if (simt::thread_index() == 0) {
      best.moved = r_.logged;
      w_.b.result = best;
    }
    simt::sync_block();
  }

 private:
  template <class Body>
  GSOFA_DEVICE void for_slots(Body&& body) const {
    const std::uint32_t slots = r_.slots;
    for (std::uint32_t k = simt::thread_index(); k < slots; k += simt::block_size()) body(k);
  }

  /// All of S are candidates.
  GSOFA_DEVICE void begin() {
    if (simt::thread_index() == 0) {
      r_.slots = size_;
      r_.logged = 0;
      r_.to_x = r_.from_y = 0;
    }
    clear();
    const index_t* const members = w_.members();
    for (std::uint32_t base = warp_of_thread() * 32; base < size_; base += warps_of_block() * 32) {
      const std::uint32_t slot = base + lane_index();
      const bool is = slot < size_;
      const index_t v = is ? members[slot] : 0;
      std::uint32_t pull = 0;
      for_lane_rows<neighbour>(
          w_.g.adj, simt::ballot(is), row_of(w_.g, is, v),
          [&](offset_t, index_t u) {
            return neighbour{w_.s[u], w_.g.weight[u], {}};
          },
          [&](unsigned row, bool valid, index_t, const neighbour& n) {
            const bool in_y = valid && start_of(n.status) == y_;
            const std::uint32_t sum =
                simt::add_of_warp(in_y ? static_cast<std::uint32_t>(n.weight) : 0);
            if (lane_index() == row) pull += sum;
          });
      if (!is) continue;
      c_.gain_of(slot) = zero_gain + static_cast<std::uint32_t>(w_.g.weight[v]) - pull;
      c_.stamp_of(slot) = 0;
      c_.vertex_of(slot) = static_cast<std::uint32_t>(v);
      w_.s[v] = settled(separator) | (slot << 4);
    }
    simt::sync_block();
  }

  GSOFA_DEVICE void clear() {
    for (unsigned k = simt::thread_index(); k < round_classes; k += simt::block_size()) {
      r_.counts[k] = 0;
    }
    if (simt::thread_index() == 0) {
      r_.movers = 0;
      r_.weight = 0;
    }
  }

  /// Lists the movers of the next round; false if there is none. All threads return the same.
  GSOFA_DEVICE bool choose(index_t round) {
    for (;;) {
      compute_keys(round);
      simt::sync_block();
      if (warp_of_thread() == 0) find_bound();
      simt::sync_block();
      const std::uint32_t top = r_.top;
      const std::uint32_t bound = r_.bound;
      if (top == 0) return false;
      reference_ = top;
      const bool fits = take([&](std::uint32_t slot) { return c_.key_of(slot) < bound; });
      if (fits && r_.movers > 0) return true;
      const bool any_heavy = discard_heavy();
      clear();
      simt::sync_block();
      if (any_heavy) continue;
      // Of the candidates with the best gain the one with the largest number.
      const std::uint32_t best = most_of(
          [&](std::uint32_t slot) { return c_.gain_of(slot) == top ? c_.vertex_of(slot) + 1 : 0; });
      return take([&](std::uint32_t slot) {
        return c_.gain_of(slot) == top && c_.vertex_of(slot) + 1 == best;
      });
    }
  }
  /// Candidates that are too heavy for x remain so; true, in all threads, if there were any.
  GSOFA_DEVICE bool discard_heavy() {
    const offset_t x = w_.d.weight[w_.d.x] + static_cast<offset_t>(r_.to_x);
    const offset_t both = w_.d.weight[side_a] + w_.d.weight[side_b];
    bool any = false;
    for_slots([&](std::uint32_t k) {
      std::uint32_t& gain = c_.gain_of(k);
      const auto v = static_cast<index_t>(c_.vertex_of(k));
      if (gain == 0 || !too_large(x + w_.g.weight[v], both)) return;
      gain = 0;
      any = true;
    });
    return simt::sync_block_or(any);
  }

  /// The largest value(slot), in all threads. Between two calls the block synchronizes.
  template <class Value>
  GSOFA_DEVICE std::uint32_t most_of(Value&& value) {
    std::uint32_t most = 0;
    for_slots([&](std::uint32_t slot) {
      const std::uint32_t own = value(slot);
      most = own > most ? own : most;
    });
    most = simt::max_of_warp(most);
    if (lane_index() == 0) r_.most_of_warp[warp_of_thread()] = most;
    simt::sync_block();
    const unsigned lane = lane_index();
    return simt::max_of_warp(lane < warps_of_block() ? r_.most_of_warp[lane] : 0);
  }

  /// Keys of all candidates, counts of their classes, and the best gain that each warp has seen.
  /// Lanes of the two classes that come first in a warp count together: there are few different
  /// ones.
  GSOFA_DEVICE void compute_keys(index_t round) {
    const std::uint32_t salt = round_salt(salt_, round);
    const auto reference = static_cast<index_t>(reference_ - zero_gain);
    const std::uint32_t slots = r_.slots;
    std::uint32_t most = 0;
    for (std::uint32_t base = warp_of_thread() * 32; base < slots; base += warps_of_block() * 32) {
      const std::uint32_t k = base + lane_index();
      const std::uint32_t gain = k < slots ? c_.gain_of(k) : 0;
      most = gain > most ? gain : most;
      std::uint32_t key = no_round_key;
      if (gain != 0) {
        key = round_key(reference, static_cast<index_t>(gain - zero_gain),
                        round - static_cast<index_t>(c_.stamp_of(k)),
                        static_cast<index_t>(c_.vertex_of(k)) - w_.first, salt);
      }
      if (k < slots) c_.key_of(k) = key;
      const std::uint32_t own = key >> 16;
      unsigned left = simt::ballot(gain != 0);
      GSOFA_UNROLL for (unsigned time = 0; time < 2; ++time) {
        if (left == 0) continue;
        const unsigned leader = simt::lowest_bit(left);
        const unsigned same = simt::ballot(own == simt::shuffle(own, leader)) & left;
        if (lane_index() == leader) simt::atomic_add(r_.counts + own, simt::population(same));
        left &= ~same;
      }
      if ((left >> lane_index() & 1U) != 0) simt::atomic_add(r_.counts + own, 1U);
    }
    most = simt::max_of_warp(most);
    if (lane_index() == 0) r_.most_of_warp[warp_of_thread()] = most;
  }

  /// From the counts and what the warps have seen, by one warp. A lane has consecutive classes.
  GSOFA_DEVICE void find_bound() {
    constexpr unsigned own = round_classes / 32;
    const unsigned lane = lane_index();
    std::uint32_t count[own];
    std::uint32_t sum = 0;
    GSOFA_UNROLL for (unsigned k = 0; k < own; k += 4) {
      const four_words w = *reinterpret_cast<const four_words*>(r_.counts + own * lane + k);
      GSOFA_UNROLL for (unsigned q = 0; q < 4; ++q) {
        count[k + q] = w.word[q];
        sum += w.word[q];
      }
    }
    std::uint32_t through = sum;  // of this lane and those before
    for (unsigned step = 1; step < 32; step *= 2) {
      const std::uint32_t other = simt::shuffle_up(through, step);
      if (lane >= step) through += other;
    }
    const unsigned reaching = simt::ballot(through >= wanted_);
    const std::uint32_t top =
        simt::max_of_warp(lane < warps_of_block() ? r_.most_of_warp[lane] : 0);
    if (lane != (reaching == 0 ? 0 : simt::lowest_bit(reaching))) return;
    r_.top = top;
    r_.bound = no_round_key;
    if (reaching == 0) return;
    // The class that decides is one of this lane's.
    std::uint32_t wanted = wanted_ - (through - sum);
    std::uint32_t of_class = 0;
    std::uint32_t members = 0;
    GSOFA_UNROLL for (unsigned k = 0; k < own; ++k) {
      const bool decides = members == 0 && count[k] >= wanted && count[k] > 0;
      of_class = decides ? own * lane + k : of_class;
      members = decides ? count[k] : members;
      wanted -= members != 0 ? 0 : count[k];
    }
    r_.bound = key_bound(of_class, wanted, members);
  }

  // The movers' slots, in shared memory unless there are more than it has room for.
  GSOFA_DEVICE void list(std::uint32_t place, std::uint32_t slot) {
    if (place < near_movers) {
      r_.list[place] = slot;
    } else {
      more_movers_[place] = static_cast<index_t>(slot);
    }
  }
  [[nodiscard]] GSOFA_DEVICE std::uint32_t listed(std::uint32_t place) const {
    return place < near_movers ? r_.list[place] : static_cast<std::uint32_t>(more_movers_[place]);
  }

  /// Lists the candidates that move; false if they are too heavy together.
  template <class Moves>
  GSOFA_DEVICE bool take(Moves&& moves) {
    const std::uint32_t slots = r_.slots;
    std::uint64_t weight = 0;
    for (std::uint32_t base = warp_of_thread() * 32; base < slots; base += warps_of_block() * 32) {
      const std::uint32_t k = base + lane_index();
      const bool is = k < slots && moves(k);
      const std::uint32_t place = next_place(&r_.movers, is);
      if (!is) continue;
      list(place, k);
      weight += static_cast<std::uint64_t>(w_.g.weight[c_.vertex_of(k)]);
    }
    weight = sum_of_warp(weight);
    if (lane_index() == 0 && weight != 0) simt::atomic_add(&r_.weight, weight);
    simt::sync_block();
    const auto x = w_.d.weight[w_.d.x] + static_cast<offset_t>(r_.to_x + r_.weight);
    return !too_large(x, w_.d.weight[side_a] + w_.d.weight[side_b]);
  }

  /// The movers go to x, and their neighbours in y to S. Rows are dealt to the warps in turn.
  GSOFA_DEVICE void leave() {
    const std::uint32_t movers = r_.movers;
    for (std::uint32_t base = 0; base < movers; base += simt::block_size()) {
      const std::uint32_t m = base + warp_of_thread() + lane_index() * warps_of_block();
      const bool is = m < movers;
      const std::uint32_t left = is ? listed(m) : 0;
      const index_t v = is ? static_cast<index_t>(c_.vertex_of(left)) : 0;
      const lane_row row = row_of(w_.g, is, v);
      const std::uint32_t entry = next_place(&r_.logged, is);
      if (is) {
        c_.gain_of(left) = 0;
        w_.s[v] = status_of(w_.d.x, left < size_ ? std::uint32_t{separator} : y_);
        log_[entry] = 2 * static_cast<std::uint32_t>(v);
      }
      for_lane_rows<vertex_status>(
          w_.g.adj, simt::ballot(is), row, [&](offset_t, index_t u) { return w_.s[u]; },
          [&](unsigned, bool valid, index_t u, vertex_status status) {
            bool mine = false;
            if (valid && now_of(status) == y_) {
              mine = simt::atomic_cas(w_.s + u, settled(y_), status_of(drawn, y_)) == settled(y_);
            }
            if (simt::ballot(mine) == 0) return;
            const std::uint32_t slot = next_place(&r_.slots, mine);
            const std::uint32_t place = next_place(&r_.logged, mine);
            if (!mine) return;
            c_.vertex_of(slot) = static_cast<std::uint32_t>(u);
            w_.s[u] = status_of(separator, y_) | (slot << 4);
            log_[place] = 2 * static_cast<std::uint32_t>(u) + 1;
          });
    }
  }

  /// Gains of the vertices that have come to S, in the slots from `first` on, and of their
  /// neighbours in S, which no longer draw them.
  GSOFA_DEVICE void draw(std::uint32_t first, std::uint32_t round) {
    const std::uint32_t slots = r_.slots;
    std::uint64_t from_y = 0;
    if (simt::thread_index() == 0) r_.to_x += r_.weight;
    clear();
    for (std::uint32_t base = first; base < slots; base += simt::block_size()) {
      const std::uint32_t k = base + warp_of_thread() + lane_index() * warps_of_block();
      const bool is = k < slots;
      const index_t u = is ? static_cast<index_t>(c_.vertex_of(k)) : 0;
      const std::uint32_t weight = is ? static_cast<std::uint32_t>(w_.g.weight[u]) : 0;
      std::uint32_t pull = 0;
      for_lane_rows<neighbour>(
          w_.g.adj, simt::ballot(is), row_of(w_.g, is, u),
          [&](offset_t, index_t z) {
            return neighbour{w_.s[z], w_.g.weight[z], {}};
          },
          [&](unsigned row, bool valid, index_t, const neighbour& n) {
            const std::uint32_t more = simt::shuffle(weight, row);
            if (valid && now_of(n.status) == separator && slot_of(n.status) < first) {
              std::uint32_t& gain = c_.gain_of(slot_of(n.status));
              if (gain != 0) {  // else it is too heavy
                simt::atomic_add(&gain, more);
                c_.stamp_of(slot_of(n.status)) = round;
              }
            }
            const std::uint32_t sum = simt::add_of_warp(
                valid && now_of(n.status) == y_ ? static_cast<std::uint32_t>(n.weight) : 0);
            if (lane_index() == row) pull += sum;
          });
      if (!is) continue;
      from_y += weight;
      c_.gain_of(k) = zero_gain + weight - pull;
      c_.stamp_of(k) = round;
    }
    from_y = sum_of_warp(from_y);
    if (lane_index() == 0 && from_y != 0) simt::atomic_add(&r_.from_y, from_y);
  }

  const block_trial& w_;
  round_space& r_;
  const round_candidates c_;
  std::uint32_t* log_;
  index_t* more_movers_;
  std::uint32_t y_, salt_, size_, wanted_;
  std::uint32_t reference_ = 0;  ///< of the keys: the best gain of a while ago
};

}  // namespace gsofa::orders::device

#endif
