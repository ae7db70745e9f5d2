#pragma once

// Candidates of a pass in steps: the vertices of S that may move, by slots, and the choice of the
// candidates with the highest ranks.

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include "variants/orderings/dissection/device/warps.cuh"

namespace gsofa::orders::device {

constexpr std::uint32_t slots_per_step = 128;  // four for each lane
constexpr unsigned most_free_slots = 128;      // that are remembered; others are lost

/// The best of 32 consecutive far slots.
struct slot_group {
  std::uint32_t high, low, slot;
  std::uint32_t changed;  ///< 1: not up to date
};

/// Slots of candidates: the first ones in shared memory.
struct candidates {
  std::uint32_t *high, *low, *vertex, *weight;                  // `room` each
  std::uint32_t *far_high, *far_low, *far_vertex, *far_weight;  // by slot
  slot_group* groups;                                           // of far slots, if they may be many
  std::uint32_t room;  // slots_per_step or 2, 4, .. times as many

  GSOFA_DEVICE std::uint32_t vertex_at(std::uint32_t slot) const {
    return slot < room ? vertex[slot] : far_vertex[slot];
  }
  /// Of step_moves alone.
  [[nodiscard]] GSOFA_DEVICE std::uint32_t weight_at(std::uint32_t slot) const {
    return slot < room ? weight[slot] : far_weight[slot];
  }
  GSOFA_DEVICE void set_weight(std::uint32_t slot, index_t w) const {
    (slot < room ? weight[slot] : far_weight[slot]) = static_cast<std::uint32_t>(w);
  }
  /// 0: the slot is free.
  [[nodiscard]] GSOFA_DEVICE std::uint32_t high_at(std::uint32_t slot) const {
    return slot < room ? high[slot] : far_high[slot];
  }
  GSOFA_DEVICE void set(std::uint32_t slot, std::uint64_t rank, index_t v) const {
    const auto h = static_cast<std::uint32_t>(rank >> 32);
    const auto l = static_cast<std::uint32_t>(rank);
    if (slot < room) {
      high[slot] = h;
      low[slot] = l;
      vertex[slot] = static_cast<std::uint32_t>(v);
    } else {
      far_high[slot] = h;
      far_low[slot] = l;
      far_vertex[slot] = static_cast<std::uint32_t>(v);
      change(slot);
    }
  }
  /// Raises the gain; other lanes may do so at the same time.
  GSOFA_DEVICE void raise(std::uint32_t slot, std::uint32_t gain, std::uint32_t l) const {
    if (slot < room) {
      simt::atomic_add(high + slot, gain);
      low[slot] = l;
    } else {
      simt::atomic_add(far_high + slot, gain);
      far_low[slot] = l;
      change(slot);
    }
  }
  GSOFA_DEVICE void kill(std::uint32_t slot) const {
    if (slot < room) {
      high[slot] = 0;
    } else {
      far_high[slot] = 0;
      change(slot);
    }
  }
  GSOFA_DEVICE void change(std::uint32_t slot) const {
    if (groups != nullptr) groups[(slot - room) / 32].changed = 1;
  }
  /// Brings a group up to date; all lanes call it.
  GSOFA_DEVICE void update(std::uint32_t group, std::uint32_t slots) const {
    const std::uint32_t slot = room + 32 * group + lane_index();
    const bool is = slot < slots;
    const std::uint32_t h = is ? far_high[slot] : 0;
    const std::uint32_t l = is ? far_low[slot] : 0;
    const std::uint32_t v = is ? far_vertex[slot] + 1 : 0;
    const std::uint32_t top_high = simt::max_of_warp(h);
    const std::uint32_t top_low = simt::max_of_warp(h == top_high ? l : 0);
    const bool top = is && h == top_high && l == top_low;
    const std::uint32_t top_vertex = simt::max_of_warp(top ? v : 0);
    if (top && v == top_vertex) groups[group] = {h, l, slot, 0};
    simt::sync_warp();
  }
};

/// The candidate of the highest rank and, among equal ranks, of the largest number.
struct choice {
  index_t v;           ///< -1: there is none
  bool mine;           ///< in the lane that holds it
  std::uint32_t slot;  ///< in that lane
};

/// The first Steps * slots_per_step slots, which are in shared memory, in registers.
template <unsigned Steps>
class held_slots {
 public:
  GSOFA_DEVICE void load(const candidates& c, std::uint32_t /*slots*/) {
    GSOFA_UNROLL for (unsigned k = 0; k < Steps; ++k) {
      const std::uint32_t s = first() + k * slots_per_step;
      high_[k] = *reinterpret_cast<const four_words*>(c.high + s);
      low_[k] = *reinterpret_cast<const four_words*>(c.low + s);
      vertex_[k] = *reinterpret_cast<const four_words*>(c.vertex + s);
    }
  }
  [[nodiscard]] GSOFA_DEVICE choice best() const {
    const auto larger = [](std::uint32_t a, std::uint32_t b) { return a > b ? a : b; };
    std::uint32_t most = 0;
    GSOFA_UNROLL for (unsigned k = 0; k < 4 * Steps; ++k) {
      most = larger(most, high_[k / 4].word[k % 4]);
    }
    const std::uint32_t top_high = simt::max_of_warp(most);
    if (top_high == 0) return {-1, false, 0};
    most = 0;
    GSOFA_UNROLL for (unsigned k = 0; k < 4 * Steps; ++k) {
      most = larger(most, high_[k / 4].word[k % 4] == top_high ? low_[k / 4].word[k % 4] : 0);
    }
    const std::uint32_t top_low = simt::max_of_warp(most);
    most = 0;  // a vertex plus 1
    std::uint32_t slot = 0;
    GSOFA_UNROLL for (unsigned k = 0; k < 4 * Steps; ++k) {
      const bool top = high_[k / 4].word[k % 4] == top_high && low_[k / 4].word[k % 4] == top_low;
      const std::uint32_t v = top ? vertex_[k / 4].word[k % 4] + 1 : 0;
      slot = v > most ? first() + k / 4 * slots_per_step + k % 4 : slot;
      most = larger(most, v);
    }
    const std::uint32_t v = simt::max_of_warp(most);
    return {static_cast<index_t>(v - 1), most == v, slot};
  }
  /// Takes a candidate off; only the lane that holds it does.
  GSOFA_DEVICE void drop(const choice& chosen) {
    GSOFA_UNROLL for (unsigned k = 0; k < 4 * Steps; ++k) {
      const bool is = chosen.mine && chosen.slot == first() + k / 4 * slots_per_step + k % 4;
      high_[k / 4].word[k % 4] = is ? 0 : high_[k / 4].word[k % 4];
    }
  }

 private:
  GSOFA_DEVICE static std::uint32_t first() { return 4 * lane_index(); }
  four_words high_[Steps];
  four_words low_[Steps];
  four_words vertex_[Steps];
};

/// Among any number of slots.
GSOFA_DEVICE choice best_of_many(const candidates& c, std::uint32_t slots) {
  // Gains are above 2 - 2^31: high words of candidates are above 1.
  std::uint64_t best = std::uint64_t{1} << 32;
  std::uint32_t slot = no_slot;
  const auto consider = [&](std::uint32_t high, std::uint32_t low, std::uint32_t s) {
    const std::uint64_t rank = (static_cast<std::uint64_t>(high) << 32) | low;
    bool better = rank > best;
    if (rank == best) better = c.vertex_at(s) > c.vertex_at(slot);
    best = better ? rank : best;
    slot = better ? s : slot;
  };
  const std::uint32_t lane = lane_index();
  const std::uint32_t near = slots < c.room ? slots : c.room;
  for (std::uint32_t s = 4 * lane; s < near; s += slots_per_step) {
    const four_words high = *reinterpret_cast<const four_words*>(c.high + s);
    const four_words low = *reinterpret_cast<const four_words*>(c.low + s);
    GSOFA_UNROLL for (unsigned k = 0; k < 4; ++k) consider(high.word[k], low.word[k], s + k);
  }
  if (c.groups == nullptr) {
    for (std::uint32_t s = c.room + lane; s < slots; s += 32) {
      consider(c.far_high[s], c.far_low[s], s);
    }
  } else if (slots > c.room) {
    const std::uint32_t groups = (slots - c.room - 1) / 32 + 1;
    for (std::uint32_t base = 0; base < groups; base += 32) {
      const bool is = base + lane < groups;
      unsigned changed = simt::ballot(is && c.groups[base + lane].changed != 0);
      for (; changed != 0; changed &= changed - 1) {
        c.update(base + simt::lowest_bit(changed), slots);
      }
      if (!is) continue;
      const slot_group best_of_group = c.groups[base + lane];
      consider(best_of_group.high, best_of_group.low, best_of_group.slot);
    }
  }
  const bool any = slot != no_slot;
  const std::uint32_t vertex = any ? c.vertex_at(slot) : 0;
  const std::uint32_t high = any ? static_cast<std::uint32_t>(best >> 32) : 0;
  const std::uint32_t top_high = simt::max_of_warp(high);
  if (top_high == 0) return {-1, false, 0};
  const auto low = static_cast<std::uint32_t>(best);
  const std::uint32_t top_low = simt::max_of_warp(high == top_high ? low : 0);
  const bool top = high == top_high && low == top_low;
  const std::uint32_t v = simt::max_of_warp(top ? vertex : 0);
  return {static_cast<index_t>(v), top && vertex == v, slot};
}

/// Any number of slots, read for each choice.
class all_slots {
 public:
  GSOFA_DEVICE void load(const candidates& c, std::uint32_t slots) {
    c_ = &c;
    slots_ = slots;
  }
  [[nodiscard]] GSOFA_DEVICE choice best() const { return best_of_many(*c_, slots_); }
  GSOFA_DEVICE void drop(const choice& /*chosen*/) { simt::sync_warp(); }

 private:
  const candidates* c_ = nullptr;
  std::uint32_t slots_ = 0;
};

/// Calls body(s), where s is the view that suits this number of slots.
template <class Body>
GSOFA_DEVICE unsigned with_slots(const candidates& c, std::uint32_t slots, Body&& body) {
  if (slots <= slots_per_step) {
    held_slots<1> held;
    held.load(c, slots);
    return body(held);
  }
  if (slots <= 2 * slots_per_step && slots <= c.room) {
    held_slots<2> held;
    held.load(c, slots);
    return body(held);
  }
  if (slots <= 4 * slots_per_step && slots <= c.room) {
    held_slots<4> held;
    held.load(c, slots);
    return body(held);
  }
  all_slots all;
  all.load(c, slots);
  return body(all);
}

/// The vertices that move in a step, one for each of the first lanes.
struct step_movers {
  std::uint32_t v = 0;       ///< of this lane
  std::uint32_t weight = 0;  ///< of this lane's
  std::uint32_t total = 0;   ///< weight of all
};

/// Chooses the movers of a step, up to `wanted` of the best candidates as long as x has room for
/// all of them, and takes them off the list; returns how many there are. look(choice): the vertex
/// and its weight, in all lanes; fits(weight): whether x has room for so much; discard(): takes all
/// candidates off that do not fit alone. Slots that become free join the `free` ones.
template <class Look, class Fits, class Discard>
GSOFA_DEVICE unsigned choose_movers(const candidates& c, std::uint32_t slots, unsigned wanted,
                                    std::uint32_t* free_slots, std::uint32_t& free,
                                    step_movers& movers, Look&& look, Fits&& fits,
                                    Discard&& discard) {
  return with_slots(c, slots, [&](auto& held) {
    unsigned count = 0;
    while (count < wanted) {
      const choice chosen = held.best();
      if (chosen.v < 0) break;
      const auto [v, weight] = look(chosen);
      if (!fits(weight)) {
        discard();
        held.load(c, slots);
        continue;
      }
      if (!fits(movers.total + weight)) break;
      const bool remembers = free < most_free_slots;
      if (chosen.mine) {
        c.kill(chosen.slot);
        if (remembers) free_slots[free] = chosen.slot;
      }
      free += remembers ? 1 : 0;
      held.drop(chosen);
      if (lane_index() == count) {
        movers.v = v;
        movers.weight = weight;
      }
      movers.total += weight;
      ++count;
    }
    return count;
  });
}

/// Takes all candidates off the list whose vertices are too heavy, which `discards` tells of a slot
/// and notes: they remain so. Their slots join the `free` ones; returns how many there are then.
/// All lanes of the warp call it.
template <class Discards>
GSOFA_DEVICE std::uint32_t discard_candidates(const candidates& c, std::uint32_t slots,
                                              std::uint32_t* free_slots, std::uint32_t free,
                                              Discards&& discards) {
  simt::sync_warp();  // movers are off the list
  for (std::uint32_t base = 0; base < slots; base += 32) {
    const std::uint32_t slot = base + lane_index();
    const bool is = slot < slots && c.high_at(slot) != 0 && discards(slot);
    const unsigned mask = simt::ballot(is);
    const std::uint32_t place = free + simt::population(mask & lower_lanes());
    if (is) c.kill(slot);
    if (is && place < most_free_slots) free_slots[place] = slot;
    free += simt::population(mask);
    free = free < most_free_slots ? free : most_free_slots;
  }
  simt::sync_warp();
  return free;
}

}  // namespace gsofa::orders::device

#endif
