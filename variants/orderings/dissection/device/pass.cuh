#pragma once

// A pass over the separator of a trial by one block: what the block shares, how the pass begins and
// how it ends.

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include "common/random.hpp"
#include "variants/orderings/dissection/device/candidates.cuh"

namespace gsofa::orders::device {

/// What a pass has done.
struct pass_result {
  std::uint32_t kept, moved;  ///< entries of its log
  offset_t to_x, from_y;      ///< by the entries that are kept
};

constexpr std::uint32_t near_movers = 256;  // of a round, that shared memory lists

/// What a block that moves in rounds shares. Between rounds counts, movers and weight are 0.
struct alignas(16) round_space {
  std::uint32_t counts[round_classes];  ///< of candidates by class
  std::uint32_t list[near_movers];      ///< slots of movers
  std::uint32_t most_of_warp[32];
  std::uint32_t top;    ///< the best gain of the candidates
  std::uint32_t bound;  ///< of the keys that move
  std::uint32_t movers, slots, logged;
  std::uint64_t weight;  ///< of the movers
  std::uint64_t to_x, from_y;
};

/// Shared memory of a block in addition to the candidates.
struct alignas(16) block_space {
  trial_data d;
  std::uint32_t count;
  std::uint32_t better;
  pass_result result;
  std::uint32_t free_slots[most_free_slots];
  round_space rounds;
};

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

/// Whole warps take 32 vertices of a list at a time: body(whether the lane has one, vertex, its
/// place).
template <class Body>
GSOFA_DEVICE void for_batches(const index_t* list, std::uint32_t size, Body&& body) {
  for (std::uint32_t base = warp_of_thread() * 32; base < size; base += warps_of_block() * 32) {
    const std::uint32_t k = base + lane_index();
    body(k < size, k < size ? list[k] : 0, k);
  }
}

GSOFA_DEVICE void begin_pass(const block_trial& w, int pass) {
  if (simt::thread_index() == 0) {
    w.d.pass_key = keyed_random(w.d.key, static_cast<std::uint64_t>(w.d.stage),
                                static_cast<std::uint64_t>(pass));
  }
  simt::sync_block();
}

// -------------------------------------------------------------------------------- end of a pass

/// Whole warps take the log: body(whether the lane has an entry, its vertex, whether it came from
/// y, whether it is kept).
template <class Body>
GSOFA_DEVICE void for_log(const block_trial& w, Body&& body) {
  const pass_result& r = w.b.result;
  const std::uint32_t* const log = w.t.log + 2 * w.d.first;
  for (std::uint32_t base = 32 * warp_of_thread(); base < r.moved; base += 32 * warps_of_block()) {
    const std::uint32_t k = base + lane_index();
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
    for_batches(w.members(), d.members, [&](bool is, index_t v, std::uint32_t) { add(is, v); });
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

}  // namespace gsofa::orders::device

#endif
