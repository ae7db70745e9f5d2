#pragma once

/// The order in which workers take panels and tasks. A panel is ready when its children, and the
/// tasks that update it, are done. The worker that finishes the last of these continues with the
/// panel. No worker waits for another worker. PROOFS.md proves that every panel is taken exactly
/// once, and that the masks that a worker reads are complete.

#include "variants/panels/eliminate/worker.cuh"

#if defined(GSOFA_GPU)

namespace gsofa::panels::elimination {

/// What a worker does next: it eliminates a panel and the panels above it, or it does a task of the
/// panel.
struct work_item {
  index_t panel;  ///< -1: nothing is left
  index_t task;   ///< the panel's column blocks to update, by task_sizes; -1: eliminate
};

/// Tasks that have been handed over, in the order of their creation.
struct task_queue {
  work_item* items;      ///< [k] is valid once flags[k] is not 0
  std::uint32_t* flags;  ///< [k]: not 0 once item k is published
  std::uint32_t* head;   ///< number of items that workers have taken
  std::uint32_t* tail;   ///< number of items created, with those that found no room
  std::uint32_t room;
};

/// Panels that workers take by ticket.
struct panel_source {
  const index_t* panels;
  const std::uint32_t* count;
  std::uint32_t* ticket;
};

/// The sizes of the tasks of a panel. The first task has the nearest targets, which are needed
/// first, and one round; the second has two rounds, all others four. A task costs a worker about
/// two rounds in addition to its own.
struct task_sizes {
  static constexpr index_t doublings = 2;
  static constexpr int size_shift = 26;  // of work_item::task: the column block, then the doublings
  index_t of_round;                      ///< column blocks of a round

  /// The column blocks before task k.
  GSOFA_DEVICE index_t before(index_t k) const {
    const index_t doubled = k < doublings ? k : doublings;
    return of_round * ((1 << doubled) - 1 + (k - doubled) * (1 << doublings));
  }
  /// Task k, whose first column block is `first`.
  GSOFA_DEVICE static index_t encoded(index_t k, index_t first) {
    return first | (k < doublings ? k : doublings) << size_shift;
  }
  GSOFA_DEVICE static index_t first(index_t task) { return task & ((1 << size_shift) - 1); }
  GSOFA_DEVICE index_t size(index_t task) const { return of_round << (task >> size_shift); }
};

// The work of an update round: a constant for the round, and a constant for each target and step of
// its sweep, in the ratio of their times in rounds of up56 and g7jac040sc.
inline constexpr unsigned long long work_of_round = 8;
inline constexpr unsigned long long work_of_step = 3;

/// The work of an update round whose sweep passes over `positions` positions for each of the active
/// targets.
template <tier Tier>
GSOFA_DEVICE unsigned long long work_of_update_round(index_t positions, std::uint32_t active) {
  constexpr int unroll = worker<Tier>::unroll;
  const index_t size = unroll * worker<Tier>::wide_size();
  const index_t steps = (positions + size - 1) / size;
  return work_of_round + work_of_step * static_cast<unsigned>(steps) * simt::population(active);
}

/// What workers that hand over count. The flags of tasks and the marks of helped panels follow it
/// in memory.
struct sharing_control {
  std::uint32_t head, tail;  ///< of the queue of tasks
  unsigned long long far_work;
  std::uint32_t open[2];  ///< of the launches of blocks and of clusters
};
inline constexpr offset_t sharing_words = sizeof(sharing_control) / 4;

/// Which panels and tasks the workers of one launch take, and when they stop. No other code touches
/// the counters, lists and flags that workers share. One thread of a worker, the leader, calls the
/// functions unless a comment says otherwise; barriers of the worker order the call.
struct panel_schedule {
  panel_range wave;  ///< the panels to eliminate; earlier panels are eliminated
  index_t most;      ///< most positions of a panel that this launch eliminates
  const std::uint32_t* children;
  std::uint32_t* finished;  ///< children that are done, less tasks that are not
  std::uint32_t* helped;    ///< not 0: the panel is a target of tasks
  task_queue tasks;
  std::uint32_t* open;  ///< tasks that are not done, and panels taken from lists
  /// Lists of panels to begin with. The first launch draws leaves instead; only workers that hand
  /// over take the second list.
  panel_source from[2];
  index_t* list;  ///< panels that this launch leaves to later launches
  std::uint32_t* list_count;
  unsigned long long*
      far_work;  ///< work of update rounds by blocks and clusters that do not hand over
  unsigned long long most_far_work;  ///< workers hand over once far_work is this much
  /// The work of the update rounds of warps less fair_work for each of their panels, modulo 2^64:
  /// if that is positive, workers hand over from the second launch on.
  unsigned long long* excess;
  index_t fair_work;  ///< as in elimination_settings

  /// Whether the work counted so far leaves the panels to workers that hand over.
  GSOFA_DEVICE bool is_shared() const {
    if (most_far_work == ~0ULL) return false;
    return simt::load_shared_state(far_work) >= most_far_work || *excess - 1 < ~0ULL / 2;
  }

  /// The next panel of the wave without children in the wave; -1: there is none.
  GSOFA_DEVICE index_t next_leaf() const {
    for (;;) {
      const std::uint32_t ticket = simt::atomic_add(from[0].ticket, std::uint32_t{1});
      if (ticket >= static_cast<std::uint32_t>(wave.end - wave.begin)) return -1;
      const index_t j = wave.begin + static_cast<index_t>(ticket);
      // All children of the first panel of a wave are before the wave.
      if (j == wave.begin || children[j] == 0) return j;
    }
  }
  /// The next listed panel for a worker that does not hand over; -1: the list is empty, or workers
  /// that hand over take the rest.
  GSOFA_DEVICE index_t next_listed() const {
    if (is_shared()) return -1;
    const std::uint32_t ticket = simt::atomic_add(from[0].ticket, std::uint32_t{1});
    return ticket < *from[0].count ? from[0].panels[ticket] : -1;
  }
  /// The next item for a worker that hands over: tasks before listed panels, since panels wait for
  /// tasks. Panel -1: nothing is left. A worker that stops too early does no harm: the workers that
  /// remain do the tasks.
  GSOFA_DEVICE work_item next() const {
    work_item item{-1, -1};
    for (;;) {
      if (take_task(item)) return item;
      for (const panel_source& source : from) {
        item.panel = take_panel(source);
        if (item.panel >= 0) return item;
      }
      if (simt::load_shared_state(open) == 0) return {-1, -1};
      simt::pause();
    }
  }
  /// Notes that an item of next(), and all panels with which the worker continued, are finished.
  GSOFA_DEVICE void close() const { simt::atomic_add(open, ~std::uint32_t{0}); }

  /// Counts a finished child, or a finished task, of panel j. Returns whether j is ready: all of
  /// its children and tasks are done. Releases and acquires.
  GSOFA_DEVICE bool done(index_t j, std::uint32_t children_of_j) const {
    return simt::atomic_increment_acq_rel(finished + j) + 1 == children_of_j;
  }
  /// Leaves a ready panel to later launches.
  GSOFA_DEVICE void leave(index_t j) const {
    list[simt::atomic_add(list_count, std::uint32_t{1})] = j;
  }
  /// Whether tasks update panel j, or have updated it. PROOFS.md says when the answer is reliable.
  GSOFA_DEVICE bool is_helped(index_t j) const { return simt::load_shared_state(helped + j) != 0; }

  /// Adds the work of the update rounds of a panel by a worker that does not hand over. Returns
  /// whether such workers still take panels.
  GSOFA_DEVICE bool goes_on_after(unsigned long long work) const {
    return simt::atomic_add(far_work, work) + work < most_far_work;
  }
  /// Adds the work of the update rounds of a warp, less fair_work for each of its panels.
  GSOFA_DEVICE void add_excess(std::int64_t of_warp) const {
    if (of_warp != 0) simt::atomic_add(excess, static_cast<unsigned long long>(of_warp));
  }

  /// Hands over the column blocks of panel j from `far` on, relative to its first, as tasks, by all
  /// threads of a worker. targets: the target panels of the `count` column blocks. word: memory
  /// that the worker shares. Returns the first column block that found no room, or `count`.
  ///
  /// After: the worker has passed a wide barrier; all threads return the same value; the targets
  /// wait for their tasks. Flags are set after the barrier, so that they release all masks of the
  /// panel.
  template <tier Tier>
  GSOFA_DEVICE index_t hand_over(index_t j, const index_t* targets, index_t count, index_t far,
                                 index_t& word) const {
    using team = worker<Tier>;
    const task_sizes sizes{static_cast<index_t>(team::warps())};
    index_t wanted = 0;
    while (far + sizes.before(wanted) < count) ++wanted;
    for (index_t k = far + team::wide_rank(); k < count; k += team::wide_size()) {
      simt::atomic_or(helped + targets[k], std::uint32_t{1});
    }
    const auto slot = static_cast<std::uint32_t>(
        decided<Tier>(word, [&] { return create_tasks(j, targets, far, wanted, sizes); }));
    const index_t created = room_for(wanted, slot);
    for (index_t k = team::wide_rank(); k < created; k += team::wide_size()) {
      simt::atomic_increment_acq_rel(tasks.flags + slot + static_cast<std::uint32_t>(k));
    }
    const index_t rest = far + sizes.before(created);
    return rest < count ? rest : count;
  }

 private:
  /// How many of `wanted` tasks find room in the queue, if the first one has place `slot`.
  GSOFA_DEVICE index_t room_for(index_t wanted, std::uint32_t slot) const {
    const std::uint32_t room = slot < tasks.room ? tasks.room - slot : 0;
    return room < static_cast<std::uint32_t>(wanted) ? static_cast<index_t>(room) : wanted;
  }
  /// Writes the tasks of panel j without publishing them. Returns the place of the first task.
  GSOFA_DEVICE index_t create_tasks(index_t j, const index_t* targets, index_t far, index_t wanted,
                                    const task_sizes& sizes) const {
    // The panel itself is open: the count does not come to zero meanwhile.
    simt::atomic_add(open, static_cast<std::uint32_t>(wanted));
    const std::uint32_t slot = simt::atomic_add(tasks.tail, static_cast<std::uint32_t>(wanted));
    const index_t created = room_for(wanted, slot);
    simt::atomic_add(open, static_cast<std::uint32_t>(created - wanted));
    for (index_t k = 0; k < created; ++k) {
      const index_t first = far + sizes.before(k);
      simt::atomic_add(finished + targets[first], ~std::uint32_t{0});
      tasks.items[slot + static_cast<std::uint32_t>(k)] = {j, task_sizes::encoded(k, first)};
    }
    return static_cast<index_t>(slot);
  }
  /// Takes the next task; false: there is none.
  GSOFA_DEVICE bool take_task(work_item& item) const {
    for (;;) {
      const std::uint32_t head = simt::load_shared_state(tasks.head);
      const std::uint32_t created = simt::load_shared_state(tasks.tail);
      if (head >= (created < tasks.room ? created : tasks.room)) return false;
      if (simt::atomic_cas(tasks.head, head, head + 1) != head) continue;
      std::uint32_t* const flag = tasks.flags + head;
      while (simt::load_shared_state(flag) == 0) simt::pause();
      simt::atomic_increment_acq_rel(flag);  // to acquire
      item = tasks.items[head];
      return true;
    }
  }
  /// Takes the next listed panel; -1: the list is empty. The panel counts as open before it leaves
  /// the list.
  GSOFA_DEVICE index_t take_panel(const panel_source& source) const {
    if (simt::load_shared_state(source.ticket) >= *source.count) return -1;
    simt::atomic_increment_acq_rel(open);
    const std::uint32_t ticket = simt::atomic_add(source.ticket, std::uint32_t{1});
    if (ticket < *source.count) return source.panels[ticket];
    simt::atomic_add(open, ~std::uint32_t{0});
    return -1;
  }
};

}  // namespace gsofa::panels::elimination

#endif
