// First separators of small graphs, one warp each: greedy growth by edge cut, one pass of
// refinement of the cut, then the vertices of one side at the cut become the separator. Device form
// of host/first_cut.cpp.

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include <algorithm>

#include "variants/orderings/dissection/device/stages.hpp"
#include "variants/orderings/dissection/device/tuning.hpp"
#include "variants/orderings/dissection/device/warps.cuh"

namespace gsofa::orders::device {

namespace {

/// Shared or global memory of a first separator, by local vertex.
struct cut_space {
  std::uint32_t *gain, *key, *tie, *queue;
  std::uint32_t* mark;  ///< bit 0: side; from bit 1: 0 in B away from A, 1 in B at A, 2 moved
  static constexpr int words = 5;
};

// Gains and keys are kept plus 2^31, so that they compare without sign; key 0 bars a vertex.

/// One first separator, by one warp.
class cut_search {
 public:
  GSOFA_DEVICE cut_search(const level_view& g, const trial_data& d, const cut_space& s)
      : g_(g), s_(s), n_(d.n), first_(g.first[d.graph]), total_(g.total[d.graph]) {
    const auto n = static_cast<std::uint32_t>(n_);
    const unsigned bits = n == 0 ? 0 : simt::highest_bit(std::uint64_t{n}) + 1;
    mask_ = (std::uint32_t{1} << bits) - 1;
    for_vertices([&](index_t v) {
      s_.tie[v] = (vertex_hash(d.key, v) << bits) | static_cast<std::uint32_t>(v);
    });
  }

  GSOFA_DEVICE void run() {
    grow();
    for (int pass = 0; pass < cut_passes && refine(); ++pass) {
    }
  }

  /// Of the vertices at the cut, those of the side whose loss is the cheaper separator go to S:
  /// calls put(v, side) for all vertices.
  template <class Put>
  GSOFA_DEVICE void finish(Put&& put) {
    std::uint64_t width[2] = {0, 0};
    for_rows_of_all(
        [&](unsigned row, bool valid, index_t, const seen& s, std::uint32_t& found,
            std::uint32_t side) {
          const std::uint32_t own = simt::shuffle(side, row);
          const bool other = simt::ballot(valid && (s.mark & 1U) != own) != 0;
          if (other && lane_index() == row) found = 1;
        },
        [&](index_t v, std::uint32_t found) {
          s_.queue[v] = found;
          if (found == 0) return;
          (side_of(v) == 0 ? width[0] : width[1]) += static_cast<std::uint64_t>(weight(v));
        });
    const auto a_width = static_cast<offset_t>(sum_of_warp(width[0]));
    const auto b_width = static_cast<offset_t>(sum_of_warp(width[1]));
    const cost_function cost(total_);
    const std::uint64_t a = cost(weight_[0] - a_width, weight_[1], a_width);
    const std::uint64_t b = cost(weight_[0], weight_[1] - b_width, b_width);
    const std::uint32_t from = a <= b ? side_a : side_b;
    for_vertices([&](index_t v) {
      put(v, s_.queue[v] != 0 && side_of(v) == from ? std::uint32_t{separator} : side_of(v));
    });
    const offset_t lost = from == side_a ? a_width : b_width;
    weight_[0] -= from == side_a ? lost : 0;
    weight_[1] -= from == side_b ? lost : 0;
    weight_s_ = lost;
  }
  [[nodiscard]] GSOFA_DEVICE offset_t weight_of(int side) const {
    return side == 0 ? weight_[0] : side == 1 ? weight_[1] : weight_s_;
  }

 private:
  struct seen {
    std::uint32_t mark = 0;
    index_t edge = 0;
  };
  struct measure {
    offset_t excess, change, imbalance;
    [[nodiscard]] GSOFA_DEVICE bool operator<(const measure& o) const {
      if (excess != o.excess) return excess < o.excess;
      return change != o.change ? change < o.change : imbalance < o.imbalance;
    }
  };

  template <class Body>
  GSOFA_DEVICE void for_vertices(Body&& body) const {
    for (auto v = static_cast<index_t>(lane_index()); v < n_; v += 32) body(v);
  }
  /// visit() as of for_lane_rows(), with a word of the row's lane and the side of its vertex;
  /// done() in the row's lane.
  template <class Visit, class Done>
  GSOFA_DEVICE void for_rows_of_all(Visit&& visit, Done&& done) {
    simt::sync_warp();
    for (index_t base = 0; base < n_; base += 32) {
      const index_t v = base + static_cast<index_t>(lane_index());
      const bool is = v < n_;
      std::uint32_t word = 0;
      const std::uint32_t side = is ? side_of(v) : 0;
      for_lane_rows<seen>(
          g_.adj, simt::ballot(is), row_of(g_, is, first_ + v),
          [&](offset_t e, index_t u) {
            return seen{s_.mark[u - first_], edge(e)};
          },
          [&](unsigned row, bool valid, index_t u, const seen& s) {
            visit(row, valid, u - first_, s, word, side);
          });
      if (is) done(v, word);
    }
    simt::sync_warp();
  }

  [[nodiscard]] GSOFA_DEVICE std::uint32_t side_of(index_t v) const { return s_.mark[v] & 1U; }
  [[nodiscard]] GSOFA_DEVICE index_t weight(index_t v) const { return g_.weight[first_ + v]; }
  [[nodiscard]] GSOFA_DEVICE index_t edge(offset_t e) const {
    return g_.edge == nullptr ? 1 : g_.edge[e];
  }
  [[nodiscard]] GSOFA_DEVICE bool fits(index_t v, offset_t limit) const {
    const bool in_a = side_of(v) == 0;
    const offset_t target = (in_a ? weight_[1] : weight_[0]) + weight(v);
    return target <= limit || target <= (in_a ? weight_[0] : weight_[1]);
  }

  /// The vertex of the highest key, of several the one of the largest tie, among those with
  /// key(v) != 0; -1 if there is none.
  template <class Key>
  GSOFA_DEVICE index_t best(Key&& key) const {
    std::uint64_t most = 0;
    for_vertices([&](index_t v) {
      const std::uint64_t rank = (static_cast<std::uint64_t>(key(v)) << 32) | s_.tie[v];
      most = rank > most ? rank : most;
    });
    const auto high = static_cast<std::uint32_t>(most >> 32);
    const std::uint32_t top = simt::max_of_warp(high);
    if (top == 0) return -1;
    const std::uint32_t tie = simt::max_of_warp(high == top ? static_cast<std::uint32_t>(most) : 0);
    return static_cast<index_t>(tie & mask_);
  }
  GSOFA_DEVICE index_t best_key() const {
    return best([&](index_t v) { return s_.key[v]; });
  }

  /// Moves v to the other side and updates the gains.
  GSOFA_DEVICE void flip(index_t v) {
    simt::sync_warp();
    const std::uint32_t mark = s_.mark[v];
    const std::uint32_t from = mark & 1U;
    const index_t moved = weight(v);
    weight_[0] += from == 0 ? -moved : moved;
    weight_[1] += from == 0 ? moved : -moved;
    simt::sync_warp();
    if (lane_index() == 0) {
      s_.mark[v] = mark ^ 1U;
      s_.gain[v] = 0U - s_.gain[v];  // zero_gain is its own negative
    }
    for_row(v, [&](offset_t e, index_t u) {
      const std::uint32_t twice = 2 * static_cast<std::uint32_t>(edge(e));
      const std::uint32_t gain = s_.gain[u] + ((s_.mark[u] & 1U) == from ? twice : 0U - twice);
      s_.gain[u] = gain;
      if (s_.key[u] != 0) s_.key[u] = gain;
    });
    simt::sync_warp();
  }
  template <class Body>
  GSOFA_DEVICE void for_row(index_t v, Body&& body) const {
    const offset_t end = g_.end[first_ + v];
    for (offset_t e = g_.begin[first_ + v] + lane_index(); e < end; e += 32) {
      body(e, g_.adj[e] - first_);
    }
  }

  GSOFA_DEVICE void grow() {
    weight_[0] = 0;
    weight_[1] = total_;
    for_vertices([&](index_t v) {
      s_.mark[v] = side_b;
      s_.key[v] = 0;
    });
    for_rows_of_all(
        [&](unsigned row, bool valid, index_t, const seen& s, std::uint32_t& sum, std::uint32_t) {
          const std::uint32_t chunk =
              simt::add_of_warp(valid ? static_cast<std::uint32_t>(s.edge) : 0);
          if (lane_index() == row) sum += chunk;
        },
        [&](index_t v, std::uint32_t sum) { s_.gain[v] = zero_gain - sum; });
    const offset_t limit = cut_side_limit(total_);
    while (2 * weight_[0] < total_) {
      index_t v = best_key();
      if (v < 0) {
        v = best([&](index_t u) { return s_.mark[u] >> 1 == 0 ? zero_gain : 0; });
        simt::sync_warp();
        for_vertices([&](index_t u) { s_.key[u] = 0; });
      }
      if (v < 0) break;
      simt::sync_warp();
      if (lane_index() == 0) {
        s_.mark[v] = (s_.mark[v] & 1U) | (2U << 1);
        s_.key[v] = 0;
      }
      simt::sync_warp();
      if (weight_[0] + weight(v) > limit) continue;
      flip(v);
      for_row(v, [&](offset_t, index_t u) {
        if (s_.mark[u] >> 1 != 0) return;
        s_.mark[u] = (s_.mark[u] & 1U) | (1U << 1);
        s_.key[u] = s_.gain[u];
      });
      simt::sync_warp();
    }
    simt::sync_warp();
  }

  [[nodiscard]] GSOFA_DEVICE measure measured(offset_t change, offset_t limit) const {
    const offset_t larger = weight_[0] > weight_[1] ? weight_[0] : weight_[1];
    const offset_t smaller = weight_[0] > weight_[1] ? weight_[1] : weight_[0];
    return {larger > limit ? larger - limit : 0, change, larger - smaller};
  }

  /// One pass of two-sided moves with rollback to the smallest cut, of equal cuts the most even;
  /// true if the cut shrank.
  GSOFA_DEVICE bool refine() {
    const offset_t limit = cut_side_limit(total_);
    for_vertices([&](index_t v) { s_.key[v] = s_.gain[v]; });
    simt::sync_warp();
    offset_t change = 0;
    measure least = measured(change, limit);
    const offset_t before = least.excess;
    index_t flips = 0;
    index_t kept = 0;
    while (flips < kept + cut_idle_moves) {
      index_t v = best_key();
      if (v >= 0 && !fits(v, limit)) {
        v = best([&](index_t u) { return s_.key[u] != 0 && fits(u, limit) ? s_.key[u] : 0; });
      }
      if (v < 0) break;
      change -= static_cast<index_t>(s_.gain[v] - zero_gain);
      simt::sync_warp();
      if (lane_index() == 0) {
        s_.key[v] = 0;
        s_.queue[flips] = static_cast<std::uint32_t>(v);
      }
      flip(v);
      ++flips;
      const measure now = measured(change, limit);
      if (now < least) {
        least = now;
        kept = flips;
      }
    }
    simt::sync_warp();
    for (; flips > kept; --flips) flip(static_cast<index_t>(s_.queue[flips - 1]));
    return least.excess < before || least.change < 0;
  }

  const level_view& g_;
  cut_space s_;
  index_t n_;
  index_t first_;
  offset_t total_;
  std::uint32_t mask_ = 0;
  offset_t weight_[2] = {0, 0};
  offset_t weight_s_ = 0;
};

/// First separators, one warp each.
GSOFA_KERNEL void first_cut_kernel(level_view g, trial_view t, const index_t* trials,
                                   index_t near_order) {
  simt::after_earlier_launches();
  trial_data& d = t.data[trials[simt::block_index()]];
  const index_t n = d.n;
  std::uint32_t* const near = simt::shared_memory<std::uint32_t>();
  std::uint32_t* const far = t.far + 3 * d.first;
  std::uint32_t* const log = t.log + 2 * d.first;
  const bool fits = n <= near_order;
  const cut_space s = fits ? cut_space{near, near + n, near + 2 * n, near + 3 * n, near + 4 * n}
                           : cut_space{far, far + n, far + 2 * n, log, log + n};
  cut_search cut(g, d, s);
  cut.run();
  const offset_t shift = static_cast<offset_t>(d.first);
  const index_t first = g.first[d.graph];
  cut.finish([&](index_t v, std::uint32_t side) {
    t.side[shift + v] = static_cast<std::uint8_t>(side);
    t.state[shift + v] = settled(side);
  });
  simt::sync_warp();
  std::uint32_t members = 0;
  for (index_t base = 0; base < n; base += 32) {
    const index_t v = base + static_cast<index_t>(lane_index());
    const bool is = v < n && t.side[shift + v] == separator;
    const unsigned mask = simt::ballot(is);
    if (is) t.members[0][shift + members + simt::population(mask & lower_lanes())] = first + v;
    members += simt::population(mask);
  }
  if (lane_index() == 0) {
    const offset_t a = cut.weight_of(0);
    const offset_t b = cut.weight_of(1);
    const offset_t separated = cut.weight_of(2);
    d.weight[0] = a;
    d.weight[1] = b;
    d.weight[2] = separated;
    d.cost = cost_function(g.total[d.graph])(a, b, separated);
    d.members = members;
    d.x = a <= b ? side_a : side_b;
  }
}

}  // namespace

void first_cuts(trials& t, const level& at_level) {
  if (t.firsts == 0) return;
  const index_t near = std::min(t.most_first, first_cut_tuning::near_order);
  launch_overlapping(first_cut_kernel, t.firsts, 32,
                     cut_space::words * sizeof(std::uint32_t) * at(near), at_level.view(), t.view,
                     t.first_list, near);
}

}  // namespace gsofa::orders::device

#endif
