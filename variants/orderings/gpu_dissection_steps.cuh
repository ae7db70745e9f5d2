#pragma once

// Passes in steps, where S is small.

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include "variants/orderings/gpu_dissection_pass.cuh"

namespace gsofa::orders::device {

// ---------------------------------------------------------------------------------------- steps

/// The moves of a pass of a small trial, by one warp.
template <bool Prefetches>
class step_moves {
 public:
  GSOFA_DEVICE step_moves(const block_trial& w, const candidates& c, std::uint32_t slots)
      : w_(w),
        c_(c),
        result_(w.b.result),
        log_(w.t.log + 2 * w.d.first),
        y_(1 - w.d.x),
        salt_(static_cast<std::uint32_t>(w.d.pass_key)),
        slots_(slots),
        weight_x_(w.d.weight[w.d.x]),
        weight_y_(w.d.weight[y_]),
        weight_s_(w.d.weight[separator]),
        cost_(w.g.total[w.d.graph]) {}

  GSOFA_DEVICE void run() {
    const std::uint32_t limit = idle_limit(w_.d.members, w_.t.idle_moves);
    const unsigned wanted = movers_of_step(w_.d.members);
    const unsigned lane = lane_index();
    std::uint64_t best = cost();
    std::uint32_t kept = 0;
    offset_t best_x = 0;
    offset_t best_y = 0;
    for (std::uint32_t idle = 0; idle < limit;) {
      step_movers movers;
      const unsigned count = choose(wanted, movers);
      if (count == 0) break;
      to_x_ += static_cast<offset_t>(movers.total);
      ++moves_;
      const lane_row row = row_of(w_.g, lane < count, static_cast<index_t>(movers.v));
      if (lane < count) {
        w_.s[movers.v] = status_of(w_.d.x, start_of(w_.s[movers.v]));
        log_[logged_ + lane] = 2 * movers.v;
      }
      logged_ += count;
      simt::sync_warp();
      draw_neighbours(count, row);
      idle += count;
      if (const std::uint64_t now = cost(); now < best) {
        best = now;
        kept = logged_;
        best_x = to_x_;
        best_y = from_y_;
        idle = 0;
      }
    }
    if (lane == 0) {
      result_.kept = kept;
      result_.moved = logged_;
      result_.to_x = best_x;
      result_.from_y = best_y;
    }
  }

 private:
  [[nodiscard]] GSOFA_DEVICE std::uint64_t cost() const {
    return cost_(weight_x_ + to_x_, weight_y_ - from_y_, weight_s_ + from_y_ - to_x_);
  }
  [[nodiscard]] GSOFA_DEVICE std::uint64_t rank(index_t gain, index_t v) const {
    const index_t stamp = moves_ < most_stamp ? moves_ : most_stamp;
    return move_rank(gain, stamp, v - w_.first, salt_);
  }
  [[nodiscard]] GSOFA_DEVICE bool too_heavy(index_t weight) const {
    return too_large(weight_x_ + to_x_ + weight, weight_x_ + weight_y_);
  }
  GSOFA_DEVICE void discard_heavy() {
    free_ = discard_candidates(c_, slots_, w_.b.free_slots, free_, [&](std::uint32_t slot) {
      const std::uint32_t v = c_.vertex_at(slot);
      if (!too_heavy(static_cast<index_t>(c_.weight_at(slot)))) return false;
      w_.s[v] = status_of(separator, start_of(w_.s[v])) | (no_slot << 4);
      return true;
    });
  }
  GSOFA_DEVICE unsigned choose(unsigned wanted, step_movers& movers) {
    return choose_movers(
        c_, slots_, wanted, w_.b.free_slots, free_, movers,
        [&](const choice& chosen) {
          const std::uint32_t own = chosen.mine ? c_.weight_at(chosen.slot) : 0;
          return seen_vertex{static_cast<std::uint32_t>(chosen.v), simt::max_of_warp(own)};
        },
        [&](std::uint32_t weight) { return !too_heavy(static_cast<index_t>(weight)); },
        [&] { discard_heavy(); });
  }
  // The neighbours in y of the movers, whose rows the first `count` lanes have, come to S: up to
  // four rows at a time, each by a share of the lanes.
  GSOFA_DEVICE void draw_neighbours(unsigned count, const lane_row& mover) {
    const unsigned lane = lane_index();
    for (unsigned base = 0; base < count; base += rows_at_once) {
      const unsigned rows = count - base < rows_at_once ? count - base : rows_at_once;
      const unsigned width = rows == 1 ? 32 : rows == 2 ? 16 : 8;
      const unsigned of = base + lane / width;
      const offset_t begin = simt::shuffle(mover.begin, of % 32);
      const index_t length = simt::shuffle(mover.length, of % 32);
      const index_t end = of < count ? length : 0;
      for (auto k = static_cast<index_t>(lane % width);; k += static_cast<index_t>(width)) {
        const bool is = k < end;
        if (simt::ballot(is) == 0) break;
        const index_t u = is ? w_.g.adj[begin + k] : 0;
        neighbour n;
        if (is) n = {w_.s[u], w_.g.weight[u], row_of(w_.g, true, u)};
        bool mine = is && now_of(n.status) == y_;
        // Rows may have neighbours in common: the first lane draws.
        if (rows > 1) {
          const std::uint32_t key = mine ? static_cast<std::uint32_t>(u) : ~lane;
          const unsigned same = simt::lanes_with(key);
          mine = mine && simt::lowest_bit(same) == lane;
        }
        const unsigned mask = simt::ballot(mine);
        if (mask != 0) draw(mask, u, n);
      }
    }
    simt::sync_warp();
  }

  // The vertices u of the lanes of `mask` come to S: their pulls, and those of their neighbours in
  // S, which no longer draw them.
  GSOFA_DEVICE void draw(unsigned mask, index_t u, const neighbour& of_u) {
    const index_t weight = of_u.weight;
    const unsigned lane = lane_index();
    const bool mine = ((mask >> lane) & 1U) != 0;
    const unsigned before = simt::population(mask & lanes_below());
    simt::sync_warp();  // other lanes have read statuses of vertices drawn before
    if (mine) {
      w_.s[u] = status_of(drawn, y_);
      log_[logged_ + before] = 2 * static_cast<std::uint32_t>(u) + 1;
    }
    logged_ += simt::population(mask);
    from_y_ += simt::add_of_warp(mine ? static_cast<std::uint32_t>(weight) : 0);
    std::uint32_t pull = 0;
    simt::sync_warp();
    for_lane_rows<neighbour>(
        w_.g.adj, mask, of_u.row,
        [&](offset_t, index_t z) {
          return neighbour{w_.s[z], w_.g.weight[z], row_of(w_.g, Prefetches, z)};
        },
        [&](unsigned of, bool valid, index_t z, const neighbour& n) {
          const auto gain = simt::shuffle(static_cast<std::uint32_t>(weight), of);
          if (valid && now_of(n.status) == separator && slot_of(n.status) != no_slot) {
            c_.raise(slot_of(n.status), gain, static_cast<std::uint32_t>(rank(0, z)));
          }
          const bool pulls = valid && now_of(n.status) == y_;
          if (pulls) prefetch_row<Prefetches>(w_.g, n);
          const std::uint32_t sum =
              simt::add_of_warp(pulls ? static_cast<std::uint32_t>(n.weight) : 0);
          if (lane == of) pull += sum;
        });
    simt::sync_warp();
    // Slots that have become free are taken first.
    const unsigned used = simt::population(mask);
    const std::uint32_t again = used < free_ ? used : free_;
    if (mine) {
      const std::uint32_t slot =
          before < again ? w_.b.free_slots[free_ - 1 - before] : slots_ + before - again;
      c_.set(slot, rank(weight - static_cast<index_t>(pull), u), u);
      c_.set_weight(slot, weight);
      w_.s[u] = status_of(separator, y_) | (slot << 4);
    }
    free_ -= again;
    slots_ += used - again;
    simt::sync_warp();
  }

  const block_trial w_;
  const candidates c_;
  pass_result& result_;
  std::uint32_t* log_;
  std::uint32_t y_, salt_, slots_;
  offset_t weight_x_, weight_y_, weight_s_;
  cost_function cost_;
  std::uint32_t free_ = 0;
  std::uint32_t logged_ = 0;
  index_t moves_ = 0;
  offset_t to_x_ = 0;
  offset_t from_y_ = 0;
};

/// The moves of a pass of the block's trial. All warps look for candidates, one moves them.
template <bool Prefetches>
GSOFA_DEVICE void move_in_steps(const block_trial& w, candidates c) {
  const std::uint32_t y = 1 - w.d.x;
  c.far_high = w.t.far + 4 * w.d.first;
  c.far_low = c.far_high + w.d.n;
  c.far_vertex = c.far_low + w.d.n;
  c.far_weight = c.far_vertex + w.d.n;
  c.groups = reinterpret_cast<slot_group*>(w.t.spare + w.d.first);
  for (std::uint32_t k = simt::thread_index(); k < c.room; k += simt::block_size()) c.high[k] = 0;
  if (simt::thread_index() == 0) w.b.count = 0;
  simt::sync_block();
  for_batches(w.members(), w.d.members, [&](bool is, index_t v) {
    const index_t own = is ? w.g.weight[v] : 0;
    std::uint32_t pull = 0;
    for_lane_rows<neighbour>(
        w.g.adj, simt::ballot(is), row_of(w.g, is, v),
        [&](offset_t, index_t u) {
          return neighbour{w.s[u], w.g.weight[u], row_of(w.g, Prefetches, u)};
        },
        [&](unsigned row, bool valid, index_t, const neighbour& n) {
          const bool in_y = valid && start_of(n.status) == y;
          if (in_y) prefetch_row<Prefetches>(w.g, n);
          const std::uint32_t sum =
              simt::add_of_warp(in_y ? static_cast<std::uint32_t>(n.weight) : 0);
          if (lane_index() == row) pull += sum;
        });
    const std::uint32_t slot = next_place(&w.b.count, is);
    if (!is) return;
    c.set(slot,
          move_rank(own - static_cast<index_t>(pull), 0, v - w.first,
                    static_cast<std::uint32_t>(w.d.pass_key)),
          v);
    c.set_weight(slot, own);
    w.s[v] = settled(separator) | (slot << 4);
  });
  simt::sync_block();
  if (warp_of_thread() == 0) step_moves<Prefetches>(w, c, w.b.count).run();
  simt::sync_block();
}

// ------------------------------------------------------------------- moves in shared memory

/// In shared memory the graph of a small trial: its vertices by local number.
struct near_graph {
  std::uint32_t *begin, *end, *weight, *status;
  std::uint16_t* adj;

  static constexpr std::size_t bytes(offset_t n, offset_t entries) {
    return static_cast<std::size_t>(16 * n + 2 * entries);
  }
};
GSOFA_DEVICE near_graph near_graph_at(unsigned char* place, std::uint32_t n) {
  auto* const words = reinterpret_cast<std::uint32_t*>(place);
  return {words, words + n, words + 2 * n, words + 3 * n,
          reinterpret_cast<std::uint16_t*>(words + 4 * n)};
}

/// From lengths of rows, in `end`, their places. All threads; returns the sum of the lengths.
GSOFA_DEVICE std::uint32_t place_rows(const block_trial& w, const near_graph& h, std::uint32_t n) {
  simt::sync_block();
  if (warp_of_thread() == 0) {
    const unsigned lane = lane_index();
    std::uint32_t before = 0;
    for (std::uint32_t base = 0; base < n; base += 32) {
      const std::uint32_t k = base + lane;
      const std::uint32_t own = k < n ? h.end[k] : 0;
      std::uint32_t sum = own;
      for (unsigned step = 1; step < 32; step *= 2) {
        const std::uint32_t other = simt::shuffle_up(sum, step);
        if (lane >= step) sum += other;
      }
      if (k < n) {
        h.begin[k] = before + sum - own;
        h.end[k] = before + sum;
      }
      before += simt::shuffle(sum, 31);
    }
    if (lane == 0) w.b.count = before;
  }
  simt::sync_block();
  const std::uint32_t total = w.b.count;
  simt::sync_block();
  return total;
}

/// Copies the graph of the block's trial; all threads.
GSOFA_DEVICE void load_graph(const block_trial& w, const near_graph& h) {
  const auto n = static_cast<std::uint32_t>(w.d.n);
  for (std::uint32_t k = simt::thread_index(); k < n; k += simt::block_size()) {
    const index_t v = w.first + static_cast<index_t>(k);
    h.end[k] = static_cast<std::uint32_t>(w.g.end[v] - w.g.begin[v]);
    h.weight[k] = static_cast<std::uint32_t>(w.g.weight[v]);
  }
  place_rows(w, h, n);
  for (std::uint32_t base = warp_of_thread() * 32; base < n; base += warps_of_block() * 32) {
    const std::uint32_t k = base + lane_index();
    const bool is = k < n;
    const lane_row row = row_of(w.g, is, w.first + static_cast<index_t>(is ? k : 0));
    // From an entry's place to that in shared memory.
    const offset_t shift = is ? static_cast<offset_t>(h.begin[k]) - row.begin : 0;
    for_lane_rows<offset_t>(
        w.g.adj, simt::ballot(is), row, [](offset_t e, index_t) { return e; },
        [&](unsigned of, bool valid, index_t u, offset_t e) {
          const offset_t to = simt::shuffle(shift, of) + e;
          if (valid) h.adj[to] = static_cast<std::uint16_t>(u - w.first);
        });
  }
  simt::sync_block();
}

/// The moves of step_moves on a graph in shared memory, by one warp. Candidates tell vertices by
/// their numbers in the trial's graph.
class near_moves {
 public:
  GSOFA_DEVICE near_moves(const block_trial& w, const near_graph& h, const candidates& c,
                          std::uint32_t slots)
      : w_(w),
        h_(h),
        c_(c),
        result_(w.b.result),
        log_(w.t.log + 2 * w.d.first),
        y_(1 - w.d.x),
        salt_(static_cast<std::uint32_t>(w.d.pass_key)),
        slots_(slots),
        weight_x_(static_cast<index_t>(w.d.weight[w.d.x])),
        weight_y_(static_cast<index_t>(w.d.weight[y_])),
        weight_s_(static_cast<index_t>(w.d.weight[separator])),
        room_x_(largest_side(w.d.weight[side_a] + w.d.weight[side_b]) - w.d.weight[w.d.x]),
        cost_(w.g.total[w.d.graph]) {}

  GSOFA_DEVICE void run() {
    const std::uint32_t limit = idle_limit(w_.d.members, w_.t.idle_moves);
    const std::uint32_t lane = lane_index();
    std::uint64_t best = cost();
    std::uint32_t kept = 0;
    index_t best_x = 0;
    index_t best_y = 0;
    const unsigned wanted = movers_of_step(w_.d.members);
    for (std::uint32_t idle = 0; idle < limit;) {
      step_movers movers;
      const unsigned count = choose(wanted, movers);
      if (count == 0) break;
      to_x_ += static_cast<index_t>(movers.total);
      ++moves_;
      if (lane < count) {
        h_.status[movers.v] = status_of(w_.d.x, separator);
        log_[logged_ + lane] = 2 * (static_cast<std::uint32_t>(w_.first) + movers.v);
      }
      logged_ += count;
      simt::sync_warp();
      draw_neighbours(count, movers.v);
      simt::sync_warp();
      idle += count;
      if (const std::uint64_t now = cost(); now < best) {
        best = now;
        kept = logged_;
        best_x = to_x_;
        best_y = from_y_;
        idle = 0;
      }
    }
    if (lane == 0) {
      result_.kept = kept;
      result_.moved = logged_;
      result_.to_x = best_x;
      result_.from_y = best_y;
    }
  }

 private:
  [[nodiscard]] GSOFA_DEVICE std::uint64_t cost() const {
    return cost_(weight_x_ + to_x_, weight_y_ - from_y_, weight_s_ + from_y_ - to_x_);
  }
  GSOFA_DEVICE unsigned choose(unsigned wanted, step_movers& movers) {
    return choose_movers(
        c_, slots_, wanted, w_.b.free_slots, free_, movers,
        [&](const choice& chosen) {
          const auto v = static_cast<std::uint32_t>(chosen.v);
          return seen_vertex{v, h_.weight[v]};
        },
        [&](std::uint32_t weight) { return to_x_ + static_cast<offset_t>(weight) <= room_x_; },
        [&] { discard_heavy(); });
  }
  GSOFA_DEVICE void discard_heavy() {
    free_ = discard_candidates(c_, slots_, w_.b.free_slots, free_, [&](std::uint32_t slot) {
      const std::uint32_t v = c_.vertex_at(slot);
      if (to_x_ + static_cast<index_t>(h_.weight[v]) <= room_x_) return false;
      h_.status[v] |= no_slot << 4;
      return true;
    });
  }

  /// The neighbours in y of the movers, of the first `count` lanes, come to S: up to four rows at a
  /// time, each by a share of the lanes.
  GSOFA_DEVICE void draw_neighbours(unsigned count, std::uint32_t mover) {
    const unsigned lane = lane_index();
    for (unsigned base = 0; base < count; base += most_rows) {
      const unsigned rows = count - base < most_rows ? count - base : most_rows;
      const unsigned width = rows == 1 ? 32 : rows == 2 ? 16 : 8;
      const unsigned of = base + lane / width;
      const std::uint32_t from = simt::shuffle(mover, of % 32);
      const std::uint32_t end = of < count ? h_.end[from] : 0;
      std::uint32_t k = of < count ? h_.begin[from] + lane % width : 0;
      for (;; k += width) {
        const bool is = k < end;
        if (simt::ballot(is) == 0) break;
        const std::uint32_t u = is ? h_.adj[k] : 0;
        const std::uint32_t status = is ? h_.status[u] : settled(w_.d.x);
        simt::sync_warp();  // all lanes have read before one draws
        // Rows may have neighbours in common.
        const bool drawn_here =
            now_of(status) == y_ &&
            (rows == 1 || simt::atomic_cas(h_.status + u, status,
                                           status_of(drawn, y_) | (no_slot << 4)) == status);
        const unsigned mask = simt::ballot(drawn_here);
        if (mask != 0) draw(mask, u);
      }
    }
  }

  // The vertices u of the lanes of `mask` come to S.
  GSOFA_DEVICE void draw(unsigned mask, std::uint32_t u) {
    const std::uint32_t lane = lane_index();
    const bool mine = ((mask >> lane) & 1U) != 0;
    const unsigned before = simt::population(mask & lanes_below());
    const unsigned arrivals = simt::population(mask);
    const std::uint32_t weight = mine ? h_.weight[u] : 0;
    const auto own_number = static_cast<index_t>(u);
    simt::sync_warp();  // all lanes have tried to draw
    if (mine) {
      h_.status[u] = status_of(drawn, y_) | (no_slot << 4);
      log_[logged_ + before] = 2 * static_cast<std::uint32_t>(w_.first + own_number) + 1;
    }
    logged_ += arrivals;
    from_y_ += static_cast<index_t>(simt::add_of_warp(weight));
    const index_t stamp = moves_ < most_stamp ? moves_ : most_stamp;
    simt::sync_warp();
    const std::uint32_t pull = pull_and_raise(mask, u, weight, before, stamp);
    simt::sync_warp();
    // Slots that have become free are taken first.
    const std::uint32_t used = arrivals;
    const std::uint32_t again = used < free_ ? used : free_;
    if (mine) {
      const std::uint32_t slot =
          before < again ? w_.b.free_slots[free_ - 1 - before] : slots_ + before - again;
      const index_t gain = static_cast<index_t>(weight) - static_cast<index_t>(pull);
      c_.set(slot, move_rank(gain, stamp, own_number, salt_), own_number);
      h_.status[u] = status_of(separator, y_) | (slot << 4);
    }
    free_ -= again;
    slots_ += used - again;
    simt::sync_warp();
  }

  /// The pulls of the vertices u of the lanes of `mask`, each in its lane; their neighbours in S
  /// gain what no longer draws them. Up to four rows at a time, each by a share of the lanes.
  GSOFA_DEVICE std::uint32_t pull_and_raise(unsigned mask, std::uint32_t u, std::uint32_t weight,
                                            unsigned before, index_t stamp) const {
    const unsigned lane = lane_index();
    const bool mine = ((mask >> lane) & 1U) != 0;
    std::uint32_t pull = 0;
    unsigned base = 0;
    for (unsigned left = mask; left != 0; base += most_rows) {
      const unsigned rows = simt::population(left);
      const unsigned width = rows == 1 ? 32 : rows == 2 ? 16 : 8;
      const unsigned own = lane / width;
      unsigned of = 32;
      GSOFA_UNROLL for (unsigned k = 0; k < most_rows; ++k) {
        if (left == 0) continue;
        if (own == k) of = simt::lowest_bit(left);
        left &= left - 1;
      }
      const std::uint32_t from = simt::shuffle(u, of % 32);
      const std::uint32_t gain = simt::shuffle(weight, of % 32);
      const std::uint32_t end = of < 32 ? h_.end[from] : 0;
      std::uint32_t pulled = 0;
      for (std::uint32_t k = of < 32 ? h_.begin[from] + lane % width : 0; k < end; k += width) {
        const std::uint32_t z = h_.adj[k];
        const std::uint32_t status = h_.status[z];
        if (now_of(status) == y_) pulled += h_.weight[z];
        if (now_of(status) == separator && slot_of(status) != no_slot) {
          const std::uint64_t rank = move_rank(0, stamp, static_cast<index_t>(z), salt_);
          c_.raise(slot_of(status), gain, static_cast<std::uint32_t>(rank));
        }
      }
      for (unsigned step = width / 2; step > 0; step /= 2) {
        pulled += simt::shuffle_xor(pulled, step);
      }
      const std::uint32_t result = simt::shuffle(pulled, (before - base) * width % 32);
      if (mine && before >= base && before < base + most_rows) pull = result;
    }
    return pull;
  }

  static constexpr unsigned most_rows = 4;
  const block_trial& w_;
  const near_graph h_;
  const candidates c_;
  pass_result& result_;
  std::uint32_t* log_;
  std::uint32_t y_, salt_, slots_;
  // Sums of weights are at most the number of vertices of the whole graph.
  index_t weight_x_, weight_y_, weight_s_;
  offset_t room_x_;  ///< weight that x may still gain
  small_cost_function cost_;
  std::uint32_t free_ = 0;
  std::uint32_t logged_ = 0;
  index_t moves_ = 0;
  index_t to_x_ = 0;
  index_t from_y_ = 0;
};

/// The statuses of all vertices at the start of a pass.
GSOFA_DEVICE void load_statuses(const block_trial& w, const near_graph& h) {
  for (std::uint32_t k = simt::thread_index(); k < static_cast<std::uint32_t>(w.d.n);
       k += simt::block_size()) {
    h.status[k] = settled(w.t.side[w.d.first + k]);
  }
  simt::sync_block();
}

/// Candidates of all of S, each in the slot of its number in the list. A warp takes 32 of them,
/// four rows at a time.
GSOFA_DEVICE void set_candidates(const block_trial& w, const near_graph& h, const candidates& c) {
  constexpr std::uint32_t width = 8;  // lanes of a row
  constexpr std::uint32_t rows = 32 / width;
  const std::uint32_t y = 1 - w.d.x;
  const std::uint32_t lane = lane_index();
  const index_t* const members = w.members();
  const auto salt = static_cast<std::uint32_t>(w.d.pass_key);
  for (std::uint32_t base = 32 * warp_of_thread(); base < w.d.members;
       base += 32 * warps_of_block()) {
    const std::uint32_t slot = base + lane;
    const bool is = slot < w.d.members;
    const auto v = static_cast<std::uint32_t>(is ? members[slot] - w.first : 0);
    const std::uint32_t begin_of_v = is ? h.begin[v] : 0;
    const std::uint32_t end_of_v = is ? h.end[v] : 0;
    const std::uint32_t count = w.d.members - base < 32 ? w.d.members - base : 32;
    std::uint32_t pull = 0;
    for (std::uint32_t row = 0; row < count; row += rows) {
      const std::uint32_t of = row + lane / width;
      const std::uint32_t end = simt::shuffle(end_of_v, of);
      std::uint32_t sum = 0;
      for (std::uint32_t e = simt::shuffle(begin_of_v, of) + lane % width; e < end; e += width) {
        const std::uint32_t u = h.adj[e];
        if (start_of(h.status[u]) == y) sum += h.weight[u];
      }
      for (unsigned step = width / 2; step > 0; step /= 2) sum += simt::shuffle_xor(sum, step);
      const std::uint32_t result = simt::shuffle(sum, lane % rows * width);
      if (lane / rows == row / rows) pull = result;
    }
    if (!is) continue;
    const index_t gain = static_cast<index_t>(h.weight[v]) - static_cast<index_t>(pull);
    const auto number = static_cast<index_t>(v);
    c.set(slot, move_rank(gain, 0, number, salt), number);
  }
}

/// The moves of a pass on the graph of a small trial in shared memory, whose statuses are those of
/// the pass's start. All warps look for candidates, one moves them. The states in global memory
/// remain as they are.
GSOFA_DEVICE void move_near(const block_trial& w, const near_graph& h, candidates c) {
  const index_t* const members = w.members();
  c.far_high = w.t.far + 4 * w.d.first;
  c.far_low = c.far_high + w.d.n;
  c.far_vertex = c.far_low + w.d.n;
  c.far_weight = c.far_vertex + w.d.n;
  for (std::uint32_t k = simt::thread_index(); k < c.room; k += simt::block_size()) c.high[k] = 0;
  simt::sync_block();
  set_candidates(w, h, c);
  // Other warps have read the states of members until here.
  simt::sync_block();
  for (std::uint32_t k = simt::thread_index(); k < w.d.members; k += simt::block_size()) {
    h.status[static_cast<std::uint32_t>(members[k] - w.first)] = settled(separator) | (k << 4);
  }
  simt::sync_block();
  if (warp_of_thread() == 0) near_moves(w, h, c, w.d.members).run();
  simt::sync_block();
}

/// vertices of S, which get new ones as candidates.
GSOFA_DEVICE void settle_statuses(const block_trial& w, const near_graph& h) {
  for_log(w, [&](bool is, index_t v, bool, bool) {
    if (is) h.status[v - w.first] = settled(w.t.side[w.shift + v]);
  });
  simt::sync_block();
}

}  // namespace gsofa::orders::device

#endif
