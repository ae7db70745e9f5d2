#pragma once

// The choice of the movers of a round, by one block: it counts the classes of the candidates' keys;
// one warp finds the last class that moves, and how much of it. The number of movers does not
// matter for the time.

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include "variants/orderings/dissection/device/pass.cuh"

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

/// Chooses candidates, whose slots are 0 .. w.b.rounds.slots - 1.
class round_choice {
 public:
  GSOFA_DEVICE round_choice(const block_trial& w, const round_candidates& c)
      : w_(w),
        r_(w.b.rounds),
        c_(c),
        more_movers_(w.t.spare + w.d.first),
        salt_(static_cast<std::uint32_t>(w.d.pass_key)),
        wanted_(movers_of(w.d.members)) {}

  /// Before the first round, when the candidates have gains.
  GSOFA_DEVICE void begin() {
    reference_ = most_of([&](std::uint32_t slot) { return c_.gain_of(slot); });
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
  /// The slot of a mover.
  [[nodiscard]] GSOFA_DEVICE std::uint32_t listed(std::uint32_t place) const {
    return place < near_movers ? r_.list[place] : static_cast<std::uint32_t>(more_movers_[place]);
  }

 private:
  template <class Body>
  GSOFA_DEVICE void for_slots(Body&& body) const {
    const std::uint32_t slots = r_.slots;
    for (std::uint32_t k = simt::thread_index(); k < slots; k += simt::block_size()) body(k);
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

  const block_trial& w_;
  round_space& r_;
  const round_candidates c_;
  index_t* more_movers_;
  std::uint32_t salt_, wanted_;
  std::uint32_t reference_ = 0;  ///< of the keys: the best gain of a while ago
};

}  // namespace gsofa::orders::device

#endif
