#pragma once

// A pass in steps, where S is small: a chain of moves by one warp. A step moves the candidates of
// the highest ranks, up to four, reads their rows and the states of their neighbours, and for those
// that come to S their rows and the states of theirs.
//
// Candidates, the vertices of S that may move, have slots in shared memory. Slots of vertices that
// have moved are used again, so that the list is about as long as S. A slot holds the rank of
// move_rank() in two words: its high word is the gain plus 2^31, to which drawn neighbours add
// their weights.

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include "variants/orderings/dissection/device/step_graphs.cuh"

namespace gsofa::orders::device {

/// The moves of a pass, by one warp. Graph: far_graph or near_graph.
template <class Graph>
class step_moves {
 public:
  GSOFA_DEVICE step_moves(const block_trial& w, const Graph& g, const candidates& c)
      : g_(g),
        c_(c),
        result_(w.b.result),
        free_slots_(w.b.free_slots),
        log_(w.t.log + 2 * w.d.first),
        x_(w.d.x),
        y_(1 - w.d.x),
        salt_(static_cast<std::uint32_t>(w.d.pass_key)),
        slots_(w.d.members),
        limit_(idle_limit(w.d.members, w.t.idle_moves)),
        wanted_(movers_of_step(w.d.members)),
        weight_x_(static_cast<sum_type>(w.d.weight[w.d.x])),
        weight_y_(static_cast<sum_type>(w.d.weight[1 - w.d.x])),
        weight_s_(static_cast<sum_type>(w.d.weight[separator])),
        room_x_(largest_side(w.d.weight[side_a] + w.d.weight[side_b]) - w.d.weight[w.d.x]),
        cost_(w.g.total[w.d.graph]) {}

  GSOFA_DEVICE void run() {
    std::uint64_t best = cost();
    std::uint32_t kept = 0;
    sum_type best_x = 0;
    sum_type best_y = 0;
    for (std::uint32_t idle = 0; idle < limit_;) {
      step_movers movers;
      const unsigned count = choose(movers);
      if (count == 0) break;
      leave(count, movers);
      draw_neighbours(count, movers.v);
      idle += count;
      if (const std::uint64_t now = cost(); now < best) {
        best = now;
        kept = logged_;
        best_x = to_x_;
        best_y = from_y_;
        idle = 0;
      }
    }
    if (lane_index() == 0) {
      result_.kept = kept;
      result_.moved = logged_;
      result_.to_x = best_x;
      result_.from_y = best_y;
    }
  }

 private:
  using sum_type = typename Graph::sum_type;

  [[nodiscard]] GSOFA_DEVICE std::uint64_t cost() const {
    return cost_(weight_x_ + to_x_, weight_y_ - from_y_, weight_s_ + from_y_ - to_x_);
  }
  [[nodiscard]] GSOFA_DEVICE std::uint64_t rank(index_t gain, std::uint32_t v) const {
    const index_t stamp = moves_ < most_stamp ? moves_ : most_stamp;
    return move_rank(gain, stamp, g_.local(v), salt_);
  }
  /// Whether x has room for so much.
  [[nodiscard]] GSOFA_DEVICE bool fits(std::uint32_t weight) const {
    return to_x_ + static_cast<offset_t>(weight) <= room_x_;
  }

  GSOFA_DEVICE unsigned choose(step_movers& movers) {
    return choose_movers(
        c_, slots_, wanted_, free_slots_, free_, movers,
        [&](const choice& chosen) { return g_.look(c_, chosen); },
        [&](std::uint32_t weight) { return fits(weight); }, [&] { discard_heavy(); });
  }
  GSOFA_DEVICE void discard_heavy() {
    free_ = discard_candidates(c_, slots_, free_slots_, free_, [&](std::uint32_t slot) {
      if (fits(g_.weight_at(c_, slot))) return false;
      g_.status(c_.vertex_at(slot)) |= no_slot << 4;
      return true;
    });
  }

  /// The movers, one for each of the first `count` lanes, go to x.
  GSOFA_DEVICE void leave(unsigned count, const step_movers& movers) {
    to_x_ += static_cast<sum_type>(movers.total);
    ++moves_;
    if (lane_index() < count) {
      vertex_status& status = g_.status(movers.v);
      status = status_of(x_, start_of(status));
      log_[logged_ + lane_index()] = 2 * g_.global(movers.v);
    }
    logged_ += count;
    simt::sync_warp();
  }

  /// The neighbours in y of the movers come to S: up to four rows at a time, each by a share of the
  /// lanes.
  GSOFA_DEVICE void draw_neighbours(unsigned count, std::uint32_t mover) {
    const unsigned lane = lane_index();
    const auto row = g_.row_of(lane < count, mover);
    for (unsigned base = 0; base < count; base += rows_at_once) {
      const unsigned rows = count - base < rows_at_once ? count - base : rows_at_once;
      const unsigned width = lanes_of_rows(rows);
      const unsigned of = base + lane / width;
      const auto begin = simt::shuffle(row.begin, of % 32);
      const index_t length = simt::shuffle(row.length, of % 32);
      const auto end = static_cast<std::uint32_t>(of < count ? length : 0);
      for (std::uint32_t k = lane % width;; k += width) {
        const bool is = k < end;
        if (simt::ballot(is) == 0) break;
        const std::uint32_t u = is ? g_.neighbour_at(begin + k) : 0;
        decltype(g_.see(u)) n;
        if (is) n = g_.see(u);
        const bool mine = g_.claims(is && now_of(n.status) == y_, rows, u, n.status, y_);
        const unsigned mask = simt::ballot(mine);
        if (mask != 0) draw(mask, u, n);
      }
    }
    simt::sync_warp();
  }

  /// The vertices u of the lanes of `mask` come to S: their pulls, and those of their neighbours in
  /// S, which no longer draw them.
  template <class Neighbour>
  GSOFA_DEVICE void draw(unsigned mask, std::uint32_t u, const Neighbour& n) {
    const bool mine = ((mask >> lane_index()) & 1U) != 0;
    const unsigned before = simt::population(mask & lower_lanes());
    const unsigned arrivals = simt::population(mask);
    const std::uint32_t weight = mine ? g_.weight(n, u) : 0;
    simt::sync_warp();  // other lanes have read statuses of vertices drawn before
    if (mine) {
      g_.status(u) = status_of(drawn, y_) | (no_slot << 4);
      log_[logged_ + before] = 2 * g_.global(u) + 1;
    }
    logged_ += arrivals;
    from_y_ += static_cast<sum_type>(simt::add_of_warp(weight));
    simt::sync_warp();
    const std::uint32_t pull = g_.pull_and_raise(
        mask, u, n, y_, [&](std::uint32_t slot, std::uint32_t gain, std::uint32_t z) {
          c_.raise(slot, gain, static_cast<std::uint32_t>(rank(0, z)));
        });
    simt::sync_warp();
    // Slots that have become free are taken first.
    const std::uint32_t again = arrivals < free_ ? arrivals : free_;
    if (mine) {
      const std::uint32_t slot =
          before < again ? free_slots_[free_ - 1 - before] : slots_ + before - again;
      const index_t gain = static_cast<index_t>(weight) - static_cast<index_t>(pull);
      c_.set(slot, rank(gain, u), static_cast<index_t>(u));
      g_.set_weight(c_, slot, weight);
      g_.status(u) = status_of(separator, y_) | (slot << 4);
    }
    free_ -= again;
    slots_ += arrivals - again;
    simt::sync_warp();
  }

  const Graph g_;
  const candidates c_;
  pass_result& result_;
  std::uint32_t* free_slots_;
  std::uint32_t* log_;
  std::uint32_t x_, y_, salt_, slots_, limit_, wanted_;
  sum_type weight_x_, weight_y_, weight_s_;
  offset_t room_x_;  ///< weight that x could gain at the start
  typename Graph::cost_type cost_;
  std::uint32_t free_ = 0;
  std::uint32_t logged_ = 0;
  index_t moves_ = 0;
  sum_type to_x_ = 0;
  sum_type from_y_ = 0;
};

/// The moves of a pass of the block's trial. All warps look for candidates, one moves them. On a
/// near_graph the states in global memory remain as they are.
template <class Graph>
GSOFA_DEVICE void move_in_steps(const block_trial& w, const Graph& g, candidates c) {
  c.far_high = w.t.far + 4 * w.d.first;
  c.far_low = c.far_high + w.d.n;
  c.far_vertex = c.far_low + w.d.n;
  c.far_weight = c.far_vertex + w.d.n;
  for (std::uint32_t k = simt::thread_index(); k < c.room; k += simt::block_size()) c.high[k] = 0;
  simt::sync_block();
  g.set_candidates(w, c);
  simt::sync_block();
  if (warp_of_thread() == 0) step_moves<Graph>(w, g, c).run();
  simt::sync_block();
}

}  // namespace gsofa::orders::device

#endif
