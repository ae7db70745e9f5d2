// The kernels of the elimination on the GPU, and their launches. panel.cuh has the algorithm,
// schedule.cuh the order of the panels, PROOFS.md why the order and the memory accesses are right.
//
// The launches of a wave:
//   1  warps            begin at the leaves, and list panels of more than warp_positions positions;
//                       if there are few panels, all panels
//   2  blocks           take the listed panels, and list panels of more than cluster_positions
//   3  sharing blocks   the same by blocks that hand over updates of far targets
//   4  clusters         take the panels that blocks have listed
//   5  sharing clusters the same by clusters that hand over
// Launches 2 to 5 are left out if no panel is long enough. Workers of launches 2 and 4 stop once
// their update rounds have cost most_far_work. Until then launches 3 and 5 do nothing.

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include <algorithm>

#include "variants/device/tile_scan.hpp"
#include "variants/panels/eliminate/eliminate.hpp"
#include "variants/panels/eliminate/tasks.cuh"

namespace gsofa::panels {

using namespace elimination;

namespace {

constexpr std::size_t bytes_of_warps = warp_threads / 32 * sizeof(worker_memory<tier::warp>);
constexpr std::size_t bytes_of_block = sizeof(worker_memory<tier::block>);
constexpr std::size_t bytes_of_sharing_block = sizeof(worker_memory<tier::sharing_block>);

/// Eliminates panel j and then each panel above it whose last child this worker has finished, up to
/// the first panel that is left to the next launch or wave.
///
/// Before: all children of j are done, and a barrier of the worker orders what they did. This also
/// holds for every panel with which the loop continues: either the current panel is its only child,
/// or the leader has acquired the count of its finished children before the wide barrier.
///
/// Waves: the last child of panel j is panel j - 1. So if all children of a panel are before the
/// panel's wave, the panel is the first of the wave. The wave begins with this panel and the
/// leaves.
template <tier Tier>
GSOFA_DEVICE void follow(const elimination_view& view, index_t j, worker_memory<Tier>& memory) {
  using team = worker<Tier>;
  const bool leads = team::wide_rank() == 0;
  panel_place place = place_of(view.panels, j);
  for (bool stays = true;;) {
    if (place.length > view.schedule.most || !stays) {
      if (leads) view.schedule.leave(j);
      return;
    }
    if constexpr (detail::counting) {
      if (leads && !team::is_warp) simt::atomic_add(view.counters + count_block_panels, 1ULL);
    }
    const outcome last = factor_and_update<Tier>(current_panel_of<Tier>(view, j, place, memory));
    stays = last.stays;
    j = last.parent.panel;
    if (j < 0) return;
    if (last.parent.children > 1 || last.helped) {
      j = decided<Tier>(decisions_of<Tier>(view, memory.state).panel,
                        [&] { return view.schedule.done(j, last.parent.children) ? j : -1; });
    }
    if (j < 0 || j >= view.schedule.wave.end) return;
    place = last.parent.place;
  }
}

/// Launch 1: a warp takes each panel without children in the wave and follows the path up from it.
/// The threads also set the counters of later launches to zero.
GSOFA_BOUNDED_KERNEL(warp_threads) void warp_panels_kernel(elimination_view view) {
  simt::after_earlier_launches();
  for (const offset_t k : grid_items(view.zero_count)) {
    view.zeros[k] = 0;
  }
  worker_memory<tier::warp>& memory =
      simt::shared_memory<worker_memory<tier::warp>>()[simt::thread_index() / 32];
  if (lane_index() == 0) memory.state.excess = 0;
  for (;;) {
    const index_t j = simt::shuffle(lane_index() == 0 ? view.schedule.next_leaf() : -1, 0);
    if (j < 0) break;
    follow<tier::warp>(view, j, memory);
    simt::sync_warp();
  }
  if (lane_index() == 0) view.schedule.add_excess(memory.state.excess);
}

/// Takes listed panels, by workers that do not hand over, until the list is empty or the update
/// rounds of all such workers have cost too much.
template <tier Tier>
GSOFA_DEVICE void take_listed(const elimination_view& view, worker_memory<Tier>& memory) {
  using team = worker<Tier>;
  for (;;) {
    const index_t j = decided<Tier>(decisions_of<Tier>(view, memory.state).panel,
                                    [&] { return view.schedule.next_listed(); });
    team::sync_wide();
    if (j < 0) return;
    follow<Tier>(view, j, memory);
    team::sync_wide();
  }
}

/// Takes listed panels and tasks, by workers that hand over, until nothing is left to do.
template <tier Tier>
GSOFA_DEVICE void take_panels_and_tasks(const elimination_view& view, worker_memory<Tier>& memory) {
  using team = worker<Tier>;
  decisions& told = decisions_of<Tier>(view, memory.state);
  for (;;) {
    const index_t panel = decided<Tier>(told.panel, [&] {
      const work_item next = view.schedule.next();
      told.task = next.task;
      return next.panel;
    });
    const work_item next{panel, simt::load_shared_state(&told.task)};
    team::sync_wide();
    if (next.panel < 0) return;
    const index_t j = next.task < 0 ? next.panel : do_task<Tier>(view, next, memory);
    // A target of a later wave begins that wave: all of its children are done.
    if (j >= 0 && j < view.schedule.wave.end) follow<Tier>(view, j, memory);
    if (team::wide_rank() == 0) view.schedule.close();
    team::sync_wide();
  }
}

/// Launch 2: a block takes each listed panel and follows the path up from it.
GSOFA_BOUNDED_KERNEL(most_warps * 32) void block_panels_kernel(elimination_view view) {
  simt::after_earlier_launches();
  take_listed<tier::block>(view, *simt::shared_memory<worker_memory<tier::block>>());
}

/// Launch 3: blocks that hand over take the panels and tasks, if launch 2 has left panels to them.
GSOFA_BOUNDED_KERNEL(most_warps * 32) void sharing_blocks_kernel(elimination_view view) {
  simt::after_earlier_launches();
  if (!view.schedule.is_shared()) return;
  take_panels_and_tasks<tier::sharing_block>(
      view, *simt::shared_memory<worker_memory<tier::sharing_block>>());
}

/// Launch 4: a cluster takes each panel that blocks have listed and follows the path up from it.
GSOFA_BOUNDED_KERNEL(most_warps * 32) void cluster_panels_kernel(elimination_view view) {
  simt::after_earlier_launches();
  take_listed<tier::cluster>(view, *simt::shared_memory<worker_memory<tier::cluster>>());
}

/// Launch 5: clusters that hand over take the panels and tasks, if launch 4 has left panels to
/// them.
GSOFA_BOUNDED_KERNEL(most_warps * 32) void sharing_clusters_kernel(elimination_view view) {
  simt::after_earlier_launches();
  if (!view.schedule.is_shared()) return;
  take_panels_and_tasks<tier::sharing_cluster>(
      view, *simt::shared_memory<worker_memory<tier::sharing_cluster>>());
}

}  // namespace

void panel_elimination::prepare(index_t n, const elimination_settings& settings,
                                memory_budget& budget) {
  settings_ = settings;
  for (auto& list : lists_) list = {budget, "schedule", n};
  counters_ = {budget, "control", elimination_counters};
  const int threads = settings_.warps_per_block * 32;
  const int cluster = settings_.blocks_per_cluster;
  allow_shared(sharing_blocks_kernel, bytes_of_sharing_block);
  allow_shared(sharing_clusters_kernel, bytes_of_sharing_block);
  warp_blocks_ = std::max(1, resident_blocks(warp_panels_kernel, warp_threads, bytes_of_warps));
  block_blocks_ = std::max(1, resident_blocks(block_panels_kernel, threads, bytes_of_block));
  sharing_blocks_ =
      std::max(1, resident_blocks(sharing_blocks_kernel, threads, bytes_of_sharing_block));
  clusters_ =
      cluster <= 1
          ? 0
          : std::min(resident_clusters(cluster_panels_kernel, cluster, threads, bytes_of_block),
                     resident_clusters(sharing_clusters_kernel, cluster, threads,
                                       bytes_of_sharing_block));
  // One state for each cluster of launches 4 and 5.
  cluster_states_ = {budget, "control",
                     2 * static_cast<offset_t>(sizeof(cluster_state) / 8) * clusters_};
  task_room_ = settings_.most_tasks >= 0 ? settings_.most_tasks : std::max<index_t>(1024, n / 8);
  task_items_ = {budget, "schedule", task_room_};
  task_words_ = {budget, "schedule", sharing_words + offset_t{task_room_} + n};
}

bool panel_elimination::may_hand_over(index_t longest) const {
  if (settings_.far_targets != handing_over::automatic) {
    return settings_.far_targets == handing_over::on;
  }
  return longest > settings_.sharing_positions;
}

unsigned long long panel_elimination::most_far_work(index_t panels) const {
  if (settings_.far_targets == handing_over::on) return 0;
  const std::int64_t most = settings_.most_far_work >= 0 ? settings_.most_far_work : panels;
  return static_cast<unsigned long long>(std::max<std::int64_t>(1, most));
}

panel_schedule panel_elimination::schedule_of(const elimination_input& input, panel_range wave,
                                              bool shares) {
  elimination_control& control = *reinterpret_cast<elimination_control*>(input.control);
  sharing_control& sharing = *reinterpret_cast<sharing_control*>(task_words_.data());
  std::uint32_t* const flags = task_words_.data() + sharing_words;
  panel_schedule s{};
  s.wave = wave;
  s.children = input.children;
  s.finished = input.finished;
  s.helped = flags + task_room_;
  s.tasks = {reinterpret_cast<work_item*>(task_items_.data()), flags, &sharing.head, &sharing.tail,
             static_cast<std::uint32_t>(task_room_)};
  s.from[0].ticket = &control.leaf_ticket;
  s.far_work = &sharing.far_work;
  s.most_far_work = shares ? most_far_work(wave.end - wave.begin) : ~0ULL;
  s.excess = &control.excess;
  s.fair_work = settings_.fair_work;
  return s;
}

void panel_elimination::run(const elimination_input& input, panel_range wave) {
  if (detail::counting && wave.begin == 0) {
    fill_bytes(counters_.data(), 0, elimination_counters);
  }
  const bool shares = may_hand_over(input.longest);
  elimination_view view{};
  view.panels = input.panels;
  view.schedule = schedule_of(input, wave, shares);
  view.counters = counters_.data();
  view.zeros = task_words_.data();
  view.zero_count = sharing_words + (shares ? offset_t{task_room_} + view.panels.panels : 0);
  launch_wave(view, input, shares);
}

void panel_elimination::launch_wave(elimination_view& view, const elimination_input& input,
                                    bool shares) {
  panel_schedule& s = view.schedule;
  elimination_control& control = *reinterpret_cast<elimination_control*>(input.control);
  sharing_control& sharing = *reinterpret_cast<sharing_control*>(task_words_.data());
  const int threads = settings_.warps_per_block * 32;
  // No launch reads list k when list k + 3 is written.
  const auto source = [&](int list) -> panel_source {
    return {lists_[list % 3].data(), &control.count[list], &control.ticket[list]};
  };
  const auto leave_on = [&](int list) {
    s.list = lists_[list % 3].data();
    s.list_count = &control.count[list];
  };
  // Workers take panels from one list and leave panels on the next list. Then workers that hand
  // over take the rest of both lists, and leave panels on the list after these.
  const auto launch_tier = [&](int list, const auto& plain, const auto& handing) {
    s.from[0] = source(list);
    leave_on(list + 1);
    if (settings_.far_targets != handing_over::on) plain();
    if (!shares) return;
    s.from[1] = source(list + 1);
    leave_on(list + 2);
    s.open = &sharing.open[list];
    handing();
  };

  // Blocks are faster than warps, but there are fewer blocks.
  const bool by_blocks = s.wave.end - s.wave.begin <= settings_.few_panels * multiprocessors();
  s.most = by_blocks ? 0 : settings_.warp_positions;
  leave_on(0);
  launch_overlapping(warp_panels_kernel, warp_blocks_, warp_threads, bytes_of_warps, view);
  if (input.longest <= s.most) return;

  s.most = clusters_ > 0 ? settings_.cluster_positions : max_index;
  view.most_near_steps = settings_.near_steps_of_blocks;
  launch_tier(
      0,
      [&] {
        launch_overlapping(block_panels_kernel, block_blocks_, threads, bytes_of_block, view);
      },
      [&] {
        launch_overlapping(sharing_blocks_kernel, sharing_blocks_, threads, bytes_of_sharing_block,
                           view);
      });
  if (input.longest <= s.most) return;

  s.most = max_index;
  view.most_near_steps = settings_.near_steps_of_clusters;
  const int cluster = settings_.blocks_per_cluster;
  auto* const states = reinterpret_cast<cluster_state*>(cluster_states_.data());
  fill_bytes(states, 0, 2 * offset_t{clusters_});
  launch_tier(
      1,
      [&] {
        view.clusters = states;
        launch_clusters(cluster_panels_kernel, clusters_, cluster, threads, bytes_of_block, view);
      },
      [&] {
        view.clusters = states + clusters_;
        launch_clusters(sharing_clusters_kernel, clusters_, cluster, threads,
                        bytes_of_sharing_block, view);
      });
}

offset_t panel_elimination::tasks() const {
  std::uint32_t created = 0;
  copy_to_host(&created, &reinterpret_cast<const sharing_control*>(task_words_.data())->tail, 1);
  return std::min<offset_t>(created, task_room_);
}

void panel_elimination::report([[maybe_unused]] run_context& context) const {
  if constexpr (detail::counting) {
    // Keys of records: an update was once called a push.
    const char* const names[elimination_counters] = {"block_panels", "push_rounds", "pushes",
                                                     "push_positions"};
    unsigned long long work[elimination_counters] = {};
    copy_to_host(work, static_cast<const unsigned long long*>(counters_.data()),
                 elimination_counters);
    for (int k = 0; k < elimination_counters; ++k) {
      context.counters.totals[names[k]] = static_cast<std::int64_t>(work[k]);
    }
    context.counters.totals["tasks"] = tasks();
  }
}

}  // namespace gsofa::panels

#endif
