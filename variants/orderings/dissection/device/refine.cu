// Refinement of separators by one-sided moves, one block for each trial. Device form of
// host/refine.cpp.
//
// A pass grows side x at the cost of side y: vertices of S go to x and draw their neighbours in y
// into S. Where S is large a pass goes in rounds (rounds.cuh): the block chooses the
// movers of a round by classes of keys. Where S is small a pass goes in steps
// (steps.cuh): one warp moves the candidates of the highest ranks, up to four at a
// time. Either way the pass keeps its best prefix (pass.cuh).

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include <algorithm>

#include "variants/orderings/dissection/device/rounds.cuh"
#include "variants/orderings/dissection/device/stages.hpp"
#include "variants/orderings/dissection/device/steps.cuh"
#include "variants/orderings/dissection/device/tuning.hpp"

namespace gsofa::orders::device {

namespace {

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
  const int passes = d.stage == 0 ? first_passes : t.later_passes;
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
  const near_graph near(place, static_cast<std::uint32_t>(b.d.n), w.first);
  const bool fits = near_graph::bytes(b.d.n, g.entries[b.d.graph]) <= near_bytes;
  if (fits && !ends(t, b.d, 0)) near.load(w);
  bool loaded = false;  // the statuses of `near` are those in global memory
  for (int pass = 0; !ends(t, b.d, pass); ++pass) {
    begin_pass(w, pass);
    const bool in_rounds = b.d.members >= members_of_rounds;
    if (in_rounds) {
      trial_rounds(w, round_candidates_of(w, c)).run();
    } else if (fits) {
      if (!loaded) near.load_statuses(w);
      move_in_steps(w, near, c);
    } else {
      move_in_steps(w, far_graph<false>(w), c);
    }
    end_pass(w);
    loaded = fits && !in_rounds;
    if (loaded) near.settle_statuses(w);
  }
  store_trial(t, trial);
}

/// The passes of large trials, one block each, up to the first one whose separator is small.
GSOFA_BOUNDED_KERNEL(refine_tuning::threads_of_rounds)
void rounds_kernel(level_view g, trial_view t, const index_t* trials, std::uint32_t room) {
  simt::after_earlier_launches();
  const index_t trial = trials[simt::block_index()];
  load_trial(t, trial);
  block_space& b = space_of_block();
  const block_trial w(g, t, b);
  const round_candidates c = round_candidates_of(w, candidates_of_block(room));
  int pass = 0;
  for (; !ends(t, b.d, pass) && b.d.members >= members_of_rounds; ++pass) {
    begin_pass(w, pass);
    trial_rounds(w, c).run();
    end_pass(w);
  }
  if (simt::thread_index() == 0) b.d.pass = static_cast<std::uint32_t>(pass);
  store_trial(t, trial);
}

/// The other passes of large trials, which one warp makes for the most part.
GSOFA_BOUNDED_KERNEL(refine_tuning::threads_of_steps)
void steps_kernel(level_view g, trial_view t, const index_t* trials, std::uint32_t room) {
  simt::after_earlier_launches();
  const index_t trial = trials[simt::block_index()];
  load_trial(t, trial);
  block_space& b = space_of_block();
  const block_trial w(g, t, b);
  const candidates c = candidates_of_block(room);
  for (int pass = static_cast<int>(b.d.pass); !ends(t, b.d, pass); ++pass) {
    begin_pass(w, pass);
    if (b.d.members >= members_of_rounds) {
      trial_rounds(w, round_candidates_of(w, c)).run();
    } else {
      move_in_steps(w, far_graph<true>(w), c);
    }
    end_pass(w);
  }
  store_trial(t, trial);
}

/// Large trials, a block each: rounds as long as S is large, then the other passes.
void refine_large(trials& t, const level_view& g) {
  using tuning = refine_tuning;
  const bool few = is_emulated || t.large <= multiprocessors();
  const index_t room = few ? tuning::near_of_few : tuning::near_of_many;
  launch_overlapping(
      rounds_kernel, t.large, few ? tuning::threads_of_rounds : tuning::threads_of_many,
      bytes_of_block(room), g, t.view, t.large_list, static_cast<std::uint32_t>(room));
  launch_overlapping(steps_kernel, t.large,
                     few ? tuning::threads_of_steps : tuning::threads_of_many,
                     bytes_of_block(tuning::near_of_steps), g, t.view, t.large_list,
                     static_cast<std::uint32_t>(tuning::near_of_steps));
}

/// Threads of a block that refines a small trial, of `count` ones. Where they are few, each has
/// many warps to look for candidates.
int threads_of_small(index_t count) {
  if (is_emulated) return count % 2 == 0 ? 32 : 64;  // tests need both
  const index_t share = multiprocessors() * 32 / count;
  return share >= 8 ? 256 : share >= 4 ? 128 : share >= 2 ? 64 : 32;
}

/// Small trials, a block each, on their graphs in shared memory where those fit.
/// entries: mean length of the rows, and 1.
void refine_small(trials& t, const level_view& g, offset_t entries) {
  auto room = static_cast<index_t>(slots_per_step);
  while (room < refine_tuning::most_near_slots && room < t.most_small) room *= 2;
  // Graphs whose rows are much longer than the mean may not fit.
  const std::size_t wanted =
      near_graph::bytes(t.most_small, t.most_small * (entries + entries / 4));
  std::size_t near_bytes = std::min(wanted, t.shared_bytes - bytes_of_block(room)) / 16 * 16;
  // Where shared memory holds a small part of the trials at a time, more of them at once on their
  // graphs in global memory are faster, although each is slower.
  const auto at_once = static_cast<index_t>(
      t.shared_bytes / (bytes_of_block(room) + near_bytes + refine_tuning::block_overhead));
  if (!is_emulated &&
      t.small / multiprocessors() >= refine_tuning::most_waves * std::max<index_t>(1, at_once)) {
    near_bytes = 0;
    room = std::min(room, refine_tuning::far_room);
  }
  launch_overlapping(refine_kernel, t.small, threads_of_small(t.small),
                     bytes_of_block(room) + near_bytes, g, t.view, t.small_list,
                     static_cast<std::uint32_t>(room), near_bytes);
}

}  // namespace

void refine(trials& t, const level& at_level, const dissection_settings& settings,
            std::size_t number) {
  const bool all = number % static_cast<std::size_t>(std::max(1, settings.stride)) == 0;
  if (!all && t.firsts == 0) return;
  t.view.idle_moves = static_cast<std::uint32_t>(settings.idle_moves);
  t.view.later_passes = all ? later_passes : 0;
  if (!t.allowed) {
    allow_shared(refine_kernel, t.shared_bytes);
    allow_shared(rounds_kernel, bytes_of_block(refine_tuning::near_of_few));
    t.allowed = true;
  }
  const level_view g = at_level.view();
  if (t.large > 0) refine_large(t, g);
  if (t.small > 0) refine_small(t, g, at_level.room / std::max<offset_t>(1, g.n) + 1);
}

}  // namespace gsofa::orders::device

#endif
