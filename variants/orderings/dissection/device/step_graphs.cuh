#pragma once

// The graphs that steps move vertices of, with one interface: in global memory (far_graph) or
// copied to shared memory (near_graph). Unless a comment says so, all lanes of a warp call a
// function.

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include "variants/orderings/dissection/device/pass.cuh"

namespace gsofa::orders::device {

/// The vertex that a warp looks at.
struct seen_vertex {
  std::uint32_t v, weight;
};

/// Lanes that share a row if a warp takes `rows` rows (at most four) at a time.
GSOFA_DEVICE unsigned lanes_of_rows(unsigned rows) { return rows == 1 ? 32 : rows == 2 ? 16 : 8; }

/// The graph of a trial in global memory. Vertices have the numbers of the level. Prefetches: rows
/// that the moves may need next, of large graphs, whose rows are not in L1.
template <bool Prefetches>
class far_graph {
 public:
  using sum_type = offset_t;  ///< of weights
  using cost_type = cost_function;

  GSOFA_DEVICE explicit far_graph(const block_trial& w) : g_(w.g), s_(w.s), first_(w.first) {}

  /// Number in the trial's graph, and among the vertices of the level.
  [[nodiscard]] GSOFA_DEVICE index_t local(std::uint32_t v) const {
    return static_cast<index_t>(v) - first_;
  }
  [[nodiscard]] GSOFA_DEVICE std::uint32_t global(std::uint32_t v) const { return v; }
  [[nodiscard]] GSOFA_DEVICE vertex_status& status(std::uint32_t v) const { return s_[v]; }
  [[nodiscard]] GSOFA_DEVICE lane_row row_of(bool is, std::uint32_t v) const {
    return device::row_of(g_, is, static_cast<index_t>(v));
  }
  [[nodiscard]] GSOFA_DEVICE std::uint32_t neighbour_at(offset_t place) const {
    return static_cast<std::uint32_t>(g_.adj[place]);
  }
  [[nodiscard]] GSOFA_DEVICE neighbour see(std::uint32_t u) const {
    return {s_[u], g_.weight[u], row_of(true, u)};
  }
  [[nodiscard]] GSOFA_DEVICE std::uint32_t weight(const neighbour& n, std::uint32_t) const {
    return static_cast<std::uint32_t>(n.weight);
  }

  /// The candidate that has been chosen. Slots hold weights.
  [[nodiscard]] GSOFA_DEVICE seen_vertex look(const candidates& c, const choice& chosen) const {
    const std::uint32_t own = chosen.mine ? c.weight_at(chosen.slot) : 0;
    return {static_cast<std::uint32_t>(chosen.v), simt::max_of_warp(own)};
  }
  [[nodiscard]] GSOFA_DEVICE std::uint32_t weight_at(const candidates& c,
                                                     std::uint32_t slot) const {
    return c.weight_at(slot);
  }
  GSOFA_DEVICE void set_weight(const candidates& c, std::uint32_t slot,
                               std::uint32_t weight) const {
    c.set_weight(slot, static_cast<index_t>(weight));
  }

  /// Of the lanes with the same u, which is in y, one; `rows` rows may have neighbours in common.
  GSOFA_DEVICE bool claims(bool is_in_y, unsigned rows, std::uint32_t u, vertex_status,
                           std::uint32_t) const {
    if (rows == 1) return is_in_y;
    const unsigned same = simt::lanes_with(is_in_y ? u : ~lane_index());
    return is_in_y && simt::lowest_bit(same) == lane_index();
  }

  /// The weights of the neighbours in y of the vertices of the lanes of `mask`, each in its lane;
  /// raise(slot, weight, z) for their neighbours z among the candidates. of_u: of the lane's
  /// vertex.
  template <class Raise>
  GSOFA_DEVICE std::uint32_t pull_and_raise(unsigned mask, std::uint32_t, const neighbour& of_u,
                                            std::uint32_t y, Raise&& raise) const {
    std::uint32_t pull = 0;
    for_lane_rows<neighbour>(
        g_.adj, mask, of_u.row,
        [&](offset_t, index_t z) {
          return neighbour{s_[z], g_.weight[z], device::row_of(g_, Prefetches, z)};
        },
        [&](unsigned of, bool valid, index_t z, const neighbour& n) {
          const auto gain = simt::shuffle(static_cast<std::uint32_t>(of_u.weight), of);
          if (valid && now_of(n.status) == separator && slot_of(n.status) != no_slot) {
            raise(slot_of(n.status), gain, static_cast<std::uint32_t>(z));
          }
          const bool pulls = valid && now_of(n.status) == y;
          if (pulls) prefetch_row<Prefetches>(g_, n);
          const std::uint32_t sum =
              simt::add_of_warp(pulls ? static_cast<std::uint32_t>(n.weight) : 0);
          if (lane_index() == of) pull += sum;
        });
    return pull;
  }

  /// All of S are candidates, each in the slot of its place in the list; the whole block.
  GSOFA_DEVICE void set_candidates(const block_trial& w, candidates& c) const {
    const std::uint32_t y = 1 - w.d.x;
    c.groups = reinterpret_cast<slot_group*>(w.t.spare + w.d.first);
    for_batches(w.members(), w.d.members, [&](bool is, index_t v, std::uint32_t slot) {
      const index_t own = is ? g_.weight[v] : 0;
      std::uint32_t pull = 0;
      for_lane_rows<neighbour>(
          g_.adj, simt::ballot(is), device::row_of(g_, is, v),
          [&](offset_t, index_t u) {
            return neighbour{s_[u], g_.weight[u], device::row_of(g_, Prefetches, u)};
          },
          [&](unsigned row, bool valid, index_t, const neighbour& n) {
            const bool in_y = valid && start_of(n.status) == y;
            if (in_y) prefetch_row<Prefetches>(g_, n);
            const std::uint32_t sum =
                simt::add_of_warp(in_y ? static_cast<std::uint32_t>(n.weight) : 0);
            if (lane_index() == row) pull += sum;
          });
      if (!is) return;
      c.set(slot,
            move_rank(own - static_cast<index_t>(pull), 0, v - first_,
                      static_cast<std::uint32_t>(w.d.pass_key)),
            v);
      c.set_weight(slot, own);
      s_[v] = settled(separator) | (slot << 4);
    });
  }

 private:
  const level_view& g_;
  vertex_status* s_;
  index_t first_;
};

/// The graph of a small trial in shared memory. Vertices have their numbers in the trial's graph.
class near_graph {
 public:
  using sum_type =
      index_t;  ///< of weights, which are at most the number of vertices of the pattern
  using cost_type = small_cost_function;
  /// A row, one for each lane.
  struct row_type {
    std::uint32_t begin = 0;
    index_t length = 0;
  };
  /// What a move sees of a neighbour.
  struct seen_neighbour {
    vertex_status status = 0;
  };

  /// Bytes of a graph of n vertices.
  static constexpr std::size_t bytes(offset_t n, offset_t entries) {
    return static_cast<std::size_t>(16 * n + 2 * entries);
  }
  GSOFA_DEVICE near_graph(unsigned char* place, std::uint32_t n, index_t first)
      : begin_(reinterpret_cast<std::uint32_t*>(place)),
        end_(begin_ + n),
        weight_(end_ + n),
        status_(weight_ + n),
        adj_(reinterpret_cast<std::uint16_t*>(status_ + n)),
        first_(static_cast<std::uint32_t>(first)) {}

  [[nodiscard]] GSOFA_DEVICE index_t local(std::uint32_t v) const {
    return static_cast<index_t>(v);
  }
  [[nodiscard]] GSOFA_DEVICE std::uint32_t global(std::uint32_t v) const { return first_ + v; }
  [[nodiscard]] GSOFA_DEVICE vertex_status& status(std::uint32_t v) const { return status_[v]; }
  [[nodiscard]] GSOFA_DEVICE row_type row_of(bool is, std::uint32_t v) const {
    if (!is) return {};
    return {begin_[v], static_cast<index_t>(end_[v] - begin_[v])};
  }
  [[nodiscard]] GSOFA_DEVICE std::uint32_t neighbour_at(std::uint32_t place) const {
    return adj_[place];
  }
  [[nodiscard]] GSOFA_DEVICE seen_neighbour see(std::uint32_t u) const { return {status_[u]}; }
  [[nodiscard]] GSOFA_DEVICE std::uint32_t weight(const seen_neighbour&, std::uint32_t u) const {
    return weight_[u];
  }

  [[nodiscard]] GSOFA_DEVICE seen_vertex look(const candidates&, const choice& chosen) const {
    const auto v = static_cast<std::uint32_t>(chosen.v);
    return {v, weight_[v]};
  }
  [[nodiscard]] GSOFA_DEVICE std::uint32_t weight_at(const candidates& c,
                                                     std::uint32_t slot) const {
    return weight_[c.vertex_at(slot)];
  }
  GSOFA_DEVICE void set_weight(const candidates&, std::uint32_t, std::uint32_t) const {}

  /// As of far_graph; `status` is that of u.
  GSOFA_DEVICE bool claims(bool is_in_y, unsigned rows, std::uint32_t u, vertex_status status,
                           std::uint32_t y) const {
    simt::sync_warp();  // all lanes have read before one draws
    return is_in_y &&
           (rows == 1 ||
            simt::atomic_cas(status_ + u, status, status_of(drawn, y) | (no_slot << 4)) == status);
  }

  /// As of far_graph: up to four rows at a time, each by a share of the lanes.
  template <class Raise>
  GSOFA_DEVICE std::uint32_t pull_and_raise(unsigned mask, std::uint32_t u, const seen_neighbour&,
                                            std::uint32_t y, Raise&& raise) const {
    const unsigned lane = lane_index();
    const bool mine = ((mask >> lane) & 1U) != 0;
    const unsigned before = simt::population(mask & lower_lanes());
    const std::uint32_t weight = mine ? weight_[u] : 0;
    std::uint32_t pull = 0;
    unsigned base = 0;
    for (unsigned left = mask; left != 0; base += rows_at_once) {
      const unsigned width = lanes_of_rows(simt::population(left));
      const unsigned own = lane / width;
      unsigned of = 32;
      GSOFA_UNROLL for (unsigned k = 0; k < rows_at_once; ++k) {
        if (left == 0) continue;
        if (own == k) of = simt::lowest_bit(left);
        left &= left - 1;
      }
      const std::uint32_t from = simt::shuffle(u, of % 32);
      const std::uint32_t gain = simt::shuffle(weight, of % 32);
      const std::uint32_t end = of < 32 ? end_[from] : 0;
      std::uint32_t pulled = 0;
      for (std::uint32_t k = of < 32 ? begin_[from] + lane % width : 0; k < end; k += width) {
        const std::uint32_t z = adj_[k];
        const std::uint32_t status = status_[z];
        if (now_of(status) == y) pulled += weight_[z];
        if (now_of(status) == separator && slot_of(status) != no_slot) {
          raise(slot_of(status), gain, z);
        }
      }
      for (unsigned step = width / 2; step > 0; step /= 2) {
        pulled += simt::shuffle_xor(pulled, step);
      }
      const std::uint32_t result = simt::shuffle(pulled, (before - base) * width % 32);
      if (mine && before >= base && before < base + rows_at_once) pull = result;
    }
    return pull;
  }

  /// As of far_graph. A warp takes 32 candidates, four rows at a time.
  GSOFA_DEVICE void set_candidates(const block_trial& w, candidates& c) const {
    constexpr std::uint32_t width = 32 / rows_at_once;  // lanes of a row
    const std::uint32_t y = 1 - w.d.x;
    const auto salt = static_cast<std::uint32_t>(w.d.pass_key);
    for_batches(w.members(), w.d.members, [&](bool is, index_t member, std::uint32_t slot) {
      const auto v = static_cast<std::uint32_t>(is ? member - w.first : 0);
      const row_type own = row_of(is, v);
      const unsigned count = simt::population(simt::ballot(is));
      std::uint32_t pull = 0;
      for (std::uint32_t first = 0; first < count; first += rows_at_once) {
        const std::uint32_t of = first + lane_index() / width;
        const std::uint32_t begin = simt::shuffle(own.begin, of);
        const std::uint32_t end = begin + static_cast<std::uint32_t>(simt::shuffle(own.length, of));
        std::uint32_t sum = 0;
        for (std::uint32_t e = begin + lane_index() % width; e < end; e += width) {
          const std::uint32_t u = adj_[e];
          if (start_of(status_[u]) == y) sum += weight_[u];
        }
        for (unsigned step = width / 2; step > 0; step /= 2) sum += simt::shuffle_xor(sum, step);
        const std::uint32_t result = simt::shuffle(sum, lane_index() % rows_at_once * width);
        if (lane_index() / rows_at_once == first / rows_at_once) pull = result;
      }
      if (!is) return;
      const index_t gain = static_cast<index_t>(weight_[v]) - static_cast<index_t>(pull);
      c.set(slot, move_rank(gain, 0, local(v), salt), local(v));
    });
    simt::sync_block();  // all warps have read statuses
    const index_t* const members = w.members();
    for (std::uint32_t k = simt::thread_index(); k < w.d.members; k += simt::block_size()) {
      status_[static_cast<std::uint32_t>(members[k] - w.first)] = settled(separator) | (k << 4);
    }
  }

  /// Copies the graph of the block's trial; all threads.
  GSOFA_DEVICE void load(const block_trial& w) const;
  /// The statuses of all vertices at the start of a pass; all threads.
  GSOFA_DEVICE void load_statuses(const block_trial& w) const {
    for (std::uint32_t k = simt::thread_index(); k < static_cast<std::uint32_t>(w.d.n);
         k += simt::block_size()) {
      status_[k] = settled(w.t.side[w.d.first + k]);
    }
    simt::sync_block();
  }
  /// After end_pass(): brings the statuses up to date. All others that differ are of vertices of S,
  /// which get new ones as candidates.
  GSOFA_DEVICE void settle_statuses(const block_trial& w) const {
    for_log(w, [&](bool is, index_t v, bool, bool) {
      if (is) status_[v - w.first] = settled(w.t.side[w.shift + v]);
    });
    simt::sync_block();
  }

 private:
  /// From lengths of rows, in `end`, their places. All threads; returns the sum of the lengths.
  GSOFA_DEVICE std::uint32_t place_rows(const block_trial& w, std::uint32_t n) const {
    simt::sync_block();
    if (warp_of_thread() == 0) {
      const unsigned lane = lane_index();
      std::uint32_t before = 0;
      for (std::uint32_t base = 0; base < n; base += 32) {
        const std::uint32_t k = base + lane;
        const std::uint32_t own = k < n ? end_[k] : 0;
        std::uint32_t sum = own;
        for (unsigned step = 1; step < 32; step *= 2) {
          const std::uint32_t other = simt::shuffle_up(sum, step);
          if (lane >= step) sum += other;
        }
        if (k < n) {
          begin_[k] = before + sum - own;
          end_[k] = before + sum;
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

  std::uint32_t *begin_, *end_, *weight_, *status_;
  std::uint16_t* adj_;
  std::uint32_t first_;
};

GSOFA_DEVICE void near_graph::load(const block_trial& w) const {
  const auto n = static_cast<std::uint32_t>(w.d.n);
  for (std::uint32_t k = simt::thread_index(); k < n; k += simt::block_size()) {
    const index_t v = w.first + static_cast<index_t>(k);
    end_[k] = static_cast<std::uint32_t>(w.g.end[v] - w.g.begin[v]);
    weight_[k] = static_cast<std::uint32_t>(w.g.weight[v]);
  }
  place_rows(w, n);
  for (std::uint32_t base = warp_of_thread() * 32; base < n; base += warps_of_block() * 32) {
    const std::uint32_t k = base + lane_index();
    const bool is = k < n;
    const lane_row row = device::row_of(w.g, is, w.first + static_cast<index_t>(is ? k : 0));
    // From an entry's place to that in shared memory.
    const offset_t shift = is ? static_cast<offset_t>(begin_[k]) - row.begin : 0;
    for_lane_rows<offset_t>(
        w.g.adj, simt::ballot(is), row, [](offset_t e, index_t) { return e; },
        [&](unsigned of, bool valid, index_t u, offset_t e) {
          const offset_t to = simt::shuffle(shift, of) + e;
          if (valid) adj_[to] = static_cast<std::uint16_t>(u - w.first);
        });
  }
  simt::sync_block();
}

}  // namespace gsofa::orders::device

#endif
