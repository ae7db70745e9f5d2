#pragma once

// A pass in rounds, for large S, by one block. All movers of a round leave S together. Warps read
// the rows of the movers, then the rows of the vertices that the movers draw into S. The time of a
// round is that of five barriers and of the dependent loads of a row and its vertices. It hardly
// depends on the number of movers.

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include "variants/orderings/dissection/device/round_choice.cuh"

namespace gsofa::orders::device {

/// A pass in rounds, by one block.
class trial_rounds {
 public:
  GSOFA_DEVICE trial_rounds(const block_trial& w, const round_candidates& c)
      : w_(w),
        r_(w.b.rounds),
        c_(c),
        choice_(w, c),
        log_(w.t.log + 2 * w.d.first),
        y_(1 - w.d.x),
        size_(w.d.members) {}

  GSOFA_DEVICE void run() {
    begin();
    choice_.begin();
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
      if (!choice_.choose(static_cast<index_t>(round))) break;
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
  /// All of S are candidates.
  GSOFA_DEVICE void begin() {
    if (simt::thread_index() == 0) {
      r_.slots = size_;
      r_.logged = 0;
      r_.to_x = r_.from_y = 0;
    }
    choice_.clear();
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

  /// The movers go to x, and their neighbours in y to S. Warps take rows cyclically.
  GSOFA_DEVICE void leave() {
    const std::uint32_t movers = r_.movers;
    for (std::uint32_t base = 0; base < movers; base += simt::block_size()) {
      const std::uint32_t m = base + warp_of_thread() + lane_index() * warps_of_block();
      const bool is = m < movers;
      const std::uint32_t left = is ? choice_.listed(m) : 0;
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
    choice_.clear();
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
  round_choice choice_;
  std::uint32_t* log_;
  std::uint32_t y_, size_;
};

}  // namespace gsofa::orders::device

#endif
