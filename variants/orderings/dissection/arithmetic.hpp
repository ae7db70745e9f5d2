#pragma once

// The arithmetic of nested dissection, which host and device share: constants, hashes, ranks and
// costs, of integers alone.

#include <cstdint>

#include "common/random.hpp"
#include "common/types.hpp"

namespace gsofa::orders {

enum side : std::uint8_t { side_a = 0, side_b = 1, separator = 2 };

// Reductions of graphs with n vertices that are not isolated.
inline constexpr index_t most_simplicial = 32;    ///< neighbours of a vertex that is tested
inline constexpr index_t longest_reduced = 1000;  ///< vertices of longer rows stay
/// Whether reductions begin, with this many simplicial vertices and vertices of degree 2.
constexpr bool is_reducible(offset_t eligible, index_t n) {
  return eligible > 0 && 50 * eligible >= n;
}
/// Whether a round that removed this many simplicial vertices is the last one.
constexpr bool is_slow_round(offset_t removed, index_t n) { return 1000 * removed < n; }
/// Whether vertices of a larger degree go from now on, too.
constexpr bool is_last_round_of_degree(offset_t removed, index_t n) { return 100 * removed < n; }
/// Whether so few vertices are kept that removing those of small degree pays: in graphs of small
/// separators. In a mesh most vertices stay, with more neighbours than before.
constexpr bool is_core(index_t kept, index_t before) { return offset_t{5} * kept <= before; }

/// Whether reductions may have emptied a graph that is like a tree, before the first cut of a
/// separator tree that divides the graph evenly.
constexpr bool removes_many(index_t kept, index_t before) {
  return offset_t{20} * kept < offset_t{19} * before;
}

// Coarsening.
inline constexpr index_t coarsest = 60;     ///< do not coarsen graphs of at most this many vertices
inline constexpr int handshake_rounds = 8;  ///< at most
/// Weight that a vertex coarsened from a graph of weight `total` may have.
constexpr offset_t most_weight(offset_t total) {
  const offset_t most = 3 * total / (2 * coarsest);
  return most < 2 ? 2 : most;
}
/// A part with a coarsest graph of more vertices has no separator worth looking for: first cuts
/// would be long, and minimum fill needs fewer operations.
inline constexpr index_t largest_first_cut = 1000;
/// Whether a graph of n vertices has shrunk enough to one of `coarse`.
constexpr bool has_shrunk(index_t n, index_t coarse) {
  return offset_t{coarse} * 20 <= offset_t{n} * (n > largest_first_cut ? 17 : 19);
}
/// The degree that a meeting place of vertices of degree above 1 may have.
constexpr offset_t widest_meeting_place(offset_t entries, index_t n) {
  return 3 * entries / (n < 1 ? 1 : n) + 4;
}

// Trials.
inline constexpr int first_passes = 8;  ///< of refinement of a first separator
inline constexpr int later_passes = 6;  ///< on each finer level
inline constexpr index_t most_kept = 8;
/// Trials of one of `copies` graphs of n vertices that are refined: their vertices together are
/// about `times` as many as the `whole` of the component.
constexpr index_t trials_kept(index_t whole, index_t n, int copies, int times) {
  const offset_t room = offset_t{whole} * times / (offset_t{n < 1 ? 1 : n} * copies);
  return static_cast<index_t>(room < 1 ? 1 : room > most_kept ? most_kept : room);
}
/// The `times` of trials_kept() at a depth of the tree: at the first ones, where parts are few and
/// their separators most of the operations, at least 4.
constexpr int room_at(int depth, int room) { return depth < 4 && room < 4 ? 4 : room; }
/// The largest weight of a side of a first cut: 0.55 of the total.
constexpr offset_t cut_side_limit(offset_t total) { return (11 * total + 19) / 20; }
inline constexpr int cut_passes = 1;
inline constexpr index_t cut_idle_moves = 40;  ///< of a pass over a cut without gain

// Separators that are a level of a breadth-first search.
inline constexpr int depths_of_levels = 4;  ///< search the parts of this many depths of the tree
/// Levels that a search of n vertices goes: 3 sqrt(n) and some more. A longer part has small
/// separators across, which trials find.
constexpr index_t most_levels(index_t n) {
  offset_t root = 0;
  while (root * root < n) ++root;
  return static_cast<index_t>(3 * root + 64);
}
/// Whether sides of these weights differ by less than 15 % of the total, and none is empty.
constexpr bool are_even(offset_t a, offset_t b, offset_t total) {
  return a > 0 && b > 0 && 100 * (a > b ? a - b : b - a) <= 15 * total;
}

// Refinement.
/// A separator of fewer vertices moves in steps of few, another one in rounds.
inline constexpr std::uint32_t members_of_rounds = 256;
/// Vertices of S for each that moves in a round.
inline constexpr std::uint32_t members_of_mover = 32;
inline constexpr std::uint32_t most_movers = 256;
/// Movers of a round, for a separator of `members` vertices.
constexpr std::uint32_t movers_of(std::uint32_t members) {
  const std::uint32_t share = members / members_of_mover;
  return share < 1 ? 1 : share > most_movers ? most_movers : share;
}
/// Vertices of S for each vertex that moves in a step (small separators).
inline constexpr std::uint32_t members_of_step_mover = 16;
inline constexpr std::uint32_t most_movers_of_step = 4;
constexpr std::uint32_t movers_of_step(std::uint32_t members) {
  const std::uint32_t share = members / members_of_step_mover;
  return share < 1 ? 1 : share > most_movers_of_step ? most_movers_of_step : share;
}
/// Whether a side of weight x is too large. The limit is a share of both sides: one of the total
/// would let S be huge.
constexpr bool too_large(offset_t x, offset_t both_sides) { return 100 * x > 62 * both_sides; }
/// The largest weight of a side that is not too large.
constexpr offset_t largest_side(offset_t both_sides) { return 62 * both_sides / 100; }
/// A pass in steps ends after this many moves without gain: twice the number of vertices of S, at
/// most `idle_moves`.
constexpr std::uint32_t idle_limit(std::uint32_t members, std::uint32_t idle_moves) {
  const std::uint64_t own = 2 * std::uint64_t{members};
  return own < idle_moves ? static_cast<std::uint32_t>(own) : idle_moves;
}
/// A pass in rounds ends after the larger of idle_moves and the movers of idle_rounds rounds.
inline constexpr std::uint32_t idle_rounds = 4;
constexpr std::uint32_t idle_limit_of_rounds(std::uint32_t members, std::uint32_t idle_moves) {
  const std::uint32_t own = idle_rounds * movers_of(members);
  return own > idle_moves ? own : idle_moves;
}
inline constexpr index_t most_stamp = 0xffff;

// The minimum separator in a band around S.
inline constexpr int band_layers = 2;  ///< on either side of S
/// The side that the flow comes from: the lighter one, so that the minimum separator next to the
/// sink leaves it as large as any.
constexpr std::uint8_t source_side(offset_t a, offset_t b) { return a <= b ? side_a : side_b; }
/// The side of a vertex of the band; enters, leaves: whether its entrance and its exit reach the
/// sink.
constexpr std::uint8_t cut_side(std::uint8_t source, bool enters, bool leaves) {
  if (enters) return static_cast<std::uint8_t>(1 - source);
  return leaves ? std::uint8_t{separator} : source;
}

// Leaves.
/// The most weight of a leaf of a separator tree with this many levels.
constexpr offset_t leaf_weight(offset_t total, int tree_levels) {
  const offset_t share = total >> (tree_levels - 1);
  return share < 1 ? 1 : share;
}
inline constexpr index_t most_leaf_bits = 2048;  ///< vertices of leaf and halo together

// Distinct words for the random choices of one component.
inline constexpr std::uint64_t matching_word = std::uint64_t{1} << 32;
inline constexpr std::uint64_t trial_word = std::uint64_t{2} << 32;
inline constexpr std::uint64_t level_word = std::uint64_t{3} << 32;
/// The key of the trial that is a level.
constexpr std::uint64_t level_key(std::uint64_t key) { return keyed_random(key, level_word, 0); }
/// The vertex of n that the first search of a part begins at.
constexpr index_t first_root(std::uint64_t key, index_t n) {
  return static_cast<index_t>(keyed_random(key, level_word, 1) % static_cast<std::uint64_t>(n));
}

/// Whether a vertex of this degree is ordered last. n: the number of vertices that are not
/// isolated.
constexpr bool is_hub(offset_t degree, index_t n) {
  return degree > 256 && degree * degree > 100 * offset_t{n};
}

/// 32 random bits of vertex v.
constexpr std::uint32_t vertex_hash(std::uint64_t key, index_t v) {
  return static_cast<std::uint32_t>(
      mix64(key ^ (static_cast<std::uint64_t>(v) * 0x9e3779b97f4a7c15ULL)) >> 32);
}

/// The high part of the rank of an edge, the same from either end: its weight, then a hash of the
/// hashes of its ends. Of equal ranks the larger neighbour is higher.
constexpr std::uint64_t edge_rank_of(index_t weight, std::uint32_t tie_v, std::uint32_t tie_u) {
  const std::uint32_t hash = (tie_v + tie_u) * 0x9e3779b1U;
  return (static_cast<std::uint64_t>(weight) << 32) | hash;
}

/// The rank of v among the vertices of S that may move: the gain, then the number of moves when the
/// gain last changed, then a hash; of equal ranks the larger number goes first. Of equal gains the
/// latest goes first: S advances from where it has just moved. Ties broken at random left ragged
/// separators (flops 5 to 10 % higher on regular grids), the earliest first still worse.
/// gain: weight of v less that of its neighbours in y; salt: low bits of the pass's key.
constexpr std::uint64_t move_rank(index_t gain, index_t stamp, index_t v, std::uint32_t salt) {
  const auto high = static_cast<std::uint32_t>(gain) ^ 0x80000000U;
  const std::uint32_t hash = (static_cast<std::uint32_t>(v) ^ salt) * 0x9e3779b1U;
  return (static_cast<std::uint64_t>(high) << 32) | (static_cast<std::uint32_t>(stamp) << 16) |
         (hash >> 16);
}

/// Of a candidate that cannot move.
inline constexpr index_t least_gain = -0x7fffffff - 1;

/// Candidates of a round have classes by gain and age; those of lower classes move first.
inline constexpr std::uint32_t gain_classes = 64;
inline constexpr std::uint32_t age_classes = 8;
inline constexpr std::uint32_t round_classes = gain_classes * age_classes;
/// The class of a gain relative to `reference`, the best gain of an earlier round: one class for
/// each gain up to 8 above `reference` and 15 below, then four classes for each factor of two.
constexpr std::uint32_t gain_class(index_t reference, index_t gain) {
  constexpr std::uint32_t above = 8;
  if (gain >= reference) {
    const auto more = static_cast<std::uint32_t>(gain) - static_cast<std::uint32_t>(reference);
    return more < above ? above - more : 0;
  }
  auto below = static_cast<std::uint32_t>(reference) - static_cast<std::uint32_t>(gain);
  if (below < 16) return above + below;
  std::uint32_t octave = above + 16;
  for (; below >= 32 && octave < gain_classes; octave += 4) below >>= 1;
  octave += (below >> 2) & 3U;
  return octave < gain_classes ? octave : gain_classes - 1;
}
/// The class of a candidate whose gain last changed `age` rounds ago.
constexpr std::uint32_t age_class(index_t age) {
  if (age < 4) return static_cast<std::uint32_t>(age);
  return age < 6 ? 4 : age < 10 ? 5 : age < 18 ? 6 : 7;
}
/// The key of a candidate in a round, the lower the sooner it moves: its class, then 16 bits of a
/// hash.
constexpr std::uint32_t round_key(index_t reference, index_t gain, index_t age, index_t v,
                                  std::uint32_t salt) {
  const std::uint32_t hash = (static_cast<std::uint32_t>(v) ^ salt) * 0x9e3779b1U;
  return ((gain_class(reference, gain) * age_classes + age_class(age)) << 16) | (hash >> 16);
}
/// Of a candidate that does not move; above all keys.
inline constexpr std::uint32_t no_round_key = round_classes << 16;
/// What the hashes of a round are salted with.
constexpr std::uint32_t round_salt(std::uint32_t salt, index_t round) {
  return salt + static_cast<std::uint32_t>(round) * 0x85ebca6bU;
}
/// Keys below it move: all of lower classes and, by their hashes, about `wanted` (up to
/// most_movers) of the `members` of this one.
constexpr std::uint32_t key_bound(std::uint32_t of_class, std::uint32_t wanted,
                                  std::uint32_t members) {
  return (of_class << 16) + ((wanted << 16) + members - 1) / members;
}

/// Cost of a separator: w(S) * (1 + 0.2 |w(A) - w(B)| / T), T the total weight, scaled by 10 T to
/// be an integer. An empty side or an imbalance beyond 0.6 T costs more than any other separator.
struct cost_function {
  offset_t total = 1;
  int shift = 0;  ///< brings T below 2^28, so that costs stay below 2^61

  constexpr explicit cost_function(offset_t t) : total(t) {
    while ((total >> shift) >= (offset_t{1} << 28)) ++shift;
  }
  [[nodiscard]] constexpr std::uint64_t operator()(offset_t a, offset_t b, offset_t s) const {
    return with_penalty(2, a, b, s);
  }
  /// Whether a level (weights of A, B and S) is so much better than the best other separator that
  /// its slanted sides are worth it: by 3 %, imbalance weighing 0.5 in place of 0.2. One with an
  /// empty side never is.
  [[nodiscard]] constexpr bool takes_level(const offset_t (&level)[3],
                                           const offset_t (&best)[3]) const {
    return level[0] > 0 && level[1] > 0 &&
           with_penalty(5, level[0], level[1], level[2]) <
               with_penalty(5, best[0], best[1], best[2]) / 100 * 97;
  }
  /// Whether a minimum separator (weights of A, B and S) replaces `now`: if it costs less, and no
  /// side of it is too large, unless a side of `now` is as large. In a graph without small
  /// separators the band is much of the graph, and minimum separators are far from even.
  [[nodiscard]] constexpr bool takes_minimum(const offset_t (&minimum)[3],
                                             const offset_t (&now)[3]) const {
    const auto larger = [](const offset_t(&w)[3]) { return w[0] > w[1] ? w[0] : w[1]; };
    if (too_large(larger(minimum), minimum[0] + minimum[1]) && larger(minimum) > larger(now)) {
      return false;
    }
    return (*this)(minimum[0], minimum[1], minimum[2]) < (*this)(now[0], now[1], now[2]);
  }

 private:
  [[nodiscard]] constexpr std::uint64_t with_penalty(offset_t tenths, offset_t a, offset_t b,
                                                     offset_t s) const {
    const offset_t t = total >> shift;
    offset_t d = (a > b ? a - b : b - a) >> shift;
    if (d > t) d = t;
    const auto cost = static_cast<std::uint64_t>((s >> shift) * (10 * t + tenths * d));
    return a <= 0 || b <= 0 || 10 * d > 6 * t ? cost + (std::uint64_t{1} << 61) : cost;
  }
};

/// The same of weights below 2^31 by arithmetic of 32 bits and one product.
struct small_cost_function {
  std::uint32_t total = 1;
  int shift = 0;

  constexpr explicit small_cost_function(offset_t t) {
    while ((t >> shift) >= (offset_t{1} << 28)) ++shift;
    total = static_cast<std::uint32_t>(t >> shift);
  }
  [[nodiscard]] constexpr std::uint64_t operator()(index_t a, index_t b, index_t s) const {
    std::uint32_t d = static_cast<std::uint32_t>(a > b ? a - b : b - a) >> shift;
    if (d > total) d = total;
    const std::uint64_t cost =
        std::uint64_t{static_cast<std::uint32_t>(s) >> shift} * (10 * total + 2 * d);
    return a <= 0 || b <= 0 || 10 * d > 6 * total ? cost + (std::uint64_t{1} << 61) : cost;
  }
};

}  // namespace gsofa::orders
