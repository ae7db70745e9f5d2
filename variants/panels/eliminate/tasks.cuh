#pragma once

/// Updates by workers that hand over: which targets a worker updates itself, which targets it
/// leaves to other workers as tasks, and how a worker does a task.

#include "variants/panels/eliminate/pairs.cuh"

#if defined(GSOFA_GPU)

namespace gsofa::panels::elimination {

/// The vertices of a factored panel that no target before position `end` prunes. Each block
/// computes all of them.
///
/// Before: the worker has passed the barrier of factor_diagonal_block(), and its any_upper is zero.
template <tier Tier>
GSOFA_DEVICE mask_t unpruned_before(const current_panel& panel, index_t end) {
  using team = worker<Tier>;
  mask_t both = 0;
  for (index_t z = panel.place.width + team::rank(); z < end; z += team::size()) {
    const mask_pair m = panel.masks[z];
    both |= m.upper & m.lower;
  }
  both = or_over_warp(both);
  if (lane_index() == 0 && both != 0) simt::atomic_or(&panel.state.any_upper, both);
  team::sync();
  return unpruned_inside(panel.diagonal, panel.place.width) & ~panel.state.any_upper;
}

/// Begins the round of a factored panel whose first column block is `round`: lists the column
/// blocks, and sets and returns the warp's. The barriers of find_routes() order all stores.
template <tier Tier>
GSOFA_DEVICE column_block_head begin_round(const current_panel& panel, offset_t round) {
  list_blocks<Tier>(panel, round);
  const column_block_head target = target_of_warp<Tier>(panel, round);
  set_target<Tier>(panel, target);
  return target;
}

/// Updates the targets of a round of a factored panel, where `unpruned` holds the vertices that no
/// earlier target prunes. No barrier follows the sweep.
template <tier Tier>
GSOFA_DEVICE void update_round(const current_panel& panel, const lane_masks& targets,
                               offset_t round, mask_t unpruned) {
  using team = worker<Tier>;
  const std::uint32_t active = find_routes<Tier>(panel, targets, round, unpruned);
  if ((active >> team::warp() & 1U) != 0) find_places<Tier>(panel);
  team::sync();
  count_round(panel, active);
  sweep_pairs<Tier>(panel, active);
}

/// Does a task: updates targets of a factored panel, round by round. Returns the first target of
/// the task if this target is ready now, else -1.
///
/// Before: the leader has acquired the task, and the worker has passed a wide barrier since. After:
/// the worker has passed a wide barrier; all threads return the same value.
template <tier Tier>
GSOFA_DEVICE index_t do_task(const elimination_view& view, work_item task,
                             worker_memory<Tier>& memory) {
  using team = worker<Tier>;
  const panel_view& panels = view.panels;
  const panel_place place = place_of(panels, task.panel);
  const current_panel panel = current_panel_of<Tier>(view, task.panel, place, memory);
  const task_sizes sizes{static_cast<index_t>(team::warps())};
  const offset_t first = place.column_block_begin + task_sizes::first(task.task);
  const offset_t behind = first + sizes.size(task.task);
  const offset_t end = behind < place.column_block_end ? behind : place.column_block_end;
  const lane_masks diagonal = load_diagonal<Tier>(panel);
  lane_masks targets = load_targets(panel, begin_round<Tier>(panel, first));
  // The worker that has factored the panel has stored the block.
  factor_diagonal_block<Tier>(panel, diagonal);
  // Other workers may update the same targets: none is exclusive. The barriers of find_routes()
  // order this store.
  if (team::rank() == 0) panel.head.single_child_steps = 0;
  for (offset_t block = first; block < end; block += sizes.of_round) {
    if (block > first) {
      // The previous round has read what this round overwrites.
      team::sync();
      if (team::rank() == 0) panel.state.any_upper = 0;
      targets = load_targets(panel, begin_round<Tier>(panel, block));
      team::sync();
    }
    const mask_t unpruned = unpruned_before<Tier>(panel, panels.column_block_first[block]);
    if (unpruned == 0) break;
    update_round<Tier>(panel, targets, block, unpruned);
  }
  team::sync_wide();
  const index_t ready = decided<Tier>(decisions_of<Tier>(view, memory.state).panel, [&] {
    const index_t target = panels.column_block_panel[first];
    return view.schedule.done(target, view.schedule.children[target]) ? target : -1;
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
GSOFA_DEVICE std::uint32_t near_targets(const current_panel& panel, std::uint32_t taking,
                                        index_t& far) {
  using team = worker<Tier>;
  const offset_t most = offset_t{panel.view.most_near_steps} * team::unroll * team::wide_size();
  far = static_cast<index_t>(team::warps());
  offset_t pairs = 0;
  std::uint32_t near = 0;
  for (; taking != 0; taking &= taking - 1) {
    const unsigned warp = simt::lowest_bit(taking);
    pairs += panel.place.length - panel.routes[warp].begin;
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
GSOFA_DEVICE void update_others(const current_panel& panel, std::uint32_t others, index_t far) {
  using team = worker<Tier>;
  const panel_place& place = panel.place;
  const auto count = static_cast<index_t>(place.column_block_end - place.column_block_begin);
  const auto warps = static_cast<index_t>(team::warps());
  const index_t rest = panel.view.schedule.hand_over<Tier>(
      panel.number, panel.view.panels.column_block_panel + place.column_block_begin, count, far,
      decisions_of<Tier>(panel.view, panel.state).slot);
  if (others != 0) sweep_pairs<Tier>(panel, others);
  for (index_t first = rest; first < count; first += warps) {
    team::sync();
    if (team::rank() == 0) panel.state.any_upper = 0;
    team::sync();
    const offset_t begin = place.column_block_begin + first;
    const mask_t left = unpruned_before<Tier>(panel, panel.view.panels.column_block_first[begin]);
    if (left == 0) break;
    const lane_masks targets = load_targets(panel, begin_round<Tier>(panel, begin));
    update_round<Tier>(panel, targets, begin, left);
  }
}

/// Begins the first round of a worker that hands over. The barriers of find_routes() order the
/// tables and lists.
///
/// Before: all threads may read the diagonal block.
template <tier Tier>
GSOFA_DEVICE void prepare_hand_over(const current_panel& panel) {
  fill_closures<Tier>(panel);
  list_blocks<Tier>(panel, panel.place.column_block_begin);
}

/// Factors the boundary and updates the ancestors, by a worker that hands over. `taking`: the warps
/// whose targets take rows in the first round; `unpruned`: the vertices that these targets do not
/// prune. One sweep factors all positions and updates the first target. After a barrier, the worker
/// hands over far targets, and its warps divide the pairs of a position and another near target.
template <tier Tier>
GSOFA_DEVICE outcome hand_over_far_targets(const current_panel& panel, const panel_closures& by,
                                           std::uint32_t taking, mask_t unpruned) {
  using team = worker<Tier>;
  index_t far = 0;
  const std::uint32_t near = near_targets<Tier>(panel, taking, far);
  const std::uint32_t others = near & (near - 1);
  if ((others >> team::warp() & 1U) != 0) find_places<Tier>(panel);
  count_round(panel, near);
  const bool helped = panel.routes[0].helped;
  const mask_pair any =
      factor_boundary_and_update<Tier>(panel, tabled_closures(by, *panel.far), near & ~others);
  const bool has_more =
      panel.place.column_block_begin + team::warps() < panel.place.column_block_end;
  bool hands = near != taking;
  bool swept = false;  // a wide barrier has followed the sweep
  if (!hands && has_more && unpruned != 0) {
    // As in factor_and_update().
    hands = (unpruned & vertices_with_boundary<Tier>(panel, any)) != 0;
    swept = true;
  }
  if (hands) {
    update_others<Tier>(panel, others, far);
  } else if (others != 0) {
    if (!swept) team::sync_wide();
    sweep_pairs<Tier>(panel, others);
  }
  return finish_panel<Tier>(panel, 0, helped);
}

}  // namespace gsofa::panels::elimination

#endif
