// Separators of nested dissection on the device: first separators, refinement, and what of a trial
// goes from level to level. The same separators as of nested_dissection_initial.cpp and
// nested_dissection_refinement.cpp.
//
// Trials lie one after the other: vertex v of a trial's graph (numbered as the vertices of all
// graphs of its level) has the words at place shift + v of the arrays by trial vertex. A vertex of
// a trial has a status of
//   bits 0-1   where it is now: side_a, side_b, separator, or `drawn` while its move goes on
//   bits 2-3   where it was at the start of the pass
//   bits 4-31  its slot among the candidates (while in S), or no_slot
// Between passes both sides of a status are equal. One block makes all passes of a trial.
//
// Where S is large a pass goes in rounds (trial_rounds): the block chooses the movers of a round by
// their keys: it counts the classes of keys, one warp finds the last class that moves, and how
// much of it; warps take the movers' rows, then those of the vertices that they draw. Five barriers
// and the way to a row's vertices and back are a round's time, whatever the number of movers.
//
// Where it is small a pass goes in steps, a chain: one warp makes them. It finds the candidates of
// the highest ranks, up to four, reads their rows and the states of their neighbours, and for those
// that come to S their rows and the states of theirs. Candidates, the vertices of S that may move,
// have slots in shared memory; slots of vertices that have moved are used again, so that the list
// is about as long as S. A slot holds the rank of move_rank() in two words: its high word is the
// gain plus 2^31, to which drawn neighbours add their weights.

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include <algorithm>

#include "common/random.hpp"
#include "variants/device/lent.hpp"
#include "variants/device/tile_scan.hpp"
#include "variants/orderings/gpu_dissection.hpp"
#include "variants/orderings/gpu_dissection_rows.hpp"

namespace gsofa::gpu::dissection {

// Not anonymous, since a type that the header names has members of these types.
namespace trial_kernels {

using orderings::cost_function;
using orderings::separator;
using orderings::side_a;
using orderings::side_b;

#if defined(__CUDACC__)
constexpr int threads_of_rounds = 1024;    // of a large trial, where there are few
constexpr int threads_of_steps = 512;      // the same where its separator is small
constexpr int threads_of_many = 256;       // the same where there are many
constexpr index_t most_near_slots = 1024;  // candidates of a small trial in shared memory
constexpr index_t large_order = 4096;      // a trial with so many vertices is large
constexpr index_t near_of_few = 8192;      // of a large one, where there are few, else
constexpr index_t near_of_many = 4096;
constexpr index_t near_of_steps = 2048;
constexpr std::size_t block_overhead = 1024;  // bytes of shared memory that a block takes itself
constexpr index_t most_waves = 3;             // of small trials in shared memory
constexpr index_t far_room = 256;             // candidates of small trials in global memory
constexpr index_t most_near_order = 512;      // graphs whose first separators need no global memory
#else
constexpr int threads_of_rounds = 96;
constexpr int threads_of_steps = 64;
constexpr index_t large_order = 1000;
constexpr index_t most_near_slots = 512;
constexpr index_t near_of_few = 128;
constexpr index_t near_of_many = 128;
constexpr index_t near_of_steps = 128;
constexpr index_t most_near_order = 64;
#endif
constexpr unsigned most_free_slots = 128;  // that are remembered; others are lost
constexpr unsigned rows_at_once = 4;
constexpr std::uint32_t slots_per_step = 128;  // four for each lane
constexpr index_t items_per_thread = 8;

constexpr std::uint32_t drawn = 3;
constexpr std::uint32_t zero_gain = 0x80000000U;  // gains are kept plus 2^31
constexpr std::uint32_t no_slot = 0x0fffffffU;

using vertex_status = std::uint32_t;
constexpr std::uint32_t status_of(std::uint32_t now, std::uint32_t start) {
  return now | (start << 2);
}
constexpr std::uint32_t settled(std::uint32_t side) { return status_of(side, side); }
constexpr std::uint32_t now_of(std::uint32_t status) { return status & 3U; }
constexpr std::uint32_t start_of(std::uint32_t status) { return (status >> 2) & 3U; }
constexpr std::uint32_t slot_of(std::uint32_t status) { return status >> 4; }

/// What the host tells of a trial.
struct trial_entry {
  std::uint64_t key;
  std::uint64_t first;                      ///< of its places
  index_t graph, n, from, to, rank, stage;  ///< rank of_level: the level of a search
};
inline constexpr index_t of_level = -1;

struct trial_data {
  std::uint64_t key, first, pass_key, cost;
  offset_t weight[3];
  index_t graph, n, stage, source;
  std::uint32_t members;  ///< vertices of S
  std::uint32_t list;     ///< which of the two lists holds them
  std::uint32_t x;        ///< the side that grows
  std::uint32_t idle;     ///< passes without gain since the last gain
  std::uint32_t pass;     ///< passes made
};

/// What a pass has done.
struct pass_result {
  std::uint32_t kept, moved;  ///< entries of its log
  offset_t to_x, from_y;      ///< by the entries that are kept
};

/// The arrays of all trials of a level.
struct trial_view {
  trial_data* data;
  // By trial vertex.
  std::uint8_t* side;
  vertex_status* state;
  index_t* members[2];
  index_t* spare;      ///< a list
  std::uint32_t* far;  ///< four words each: candidates without room in shared memory
  /// Two words each: 2 v if v left S, 2 v + 1 if v came from y to S, in the order of
  /// moves.
  std::uint32_t* log;
  std::uint32_t idle_moves;  ///< a pass ends after so many moves without gain
  int later_passes;          ///< of separators from coarser levels; 0: only first ones are refined
};

GSOFA_DEVICE unsigned lane_of_thread() { return simt::thread_index() & 31U; }
GSOFA_DEVICE unsigned warp_of_thread() { return simt::thread_index() / 32; }
GSOFA_DEVICE unsigned warps_of_block() { return simt::block_size() / 32; }
GSOFA_DEVICE unsigned lanes_below() { return (1U << lane_of_thread()) - 1; }

/// Gives each lane with `wanted` one of the next places of a list; all lanes of the warp call it.
GSOFA_DEVICE std::uint32_t next_place(std::uint32_t* size, bool wanted) {
  const unsigned mask = simt::ballot(wanted);
  if (mask == 0) return 0;
  const unsigned leader = simt::lowest_bit(mask);
  std::uint32_t base = 0;
  if (lane_of_thread() == leader) base = simt::atomic_add(size, simt::population(mask));
  return simt::shuffle(base, leader) + simt::population(mask & lanes_below());
}

GSOFA_DEVICE std::uint64_t sum_of_warp(std::uint64_t value) {
  for (unsigned step = 16; step > 0; step /= 2) value += simt::shuffle_xor(value, step);
  return value;
}

/// A row, one for each lane.
struct lane_row {
  offset_t begin = 0;
  index_t length = 0;
};
GSOFA_DEVICE lane_row row_of(const level_view& g, bool is, index_t v) {
  lane_row r;
  if (is) {
    r.begin = g.begin[v];
    r.length = static_cast<index_t>(g.end[v] - r.begin);
  }
  return r;
}

/// Goes through the rows of the lanes of `mask`, several at a time: all lanes gather(e, u) for
/// entries e and neighbours u of one row, then all lanes call visit(lane of the row, whether they
/// have an entry, u, what they gathered).
template <class Item, class Gather, class Visit>
GSOFA_DEVICE void for_rows(const index_t* adj, unsigned mask, const lane_row& mine, Gather&& gather,
                           Visit&& visit) {
  const auto lane = static_cast<index_t>(lane_of_thread());
  while (mask != 0) {
    unsigned row[rows_at_once];
    lane_row r[rows_at_once];
    index_t longest = 0;
    GSOFA_UNROLL for (unsigned k = 0; k < rows_at_once; ++k) {
      row[k] = mask != 0 ? simt::lowest_bit(mask) : 32;
      mask &= mask - 1;
      r[k] = {};
      if (row[k] == 32) continue;
      r[k].begin = simt::shuffle(mine.begin, row[k]);
      r[k].length = simt::shuffle(mine.length, row[k]);
      longest = r[k].length > longest ? r[k].length : longest;
    }
    GSOFA_KEEP_LOOP for (index_t base = 0; base < longest; base += 32) {
      index_t u[rows_at_once];
      Item item[rows_at_once];
      GSOFA_UNROLL for (unsigned k = 0; k < rows_at_once; ++k) {
        u[k] = base + lane < r[k].length ? adj[r[k].begin + base + lane] : 0;
      }
      GSOFA_UNROLL for (unsigned k = 0; k < rows_at_once; ++k) {
        item[k] = {};
        if (base + lane < r[k].length) item[k] = gather(r[k].begin + base + lane, u[k]);
      }
      GSOFA_UNROLL for (unsigned k = 0; k < rows_at_once; ++k) {
        if (base < r[k].length) visit(row[k], base + lane < r[k].length, u[k], item[k]);
      }
    }
  }
}

/// What a move sees of a neighbour.
struct neighbour {
  vertex_status status = 0;
  index_t weight = 0;
  lane_row row{};
};

constexpr std::uint32_t near_movers = 256;  // of a round, that shared memory lists

/// What a block that moves in rounds shares. Between rounds counts, movers and weight are 0.
struct alignas(16) round_space {
  std::uint32_t counts[orderings::round_classes];  ///< of candidates by class
  std::uint32_t list[near_movers];                 ///< slots of movers
  std::uint32_t most_of_warp[32];
  std::uint32_t top;    ///< the best gain of the candidates
  std::uint32_t bound;  ///< of the keys that move
  std::uint32_t movers, slots, logged;
  std::uint64_t weight;  ///< of the movers
  std::uint64_t to_x, from_y;
};

/// Prefetches a row that the moves will need if n's vertex comes to S: of large graphs, whose rows
/// are not in L1.
template <bool Prefetches>
GSOFA_DEVICE void prefetch_row(const level_view& g, const neighbour& n) {
  if constexpr (Prefetches) {
    constexpr index_t sector = 32 / sizeof(index_t);
    const index_t length = n.row.length < 8 * sector ? n.row.length : 8 * sector;
    for (index_t k = 0; k < length; k += sector) simt::prefetch(g.adj + n.row.begin + k);
  }
}

/// Shared memory of a block beside the candidates.
struct alignas(16) block_space {
  trial_data d;
  std::uint32_t count;
  std::uint32_t better;
  pass_result result;
  std::uint32_t free_slots[most_free_slots];
  round_space rounds;
};

struct alignas(16) four_words {
  std::uint32_t word[4];
};

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
    const std::uint32_t slot = room + 32 * group + lane_of_thread();
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
  GSOFA_DEVICE static std::uint32_t first() { return 4 * lane_of_thread(); }
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
  const std::uint32_t lane = lane_of_thread();
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

/// Calls body(slots) with the way to look at so many slots.
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
      if (lane_of_thread() == count) {
        movers.v = v;
        movers.weight = weight;
      }
      movers.total += weight;
      ++count;
    }
    return count;
  });
}
struct seen_vertex {
  std::uint32_t v, weight;
};

/// Takes all candidates off the list whose vertices are too heavy, which `discards` tells of a slot
/// and notes: they remain so. Their slots join the `free` ones; returns how many there are then.
/// All lanes of the warp call it.
template <class Discards>
GSOFA_DEVICE std::uint32_t discard_candidates(const candidates& c, std::uint32_t slots,
                                              std::uint32_t* free_slots, std::uint32_t free,
                                              Discards&& discards) {
  simt::sync_warp();  // movers are off the list
  for (std::uint32_t base = 0; base < slots; base += 32) {
    const std::uint32_t slot = base + lane_of_thread();
    const bool is = slot < slots && c.high_at(slot) != 0 && discards(slot);
    const unsigned mask = simt::ballot(is);
    const std::uint32_t place = free + simt::population(mask & lanes_below());
    if (is) c.kill(slot);
    if (is && place < most_free_slots) free_slots[place] = slot;
    free += simt::population(mask);
    free = free < most_free_slots ? free : most_free_slots;
  }
  simt::sync_warp();
  return free;
}

/// The trial that a block works on.
struct block_trial {
  level_view g;
  trial_view t;
  block_space& b;
  trial_data& d;
  index_t first;     // of its graph
  offset_t shift;    // from a vertex to its place
  vertex_status* s;  // by vertex

  GSOFA_DEVICE block_trial(const level_view& graphs, const trial_view& trials, block_space& space)
      : g(graphs),
        t(trials),
        b(space),
        d(space.d),
        first(graphs.first[space.d.graph]),
        shift(static_cast<offset_t>(space.d.first) - first),
        s(trials.state + shift) {}

  [[nodiscard]] GSOFA_DEVICE index_t* members() const {
    return (d.list == 0 ? t.members[0] : t.members[1]) + d.first;
  }
};

/// Whole warps take 32 vertices of a list at a time: body(whether the lane has one, vertex).
template <class Body>
GSOFA_DEVICE void for_batches(const index_t* list, std::uint32_t size, Body&& body) {
  for (std::uint32_t base = warp_of_thread() * 32; base < size; base += warps_of_block() * 32) {
    const std::uint32_t k = base + lane_of_thread();
    body(k < size, k < size ? list[k] : 0);
  }
}

GSOFA_DEVICE void begin_pass(const block_trial& w, int pass) {
  if (simt::thread_index() == 0) {
    w.d.pass_key = keyed_random(w.d.key, static_cast<std::uint64_t>(w.d.stage),
                                static_cast<std::uint64_t>(pass));
  }
  simt::sync_block();
}

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
    const std::uint32_t limit = orderings::idle_limit(w_.d.members, w_.t.idle_moves);
    const unsigned wanted = orderings::movers_of_step(w_.d.members);
    const unsigned lane = lane_of_thread();
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
    const index_t stamp = moves_ < orderings::most_stamp ? moves_ : orderings::most_stamp;
    return orderings::move_rank(gain, stamp, v - w_.first, salt_);
  }
  [[nodiscard]] GSOFA_DEVICE bool too_heavy(index_t weight) const {
    return orderings::too_large(weight_x_ + to_x_ + weight, weight_x_ + weight_y_);
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
    const unsigned lane = lane_of_thread();
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
    const unsigned lane = lane_of_thread();
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
    for_rows<neighbour>(
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
    for_rows<neighbour>(
        w.g.adj, simt::ballot(is), row_of(w.g, is, v),
        [&](offset_t, index_t u) {
          return neighbour{w.s[u], w.g.weight[u], row_of(w.g, Prefetches, u)};
        },
        [&](unsigned row, bool valid, index_t, const neighbour& n) {
          const bool in_y = valid && start_of(n.status) == y;
          if (in_y) prefetch_row<Prefetches>(w.g, n);
          const std::uint32_t sum =
              simt::add_of_warp(in_y ? static_cast<std::uint32_t>(n.weight) : 0);
          if (lane_of_thread() == row) pull += sum;
        });
    const std::uint32_t slot = next_place(&w.b.count, is);
    if (!is) return;
    c.set(slot,
          orderings::move_rank(own - static_cast<index_t>(pull), 0, v - w.first,
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
    const unsigned lane = lane_of_thread();
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
    const std::uint32_t k = base + lane_of_thread();
    const bool is = k < n;
    const lane_row row = row_of(w.g, is, w.first + static_cast<index_t>(is ? k : 0));
    // From an entry's place to that in shared memory.
    const offset_t shift = is ? static_cast<offset_t>(h.begin[k]) - row.begin : 0;
    for_rows<offset_t>(
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
        room_x_(orderings::largest_side(w.d.weight[side_a] + w.d.weight[side_b]) -
                w.d.weight[w.d.x]),
        cost_(w.g.total[w.d.graph]) {}

  GSOFA_DEVICE void run() {
    const std::uint32_t limit = orderings::idle_limit(w_.d.members, w_.t.idle_moves);
    const std::uint32_t lane = lane_of_thread();
    std::uint64_t best = cost();
    std::uint32_t kept = 0;
    index_t best_x = 0;
    index_t best_y = 0;
    const unsigned wanted = orderings::movers_of_step(w_.d.members);
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
    const unsigned lane = lane_of_thread();
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
    const std::uint32_t lane = lane_of_thread();
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
    const index_t stamp = moves_ < orderings::most_stamp ? moves_ : orderings::most_stamp;
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
      c_.set(slot, orderings::move_rank(gain, stamp, own_number, salt_), own_number);
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
    const unsigned lane = lane_of_thread();
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
          const std::uint64_t rank = orderings::move_rank(0, stamp, static_cast<index_t>(z), salt_);
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
  orderings::small_cost_function cost_;
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
  const std::uint32_t lane = lane_of_thread();
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
    c.set(slot, orderings::move_rank(gain, 0, number, salt), number);
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

// --------------------------------------------------------------------------------------- rounds

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
        wanted_(orderings::movers_of(w.d.members)) {}

  GSOFA_DEVICE void run() {
    begin();
    reference_ = most_of([&](std::uint32_t slot) { return c_.gain_of(slot); });
    simt::sync_block();
    const cost_function cost(w_.g.total[w_.d.graph]);
    const offset_t x = w_.d.weight[w_.d.x];
    const offset_t y = w_.d.weight[y_];
    const offset_t s = w_.d.weight[separator];
    const std::uint32_t limit = orderings::idle_limit_of_rounds(size_, w_.t.idle_moves);
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
      const std::uint32_t slot = base + lane_of_thread();
      const bool is = slot < size_;
      const index_t v = is ? members[slot] : 0;
      std::uint32_t pull = 0;
      for_rows<neighbour>(
          w_.g.adj, simt::ballot(is), row_of(w_.g, is, v),
          [&](offset_t, index_t u) {
            return neighbour{w_.s[u], w_.g.weight[u], {}};
          },
          [&](unsigned row, bool valid, index_t, const neighbour& n) {
            const bool in_y = valid && start_of(n.status) == y_;
            const std::uint32_t sum =
                simt::add_of_warp(in_y ? static_cast<std::uint32_t>(n.weight) : 0);
            if (lane_of_thread() == row) pull += sum;
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
    for (unsigned k = simt::thread_index(); k < orderings::round_classes; k += simt::block_size()) {
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
      if (gain == 0 || !orderings::too_large(x + w_.g.weight[v], both)) return;
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
    if (lane_of_thread() == 0) r_.most_of_warp[warp_of_thread()] = most;
    simt::sync_block();
    const unsigned lane = lane_of_thread();
    return simt::max_of_warp(lane < warps_of_block() ? r_.most_of_warp[lane] : 0);
  }

  /// Keys of all candidates, counts of their classes, and the best gain that each warp has seen.
  /// Lanes of the two classes that come first in a warp count together: there are few different
  /// ones.
  GSOFA_DEVICE void compute_keys(index_t round) {
    const std::uint32_t salt = orderings::round_salt(salt_, round);
    const auto reference = static_cast<index_t>(reference_ - zero_gain);
    const std::uint32_t slots = r_.slots;
    std::uint32_t most = 0;
    for (std::uint32_t base = warp_of_thread() * 32; base < slots; base += warps_of_block() * 32) {
      const std::uint32_t k = base + lane_of_thread();
      const std::uint32_t gain = k < slots ? c_.gain_of(k) : 0;
      most = gain > most ? gain : most;
      std::uint32_t key = orderings::no_round_key;
      if (gain != 0) {
        key = orderings::round_key(reference, static_cast<index_t>(gain - zero_gain),
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
        if (lane_of_thread() == leader) simt::atomic_add(r_.counts + own, simt::population(same));
        left &= ~same;
      }
      if ((left >> lane_of_thread() & 1U) != 0) simt::atomic_add(r_.counts + own, 1U);
    }
    most = simt::max_of_warp(most);
    if (lane_of_thread() == 0) r_.most_of_warp[warp_of_thread()] = most;
  }

  /// From the counts and what the warps have seen, by one warp. A lane has consecutive classes.
  GSOFA_DEVICE void find_bound() {
    constexpr unsigned own = orderings::round_classes / 32;
    const unsigned lane = lane_of_thread();
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
    r_.bound = orderings::no_round_key;
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
    r_.bound = orderings::key_bound(of_class, wanted, members);
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
      const std::uint32_t k = base + lane_of_thread();
      const bool is = k < slots && moves(k);
      const std::uint32_t place = next_place(&r_.movers, is);
      if (!is) continue;
      list(place, k);
      weight += static_cast<std::uint64_t>(w_.g.weight[c_.vertex_of(k)]);
    }
    weight = sum_of_warp(weight);
    if (lane_of_thread() == 0 && weight != 0) simt::atomic_add(&r_.weight, weight);
    simt::sync_block();
    const auto x = w_.d.weight[w_.d.x] + static_cast<offset_t>(r_.to_x + r_.weight);
    return !orderings::too_large(x, w_.d.weight[side_a] + w_.d.weight[side_b]);
  }

  /// The movers go to x, and their neighbours in y to S. Rows are dealt to the warps in turn.
  GSOFA_DEVICE void leave() {
    const std::uint32_t movers = r_.movers;
    for (std::uint32_t base = 0; base < movers; base += simt::block_size()) {
      const std::uint32_t m = base + warp_of_thread() + lane_of_thread() * warps_of_block();
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
      for_rows<vertex_status>(
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
      const std::uint32_t k = base + warp_of_thread() + lane_of_thread() * warps_of_block();
      const bool is = k < slots;
      const index_t u = is ? static_cast<index_t>(c_.vertex_of(k)) : 0;
      const std::uint32_t weight = is ? static_cast<std::uint32_t>(w_.g.weight[u]) : 0;
      std::uint32_t pull = 0;
      for_rows<neighbour>(
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
            if (lane_of_thread() == row) pull += sum;
          });
      if (!is) continue;
      from_y += weight;
      c_.gain_of(k) = zero_gain + weight - pull;
      c_.stamp_of(k) = round;
    }
    from_y = sum_of_warp(from_y);
    if (lane_of_thread() == 0 && from_y != 0) simt::atomic_add(&r_.from_y, from_y);
  }

  const block_trial& w_;
  round_space& r_;
  const round_candidates c_;
  std::uint32_t* log_;
  index_t* more_movers_;
  std::uint32_t y_, salt_, size_, wanted_;
  std::uint32_t reference_ = 0;  ///< of the keys: the best gain of a while ago
};

// -------------------------------------------------------------------------------- end of a pass

/// Whole warps take the log: body(whether the lane has an entry, its vertex, whether it came from
/// y, whether it is kept).
template <class Body>
GSOFA_DEVICE void for_log(const block_trial& w, Body&& body) {
  const pass_result& r = w.b.result;
  const std::uint32_t* const log = w.t.log + 2 * w.d.first;
  for (std::uint32_t base = 32 * warp_of_thread(); base < r.moved; base += 32 * warps_of_block()) {
    const std::uint32_t k = base + lane_of_thread();
    const std::uint32_t entry = k < r.moved ? log[k] : 0;
    body(k < r.moved, static_cast<index_t>(entry >> 1), entry % 2 == 1,
         k < r.kept && w.b.better != 0);
  }
}

/// Applies the moves that the pass has kept if they lower the cost, else none.
GSOFA_DEVICE void end_pass(const block_trial& w) {
  trial_data& d = w.d;
  const std::uint32_t y = 1 - d.x;
  simt::sync_block();
  if (simt::thread_index() == 0) {
    const offset_t gained = w.b.result.to_x;
    const offset_t lost = w.b.result.from_y;
    const offset_t a = d.weight[0] + (d.x == side_a ? gained : -lost);
    const offset_t b = d.weight[1] + (d.x == side_a ? -lost : gained);
    const offset_t separated = d.weight[separator] + lost - gained;
    const std::uint64_t cost = cost_function(w.g.total[d.graph])(a, b, separated);
    w.b.better = cost < d.cost ? 1 : 0;
    w.b.count = 0;
    d.idle = cost < d.cost ? 0 : d.idle + 1;
    if (cost < d.cost) {
      d.weight[0] = a;
      d.weight[1] = b;
      d.weight[separator] = separated;
      d.cost = cost;
    }
  }
  simt::sync_block();
  const bool better = w.b.better != 0;
  // What came to S and what is not kept, then what left S: a vertex may have an entry of each kind.
  for_log(w, [&](bool is, index_t v, bool came, bool kept) {
    if (!is) return;
    vertex_status& s = w.s[v];
    if (came) {
      s = settled(kept ? std::uint32_t{separator} : y);
      if (kept) w.t.side[w.shift + v] = separator;
    } else if (!kept && start_of(s) == separator) {
      s = settled(separator);
    }
  });
  simt::sync_block();
  if (better) {
    for_log(w, [&](bool is, index_t v, bool came, bool kept) {
      if (!is || came || !kept) return;
      w.s[v] = settled(w.d.x);
      w.t.side[w.shift + v] = static_cast<std::uint8_t>(w.d.x);
    });
    simt::sync_block();
    index_t* const list = (d.list == 0 ? w.t.members[1] : w.t.members[0]) + d.first;
    const auto add = [&](bool is, index_t v) {
      const bool stays = is && now_of(w.s[v]) == separator;
      const std::uint32_t place = next_place(&w.b.count, stays);
      if (stays) list[place] = v;
    };
    for_batches(w.members(), d.members, add);
    for_log(w, [&](bool is, index_t v, bool came, bool kept) { add(is && came && kept, v); });
  }
  simt::sync_block();
  if (simt::thread_index() == 0) {
    if (better) {
      d.members = w.b.count;
      d.list = 1 - d.list;
    }
    d.x = y;
  }
  simt::sync_block();
}

/// After end_pass(): brings the statuses in shared memory up to date. All others that differ are of
/// vertices of S, which get new ones as candidates.
GSOFA_DEVICE void settle_statuses(const block_trial& w, const near_graph& h) {
  for_log(w, [&](bool is, index_t v, bool, bool) {
    if (is) h.status[v - w.first] = settled(w.t.side[w.shift + v]);
  });
  simt::sync_block();
}

// ---------------------------------------------------------------------------- kernels: refinement

GSOFA_DEVICE block_space& space_of_block() { return *simt::shared_memory<block_space>(); }

GSOFA_DEVICE candidates candidates_of_block(std::uint32_t room) {
  auto* const words =
      reinterpret_cast<std::uint32_t*>(simt::shared_memory<unsigned char>() + sizeof(block_space));
  return {words,   words + room, words + 2 * room, words + 3 * room, nullptr,
          nullptr, nullptr,      nullptr,          nullptr,          room};
}
constexpr std::size_t bytes_of_block(index_t room) {
  return sizeof(block_space) + 4 * sizeof(std::uint32_t) * at(room);
}

GSOFA_DEVICE void load_trial(const trial_view& t, index_t trial) {
  simt::sync_block();
  if (simt::thread_index() == 0) space_of_block().d = t.data[trial];
  simt::sync_block();
}
GSOFA_DEVICE void store_trial(const trial_view& t, index_t trial) {
  simt::sync_block();
  if (simt::thread_index() == 0) t.data[trial] = space_of_block().d;
}

GSOFA_DEVICE bool ends(const trial_view& t, const trial_data& d, int pass) {
  const int passes = d.stage == 0 ? orderings::first_passes : t.later_passes;
  return pass >= passes || d.idle >= 2 || (pass > 0 && d.members == 0);
}

GSOFA_DEVICE round_candidates round_candidates_of(const block_trial& w, const candidates& c) {
  std::uint32_t* const far = w.t.far + 4 * w.d.first;
  const offset_t n = w.d.n;
  return {c.high, c.low, c.vertex, c.weight, far, far + n, far + 2 * n, far + 3 * n, c.room};
}

/// All passes of small trials, one block each.
GSOFA_KERNEL void refine_kernel(level_view g, trial_view t, const index_t* trials,
                                std::uint32_t room, std::size_t near_bytes) {
  simt::after_earlier_launches();
  const index_t trial = trials[simt::block_index()];
  load_trial(t, trial);
  block_space& b = space_of_block();
  const block_trial w(g, t, b);
  const candidates c = candidates_of_block(room);
  unsigned char* const place =
      simt::shared_memory<unsigned char>() + bytes_of_block(static_cast<index_t>(room));
  const near_graph near = near_graph_at(place, static_cast<std::uint32_t>(b.d.n));
  const bool fits = near_graph::bytes(b.d.n, g.entries[b.d.graph]) <= near_bytes;
  if (fits && !ends(t, b.d, 0)) load_graph(w, near);
  bool loaded = false;  // the statuses of `near` are those in global memory
  for (int pass = 0; !ends(t, b.d, pass); ++pass) {
    begin_pass(w, pass);
    const bool in_rounds = b.d.members >= orderings::members_of_rounds;
    if (in_rounds) {
      trial_rounds(w, round_candidates_of(w, c)).run();
    } else if (fits) {
      if (!loaded) load_statuses(w, near);
      move_near(w, near, c);
    } else {
      move_in_steps<false>(w, c);
    }
    end_pass(w);
    loaded = fits && !in_rounds;
    if (loaded) settle_statuses(w, near);
  }
  store_trial(t, trial);
}

/// The passes of large trials, one block each, up to the first one whose separator is small.
GSOFA_BOUNDED_KERNEL(threads_of_rounds)
void rounds_kernel(level_view g, trial_view t, const index_t* trials, std::uint32_t room) {
  simt::after_earlier_launches();
  const index_t trial = trials[simt::block_index()];
  load_trial(t, trial);
  block_space& b = space_of_block();
  const block_trial w(g, t, b);
  const round_candidates c = round_candidates_of(w, candidates_of_block(room));
  int pass = 0;
  for (; !ends(t, b.d, pass) && b.d.members >= orderings::members_of_rounds; ++pass) {
    begin_pass(w, pass);
    trial_rounds(w, c).run();
    end_pass(w);
  }
  if (simt::thread_index() == 0) b.d.pass = static_cast<std::uint32_t>(pass);
  store_trial(t, trial);
}

/// The other passes of large trials, which one warp makes for the most part.
GSOFA_BOUNDED_KERNEL(threads_of_steps)
void steps_kernel(level_view g, trial_view t, const index_t* trials, std::uint32_t room) {
  simt::after_earlier_launches();
  const index_t trial = trials[simt::block_index()];
  load_trial(t, trial);
  block_space& b = space_of_block();
  const block_trial w(g, t, b);
  const candidates c = candidates_of_block(room);
  for (int pass = static_cast<int>(b.d.pass); !ends(t, b.d, pass); ++pass) {
    begin_pass(w, pass);
    if (b.d.members >= orderings::members_of_rounds) {
      trial_rounds(w, round_candidates_of(w, c)).run();
    } else {
      move_in_steps<true>(w, c);
    }
    end_pass(w);
  }
  store_trial(t, trial);
}

// ------------------------------------------------------------------------------ first separators

/// Shared or global memory of a first separator, by local vertex.
struct cut_space {
  std::uint32_t *gain, *key, *tie, *queue;
  std::uint32_t* mark;  ///< bit 0: side; from bit 1: 0 in B away from A, 1 in B at A, 2 moved
  static constexpr int words = 5;
};

// Gains and keys are kept plus 2^31, so that they compare without sign; key 0 bars a vertex.

/// One first separator, by one warp.
class first_cut {
 public:
  GSOFA_DEVICE first_cut(const level_view& g, const trial_data& d, const cut_space& s)
      : g_(g), s_(s), n_(d.n), first_(g.first[d.graph]), total_(g.total[d.graph]) {
    const auto n = static_cast<std::uint32_t>(n_);
    const unsigned bits = n == 0 ? 0 : simt::highest_bit(std::uint64_t{n}) + 1;
    mask_ = (std::uint32_t{1} << bits) - 1;
    for_vertices([&](index_t v) {
      s_.tie[v] = (orderings::vertex_hash(d.key, v) << bits) | static_cast<std::uint32_t>(v);
    });
  }

  GSOFA_DEVICE void run() {
    grow();
    for (int pass = 0; pass < orderings::cut_passes && refine(); ++pass) {
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
          if (other && lane_of_thread() == row) found = 1;
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
    for (auto v = static_cast<index_t>(lane_of_thread()); v < n_; v += 32) body(v);
  }
  /// visit() as of for_rows(), with a word of the row's lane and the side of its vertex; done() in
  /// the row's lane.
  template <class Visit, class Done>
  GSOFA_DEVICE void for_rows_of_all(Visit&& visit, Done&& done) {
    simt::sync_warp();
    for (index_t base = 0; base < n_; base += 32) {
      const index_t v = base + static_cast<index_t>(lane_of_thread());
      const bool is = v < n_;
      std::uint32_t word = 0;
      const std::uint32_t side = is ? side_of(v) : 0;
      for_rows<seen>(
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
    if (lane_of_thread() == 0) {
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
    for (offset_t e = g_.begin[first_ + v] + lane_of_thread(); e < end; e += 32) {
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
          if (lane_of_thread() == row) sum += chunk;
        },
        [&](index_t v, std::uint32_t sum) { s_.gain[v] = zero_gain - sum; });
    const offset_t limit = orderings::cut_side_limit(total_);
    while (2 * weight_[0] < total_) {
      index_t v = best_key();
      if (v < 0) {
        v = best([&](index_t u) { return s_.mark[u] >> 1 == 0 ? zero_gain : 0; });
        simt::sync_warp();
        for_vertices([&](index_t u) { s_.key[u] = 0; });
      }
      if (v < 0) break;
      simt::sync_warp();
      if (lane_of_thread() == 0) {
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
    const offset_t limit = orderings::cut_side_limit(total_);
    for_vertices([&](index_t v) { s_.key[v] = s_.gain[v]; });
    simt::sync_warp();
    offset_t change = 0;
    measure least = measured(change, limit);
    const offset_t before = least.excess;
    index_t flips = 0;
    index_t kept = 0;
    while (flips < kept + orderings::cut_idle_moves) {
      index_t v = best_key();
      if (v >= 0 && !fits(v, limit)) {
        v = best([&](index_t u) { return s_.key[u] != 0 && fits(u, limit) ? s_.key[u] : 0; });
      }
      if (v < 0) break;
      change -= static_cast<index_t>(s_.gain[v] - zero_gain);
      simt::sync_warp();
      if (lane_of_thread() == 0) {
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
GSOFA_KERNEL void first_kernel(level_view g, trial_view t, const index_t* trials,
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
  first_cut cut(g, d, s);
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
    const index_t v = base + static_cast<index_t>(lane_of_thread());
    const bool is = v < n && t.side[shift + v] == separator;
    const unsigned mask = simt::ballot(is);
    if (is) t.members[0][shift + members + simt::population(mask & lanes_below())] = first + v;
    members += simt::population(mask);
  }
  if (lane_of_thread() == 0) {
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

// ------------------------------------------------------------------- kernels: from level to level

/// The rank-th of trials from .. to - 1 in order of their costs, ties in the order of those. One
/// warp; the result is in the lane that returns one, the others return -1.
GSOFA_DEVICE index_t find_rank(const trial_data* data, index_t from, index_t to, index_t rank) {
  index_t found = -1;
  for (auto k = from + static_cast<index_t>(lane_of_thread()); k < to; k += 32) {
    const std::uint64_t cost = data[k].cost;
    index_t before = 0;
    for (index_t q = from; q < to; ++q) {
      const std::uint64_t other = data[q].cost;
      before += other < cost || (other == cost && q < k) ? 1 : 0;
    }
    if (before == rank) found = k;
  }
  return found;
}

/// Makes d the level of a search if it is so much better than the best other trial, else one
/// without S, of which nothing is refined. Returns the passes without gain that d has had.
GSOFA_DEVICE std::uint32_t take_level(const trial_entry& e, const trial_data& best, offset_t total,
                                      const found_levels& levels, trial_data& d) {
  const found_level& f = levels.found[e.graph];
  d.key = e.key;
  if (f.is == 0 || !cost_function(total).takes_level(f.weight, best.weight)) {
    d.weight[side_a] = total;
    d.cost = cost_function(total)(total, 0, 0);
    return 2;
  }
  d.cost = f.cost;
  for (int side = 0; side < 3; ++side) d.weight[side] = f.weight[side];
  return 0;
}

/// The side of vertex v, whose trial is the level of a search.
GSOFA_DEVICE std::uint32_t side_by_level(const found_levels& levels, const trial_data& d,
                                         index_t v) {
  if (d.idle != 0) return side_a;
  const std::uint32_t cut = levels.found[d.graph].level;
  const std::uint32_t level = levels.level[v];
  if (level == cut) return separator;
  return level < cut ? side_a : side_b;
}

/// One warp for each trial: what it takes over from the coarser level.
GSOFA_KERNEL void select_kernel(const trial_entry* entries, index_t count, const trial_data* old,
                                trial_data* data, found_levels levels, const offset_t* total) {
  simt::after_earlier_launches();
  const auto warps = static_cast<index_t>(simt::grid_size() * warps_of_block());
  for (auto k = static_cast<index_t>(simt::block_index() * warps_of_block() + warp_of_thread());
       k < count; k += warps) {
    const trial_entry e = entries[k];
    trial_data d{};
    index_t source = -1;
    std::uint32_t idle = 0;
    if (e.from < e.to && e.rank == of_level) {
      source = find_rank(old, e.from, e.to, 0);
      if (source >= 0) idle = take_level(e, old[source], total[e.graph], levels, d);
    } else if (e.from < e.to) {
      source = find_rank(old, e.from, e.to, e.rank);
      if (source >= 0) d = old[source];
    } else {
      d.key = e.key;
      source = lane_of_thread() == 0 ? 0 : -1;
    }
    if (source < 0) continue;
    d.source = source;
    d.first = e.first;
    d.graph = e.graph;
    d.n = e.n;
    d.stage = e.stage;
    d.members = d.list = d.pass = 0;
    d.idle = idle;
    d.x = d.weight[0] <= d.weight[1] ? side_a : side_b;
    data[k] = d;
  }
}

/// The last trial in low .. high whose places begin at or before `place`.
GSOFA_DEVICE index_t trial_at(const trial_entry* entries, index_t low, index_t high,
                              std::uint64_t place) {
  while (low < high) {
    const index_t middle = high - (high - low) / 2;
    if (entries[middle].first <= place) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

/// Sides of the finer level. First separators are left as they are.
GSOFA_KERNEL void project_kernel(level_view g, trial_view t, const trial_entry* entries,
                                 index_t count, std::uint64_t places, const trial_data* old,
                                 const std::uint8_t* old_side, const index_t* old_first,
                                 const offset_t* map_first, const index_t* map,
                                 found_levels levels) {
  simt::after_earlier_launches();
  auto* const range = simt::shared_memory<index_t>();
  const std::uint64_t chunk = std::uint64_t{simt::block_size()} * items_per_thread;
  for (std::uint64_t begin = simt::block_index() * chunk; begin < places;
       begin += simt::grid_size() * chunk) {
    const std::uint64_t end = begin + chunk < places ? begin + chunk : places;
    if (simt::thread_index() < 2) {
      range[simt::thread_index()] =
          trial_at(entries, 0, count - 1, simt::thread_index() == 0 ? begin : end - 1);
    }
    simt::sync_block();
    for (std::uint64_t base = begin; base < end; base += simt::block_size()) {
      const std::uint64_t place = base + simt::thread_index();
      bool member = false;
      index_t trial = range[0];
      index_t vertex = 0;
      if (place < end) {
        trial = trial_at(entries, range[0], range[1], place);
        const trial_entry& e = entries[trial];
        if (e.from < e.to) {
          const auto v = static_cast<index_t>(place - e.first);
          vertex = g.first[e.graph] + v;
          std::uint32_t side = 0;
          if (e.rank == of_level) {
            side = side_by_level(levels, t.data[trial], vertex);
          } else {
            const trial_data& from = old[t.data[trial].source];
            const index_t c = map[map_first[from.graph] + v] - old_first[from.graph];
            side = old_side[from.first + static_cast<std::uint64_t>(c)];
          }
          t.side[place] = static_cast<std::uint8_t>(side);
          t.state[place] = settled(side);
          member = side == separator;
        }
      }
      // Warps within one trial ask for places together.
      const index_t one = simt::shuffle(trial, 0);
      std::uint32_t slot = 0;
      if (simt::ballot(place < end && trial != one) == 0) {
        slot = next_place(&t.data[one].members, member);
      } else if (member) {
        slot = simt::atomic_add(&t.data[trial].members, 1U);
      }
      if (member) t.members[0][entries[trial].first + slot] = vertex;
    }
    simt::sync_block();
  }
}

/// One warp for each group.
GSOFA_KERNEL void best_kernel(const trial_data* data, const trial_steps::group* groups,
                              index_t count, const offset_t* total, trial_steps::winner* winners) {
  simt::after_earlier_launches();
  const auto warps = static_cast<index_t>(simt::grid_size() * warps_of_block());
  for (auto k = static_cast<index_t>(simt::block_index() * warps_of_block() + warp_of_thread());
       k < count; k += warps) {
    const index_t to = groups[k].to - groups[k].with_level;
    index_t best = find_rank(data, groups[k].from, to, 0);
    if (best < 0) continue;
    // One without S has an empty side, and is not taken.
    if (groups[k].with_level != 0 &&
        cost_function(total[data[to].graph]).takes_level(data[to].weight, data[best].weight)) {
      best = to;
    }
    const trial_data& d = data[best];
    winners[k] = {d.first, {d.weight[0], d.weight[1], d.weight[2]}};
  }
}

/// Words that the host writes and the device reads; they stay until all are given back.
class upload_arena {
 public:
  std::uint64_t* take(std::size_t words) {
    if (chunks_.empty() || used_ + words > chunks_.back().size()) {
      const std::size_t last = chunks_.empty() ? at(least) : 2 * chunks_.back().size();
      chunks_.emplace_back(std::max(last, words));
      used_ = 0;
    }
    std::uint64_t* const p = chunks_.back().data() + used_;
    used_ += words;
    return p;
  }
  [[nodiscard]] bool in_use() const { return used_ > 0; }
  /// The device has read all words.
  void give_back() {
    if (chunks_.size() > 1) chunks_.erase(chunks_.begin(), chunks_.end() - 1);
    used_ = 0;
  }

 private:
  static constexpr offset_t least = 1 << 15;
  std::vector<pinned_vector<std::uint64_t>> chunks_;
  std::size_t used_ = 0;
};

/// What host and device tell each other.
struct trial_messages {
  upload_arena arena;
  pinned_vector<trial_steps::winner> winners;
  device_note note;
};

template <class T>
T* with_slack(growing_array<T>& a, offset_t size) {
  return a.resize(size > a.size() ? size + size / 4 : size);
}

int blocks_of_warps(offset_t warps) { return blocks_for(warps * 32); }

}  // namespace trial_kernels

using namespace trial_kernels;  // NOLINT(google-build-using-namespace)

struct trial_steps::space {
  explicit space(memory_budget& budget)
      : table(budget, "trials"),
        groups(budget, "trials"),
        data{{budget, "trials"}, {budget, "trials"}},
        side{{budget, "trials"}, {budget, "trials"}},
        state(budget, "trials"),
        vertices(budget, "trials"),
        words(budget, "trials") {
    if (arena.in_use()) arena.give_back();  // of an order that has thrown
#if defined(__CUDACC__)
    shared_bytes = current_limits().shared_bytes_per_block;
    allow_shared(refine_kernel, shared_bytes);
    allow_shared(rounds_kernel, bytes_of_block(near_of_few));
#endif
  }

  /// Copies what the arena has to the device without waiting for it.
  static const std::uint64_t* upload(growing_array<std::uint64_t>& to, const std::uint64_t* from,
                                     std::size_t words) {
    const auto size = static_cast<offset_t>(words);
    std::uint64_t* const place = with_slack(to, size);
    launch_overlapping(copy_words_kernel, blocks_for(size), threads_per_block, 0, from, place, size,
                       static_cast<offset_t*>(nullptr), offset_t{0});
    return place;
  }

  lent<trial_messages> messages;
  upload_arena& arena = messages->arena;
  growing_array<std::uint64_t> table, groups;
  growing_array<trial_data> data[2];
  growing_array<std::uint8_t> side[2];
  growing_array<vertex_status> state;
  growing_array<index_t> vertices;     // three lists
  growing_array<std::uint32_t> words;  // far candidates and logs

  int current = 0;  // of the two arrays
  // Of a block. On the emulator not all graphs fit.
  std::size_t shared_bytes = 24 * 1024;
  trial_view view{};
  index_t small = 0, large = 0;
  index_t most_small = 0;                                      // vertices of a small trial
  bool any_first = false;                                      // a first separator
  const index_t *small_list = nullptr, *large_list = nullptr;  // on the device
};

trial_steps::trial_steps(memory_budget& budget) : space_(std::make_unique<space>(budget)) {}
trial_steps::~trial_steps() = default;

const std::uint8_t* trial_steps::side() const { return space_->view.side; }

void trial_steps::move(const level* coarser, const level& finer, std::span<const trial_spec> specs,
                       const found_levels& levels) {
  space& s = *space_;
  const auto count = static_cast<index_t>(specs.size());
  // The table: the entries, then the lists of small and of large trials and of first separators.
  constexpr std::size_t entry_words = sizeof(trial_entry) / 8;
  static_assert(sizeof(trial_entry) % 8 == 0);
  const std::size_t list_words = (2 * specs.size() + 1) / 2;
  const std::size_t words = specs.size() * entry_words + list_words;
  std::uint64_t* const table = s.arena.take(words);
  auto* const entries = reinterpret_cast<trial_entry*>(table);
  auto* const by_size = reinterpret_cast<index_t*>(table + specs.size() * entry_words);
  auto* const firsts = by_size + specs.size();
  std::uint64_t places = 0;
  index_t first_separators = 0;
  index_t most_first = 0;
  s.small = s.large = 0;
  s.most_small = 0;
  for (index_t k = 0; k < count; ++k) {
    const trial_spec& spec = specs[at(k)];
    const index_t n = finer.size_of(spec.graph);
    entries[k] = {.key = spec.key,
                  .first = places,
                  .graph = spec.graph,
                  .n = n,
                  .from = spec.from,
                  .to = spec.to,
                  .rank = spec.is_level ? of_level : spec.rank,
                  .stage = spec.stage};
    places += static_cast<std::uint64_t>(n);
    if (n >= large_order) {
      by_size[count - ++s.large] = k;
    } else {
      by_size[s.small++] = k;
      s.most_small = std::max(s.most_small, n);
    }
    if (spec.from >= spec.to) {
      firsts[first_separators++] = k;
      most_first = std::max(most_first, n);
    }
  }
  const auto room = static_cast<offset_t>(places);
  const int before = s.current;
  s.current = 1 - s.current;
  index_t* const vertices = with_slack(s.vertices, 3 * room);
  std::uint32_t* const far = with_slack(s.words, 6 * room);
  s.view = {.data = with_slack(s.data[s.current], count),
            .side = with_slack(s.side[s.current], room),
            .state = with_slack(s.state, room),
            .members = {vertices, vertices + room},
            .spare = vertices + 2 * room,
            .far = far,
            .log = far + 4 * room,
            .idle_moves = 0,
            .later_passes = 0};
  s.any_first = first_separators > 0;
  if (count == 0) return;
  const std::uint64_t* const device_table = space::upload(s.table, table, words);
  const auto* const device_entries = reinterpret_cast<const trial_entry*>(device_table);
  s.small_list = reinterpret_cast<const index_t*>(device_table + specs.size() * entry_words);
  s.large_list = s.small_list + s.small;
  const trial_data* const old = s.data[before].data();
  const level_view g = finer.view();
  launch_overlapping(select_kernel, blocks_of_warps(count), threads_per_block, 0, device_entries,
                     count, old, s.view.data, levels, g.total);
  if (first_separators < count) {
    launch_overlapping(project_kernel, blocks_for(room / items_per_thread + 1), threads_per_block,
                       2 * sizeof(index_t), g, s.view, device_entries, count, places, old,
                       static_cast<const std::uint8_t*>(s.side[before].data()),
                       static_cast<const index_t*>(coarser->d_first.data()),
                       static_cast<const offset_t*>(coarser->d_map_first.data()),
                       static_cast<const index_t*>(coarser->d_map.data()), levels);
  }
  if (first_separators > 0) {
    const index_t near = std::min(most_first, most_near_order);
    launch_overlapping(first_kernel, first_separators, 32,
                       cut_space::words * sizeof(std::uint32_t) * at(near), g, s.view,
                       s.small_list + count, near);
  }
}

void trial_steps::refine(const level& at_level, const orderings::dissection_settings& settings,
                         std::size_t number) {
  space& s = *space_;
  const bool all = number % static_cast<std::size_t>(std::max(1, settings.stride)) == 0;
  if (!all && !s.any_first) return;
  s.view.idle_moves = static_cast<std::uint32_t>(settings.idle_moves);
  s.view.later_passes = all ? orderings::later_passes : 0;
  const level_view g = at_level.view();
  if (s.large > 0) {
    bool few = true;
    int of_rounds = threads_of_rounds;
    int of_steps = threads_of_steps;
#if defined(__CUDACC__)
    if (s.large > multiprocessors()) {
      few = false;
      of_rounds = of_steps = threads_of_many;
    }
#endif
    const index_t room = few ? near_of_few : near_of_many;
    launch_overlapping(rounds_kernel, s.large, of_rounds, bytes_of_block(room), g, s.view,
                       s.large_list, static_cast<std::uint32_t>(room));
    launch_overlapping(steps_kernel, s.large, of_steps, bytes_of_block(near_of_steps), g, s.view,
                       s.large_list, static_cast<std::uint32_t>(near_of_steps));
  }
  if (s.small > 0) {
    // Where trials are few, each has many warps to look for candidates.
    auto room = static_cast<index_t>(slots_per_step);
    while (room < most_near_slots && room < s.most_small) room *= 2;
#if defined(__CUDACC__)
    const index_t share = multiprocessors() * 32 / s.small;
    const int threads = share >= 8 ? 256 : share >= 4 ? 128 : share >= 2 ? 64 : 32;
#else
    const int threads = s.small % 2 == 0 ? 32 : 64;  // tests need both
#endif
    // Graphs whose rows are much longer than the mean may not fit.
    const offset_t mean = at_level.room / std::max<offset_t>(1, g.n) + 1;
    const std::size_t wanted = near_graph::bytes(s.most_small, s.most_small * (mean + mean / 4));
    const std::size_t rest = s.shared_bytes - bytes_of_block(room);
    std::size_t near_bytes = std::min(wanted, rest) / 16 * 16;
#if defined(__CUDACC__)
    // Where shared memory holds a small part of the trials at a time, more of them at once on their
    // graphs in global memory are faster, although each is slower.
    const auto at_once =
        static_cast<index_t>(s.shared_bytes / (bytes_of_block(room) + near_bytes + block_overhead));
    if (s.small / multiprocessors() >= most_waves * std::max<index_t>(1, at_once)) {
      near_bytes = 0;
      room = std::min(room, far_room);
    }
#endif
    launch_overlapping(refine_kernel, s.small, threads, bytes_of_block(room) + near_bytes, g,
                       s.view, s.small_list, static_cast<std::uint32_t>(room), near_bytes);
  }
}

std::vector<trial_steps::winner> trial_steps::best(const level& at_level,
                                                   std::span<const group> groups) {
  space& s = *space_;
  const auto count = static_cast<index_t>(groups.size());
  if (count == 0) return {};
  static_assert(sizeof(group) == 16);
  std::uint64_t* const words = s.arena.take(2 * groups.size());
  std::ranges::copy(groups, reinterpret_cast<group*>(words));
  const auto* const device_groups =
      reinterpret_cast<const group*>(space::upload(s.groups, words, 2 * groups.size()));
  trial_messages& messages = *s.messages;
  if (messages.winners.size() < groups.size()) messages.winners.resize(2 * groups.size());
  winner* const winners = messages.winners.data();
  launch_overlapping(best_kernel, blocks_of_warps(count), threads_per_block, 0,
                     static_cast<const trial_data*>(s.view.data), device_groups, count,
                     at_level.view().total, winners);
  messages.note.wait();
  s.arena.give_back();
  return {winners, winners + count};
}

}  // namespace gsofa::gpu::dissection

#endif
