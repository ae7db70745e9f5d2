#pragma once

/// Updates by workers that hand over: which targets a worker updates itself, which targets it
/// leaves to other workers as tasks, and how a worker does a task.

#include "variants/panels/eliminate/pairs.cuh"

#if defined(GSOFA_GPU)

namespace gsofa::panels::elimination {

/// The vertices of a factored panel that no target before position `end` prunes. Each block
/// computes all of them.
///
/// Before: the worker has passed the barrier of factor_diagonal(), and its any_upper is zero.
template <tier Tier>
GSOFA_DEVICE mask_t unpruned_before(const current_panel& c, index_t end) {
  using team = worker<Tier>;
  mask_t both = 0;
  for (index_t z = c.place.width + team::rank(); z < end; z += team::size()) {
    const mask_pair m = c.masks[z];
    both |= m.upper & m.lower;
  }
  both = or_over_warp(both);
  if (lane_index() == 0 && both != 0) simt::atomic_or(&c.s.any_upper, both);
  team::sync();
  return unpruned_inside(c.block, c.place.width) & ~c.s.any_upper;
}

/// Lists the column blocks for the round that begins with column block `round` of a factored panel,
/// and returns the masks of the warp's targets. The barriers of find_routes() order the list.
template <tier Tier>
GSOFA_DEVICE lane_masks read_round(const current_panel& c, offset_t round) {
  list_blocks<Tier>(c, round);
  return load_targets<Tier>(c, round);
}

/// Updates the targets of a round of a factored panel, where `unpruned` holds the vertices that no
/// earlier target prunes. No barrier follows the sweep.
template <tier Tier>
GSOFA_DEVICE void update_round(const current_panel& c, const lane_masks& targets, offset_t round,
                               mask_t unpruned) {
  using team = worker<Tier>;
  find_routes<Tier>(c, targets, round, unpruned);
  const std::uint32_t active = active_routes<Tier>(c);
  if ((active >> team::warp() & 1U) != 0) find_places<Tier>(c);
  team::sync();
  count_round(c, active);
  sweep_pairs<Tier>(c, active);
}

/// Does a task: updates targets of a factored panel, round by round. Returns the first target of
/// the task if this target is ready now, else -1.
///
/// Before: the leader has acquired the task, and the worker has passed a wide barrier since. After:
/// the worker has passed a wide barrier; all threads return the same value.
template <tier Tier>
GSOFA_DEVICE index_t do_task(const elimination_view& e, work_item task, worker_state& s) {
  using team = worker<Tier>;
  const panel_view& p = e.p;
  const panel_place place = place_of(p, task.panel);
  const current_panel c = current_panel_of<Tier>(e, task.panel, place, s);
  const task_sizes sizes{static_cast<index_t>(team::warps())};
  const offset_t first = place.column_block_begin + task_sizes::first(task.task);
  const offset_t behind = first + sizes.size(task.task);
  const offset_t end = behind < place.column_block_end ? behind : place.column_block_end;
  lane_masks diagonal{{0, 0}, {0, 0}};
  if (has_diagonal<Tier>()) diagonal = load_diagonal(c);
  lane_masks targets = read_round<Tier>(c, first);
  factor_diagonal<Tier>(c, diagonal);
  // Other workers may update the same targets: none is exclusive. The barriers of find_routes()
  // order this store.
  if (team::rank() == 0) c.head.single_child_steps = 0;
  for (offset_t block = first; block < end; block += sizes.of_round) {
    if (block > first) {
      // The previous round has read what this round overwrites.
      team::sync();
      if (team::rank() == 0) c.s.any_upper = 0;
      targets = read_round<Tier>(c, block);
      team::sync();
    }
    const mask_t unpruned = unpruned_before<Tier>(c, p.column_block_first[block]);
    if (unpruned == 0) break;
    update_round<Tier>(c, targets, block, unpruned);
  }
  team::sync_wide();
  const index_t ready = decided<Tier>(decisions_of<Tier>(e, s).panel, [&] {
    const index_t target = p.column_block_panel[first];
    return e.schedule.done(target, e.schedule.children[target]) ? target : -1;
  });
  team::sync_wide();
  return ready;
}

/// Returns those warps of `taking` whose targets the worker updates itself in the first round.
/// `far` becomes the first column block, relative to the panel's first, that the worker leaves to
/// tasks.
///
/// A task costs another worker about as much as a panel with its first target. The worker keeps as
/// many of the nearest targets as its threads update in a few steps.
template <tier Tier>
GSOFA_DEVICE std::uint32_t near_targets(const current_panel& c, std::uint32_t taking,
                                        index_t& far) {
  using team = worker<Tier>;
  const offset_t most = offset_t{c.e.most_near_steps} * team::unroll * team::wide_size();
  far = static_cast<index_t>(team::warps());
  offset_t pairs = 0;
  std::uint32_t near = 0;
  for (; taking != 0; taking &= taking - 1) {
    const unsigned warp = simt::lowest_bit(taking);
    pairs += c.place.length - c.s.routes()[warp].begin;
    if (near != 0 && pairs > most) {
      far = static_cast<index_t>(warp);
      break;
    }
    near |= 1U << warp;
  }
  return near;
}

/// Updates the near targets `others`, and hands over the column blocks from `far` on. If the queue
/// is full, the worker updates the remaining targets itself.
template <tier Tier>
GSOFA_DEVICE void update_others(const current_panel& c, std::uint32_t others, index_t far) {
  using team = worker<Tier>;
  const panel_place& place = c.place;
  const auto count = static_cast<index_t>(place.column_block_end - place.column_block_begin);
  const auto warps = static_cast<index_t>(team::warps());
  const index_t rest =
      c.e.schedule.hand_over<Tier>(c.j, c.e.p.column_block_panel + place.column_block_begin, count,
                                   far, decisions_of<Tier>(c.e, c.s).slot);
  if (others != 0) sweep_pairs<Tier>(c, others);
  for (index_t first = rest; first < count; first += warps) {
    team::sync();
    if (team::rank() == 0) c.s.any_upper = 0;
    team::sync();
    const offset_t begin = place.column_block_begin + first;
    const mask_t left = unpruned_before<Tier>(c, c.e.p.column_block_first[begin]);
    if (left == 0) break;
    update_round<Tier>(c, read_round<Tier>(c, begin), begin, left);
  }
}

/// Factors the boundary and updates the ancestors, by a worker that hands over. `targets`: the
/// masks of the warp's targets of the first round, not factored. One sweep factors all positions
/// and updates the first target. After a barrier, the worker hands over far targets, and its warps
/// divide the pairs of a position and another near target.
template <tier Tier>
GSOFA_DEVICE outcome update_near_and_far(const current_panel& c, const panel_closures& by,
                                         lane_masks targets) {
  using team = worker<Tier>;
  const panel_place& place = c.place;
  fill_closures<Tier>(c);
  list_blocks<Tier>(c, place.column_block_begin);
  factor_targets(by, targets);
  mask_t unpruned = unpruned_inside(c.block, place.width);
  find_routes<Tier>(c, targets, place.column_block_begin, unpruned);
  const std::uint32_t taking = active_routes<Tier>(c);
  index_t far = 0;
  const std::uint32_t near = near_targets<Tier>(c, taking, far);
  const std::uint32_t others = near & (near - 1);
  if ((others >> team::warp() & 1U) != 0) find_places<Tier>(c);
  count_round(c, near);
  const bool helped = c.s.routes()[0].helped;
  const mask_pair any = sweep<Tier>(c, tabled_closures(by, c.s.far(team::warps())), place.width,
                                    near & ~others, true);
  const bool has_more = place.column_block_begin + team::warps() < place.column_block_end;
  bool hands = near != taking;
  bool swept = false;  // a wide barrier has followed the sweep
  if (!hands && has_more && unpruned != 0) {
    // As in update_in_rounds().
    hands = (unpruned & vertices_with_boundary<Tier>(c, any)) != 0;
    swept = true;
  }
  if (hands) {
    update_others<Tier>(c, others, far);
  } else if (others != 0) {
    if (!swept) team::sync_wide();
    sweep_pairs<Tier>(c, others);
  }
  return finish_panel<Tier>(c, 0, helped);
}

}  // namespace gsofa::panels::elimination

#endif
