#pragma once

/// The schedule of panels on host threads (PROOFS.md, "Order of updates"): every panel after its
/// children, without a thread that waits for another.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include "common/parallel.hpp"
#include "common/types.hpp"

namespace gsofa::panels {

/// What a thread without a panel has found: a piece of work, which it has done; nothing; or that it
/// should return.
enum class idle_result { worked, nothing, leave };

/// Waiting for other threads: first by looking often, then by yielding.
class waiting_thread {
 public:
  void reset() { rounds_ = 0; }
  void wait() {
    if (rounds_ == 512) {
      std::this_thread::yield();
      return;
    }
    ++rounds_;
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }

 private:
  int rounds_ = 0;
};

/// Small subtrees of a postordered forest, which are tickets: one thread takes the panels of one
/// ticket in ascending order. Panels above them wait for their children.
struct subtree_tickets {
  std::vector<index_t> tickets;     ///< roots of the small subtrees, and leaves with more work
  std::vector<index_t> first;       ///< first panel of each ticket
  std::vector<index_t> unfinished;  ///< unfinished children of each panel that is in no ticket
  std::vector<std::size_t> order;   ///< tickets, by the thread that should take them
  std::vector<std::size_t> begin;   ///< threads + 1: each thread's part of `order`

  /// subtree(j): the first panel of the subtree of j. before(j): the work of the panels before j. A
  /// small subtree has at most 1/8 of a thread's share of all work. O(panels above the subtrees).
  template <class Subtree, class Before>
  void build(int threads, const std::vector<index_t>& parent, Subtree&& subtree, Before&& before) {
    const auto panels = static_cast<index_t>(parent.size());
    const offset_t share = (before(panels) - before(0)) / (offset_t{threads} * 8);
    tickets.clear();
    first.clear();
    unfinished.resize(parent.size());
    // Descending: a panel comes after all its ancestors.
    for (index_t j = panels - 1; j >= 0;) {
      const index_t from = subtree(j);
      if (const index_t p = parent[at(j)]; p >= 0) ++unfinished[at(p)];
      if (from == j || before(j + 1) - before(from) <= share) {
        tickets.push_back(j);
        first.push_back(from);
        j = from - 1;
      } else {
        unfinished[at(j--)] = 0;
      }
    }
    std::ranges::reverse(tickets);
    std::ranges::reverse(first);
    divide(threads, before);
  }

  /// Calls body(begin, end) for each range of panels above the small subtrees.
  template <class Body>
  void for_each_above(Body&& body) const {
    index_t from = 0;
    for (std::size_t k = 0; k < tickets.size(); ++k) {
      if (from < first[k]) body(from, first[k]);
      from = tickets[k] + 1;
    }
    if (const auto end = static_cast<index_t>(unfinished.size()); from < end) body(from, end);
  }

  /// Gives each thread neighbouring subtrees in the first half of the work and in the second half.
  /// Neighbouring subtrees update the same ancestors, and repeated runs touch the same memory. The
  /// panels above the first half are taken up while threads work in the second half.
  template <class Before>
  void divide(int threads, Before&& before) {
    const offset_t cells = offset_t{2} * threads;
    const offset_t work = before(static_cast<index_t>(unfinished.size())) - before(0);
    begin.assign(at(threads) + 1, 0);
    std::vector<std::size_t> owner(first.size());
    offset_t cell = 0;
    for (std::size_t k = 0; k < first.size(); ++k) {
      const offset_t done = before(first[k]) - before(0);
      while (cell + 1 < cells && done * cells >= work * (cell + 1)) ++cell;
      owner[k] = at(cell < threads ? cell : cell - threads);
      ++begin[owner[k] + 1];
    }
    for (std::size_t t = 1; t < begin.size(); ++t) begin[t] += begin[t - 1];
    order.resize(first.size());
    std::vector<std::size_t> next(begin.begin(), begin.end() - 1);
    for (std::size_t k = 0; k < first.size(); ++k) order[next[owner[k]]++] = k;
  }

  [[nodiscard]] std::size_t panels_above() const {
    std::size_t count = 0;
    for_each_above([&](index_t from, index_t end) { count += at(end - from); });
    return count;
  }

  /// The last panel on the path up from `own` before one with another unfinished child.
  [[nodiscard]] index_t extended(index_t own, const std::vector<index_t>& parent) {
    for (index_t p = parent[at(own)]; p >= 0; p = parent[at(p)]) {
      if (std::atomic_ref(unfinished[at(p)]).load(std::memory_order_acquire) != 1) break;
      own = p;
    }
    return own;
  }
};

/// A panel to work on.
struct panel_task {
  index_t panel;
  index_t own;  ///< only this task touches the panels after `panel` up to `own` meanwhile
  bool above;   ///< above the small subtrees, where other threads may have time to help
};

/// The tickets of several threads: each thread takes its own share in ascending order, then the
/// last tickets of other shares.
///
/// Memory order: relaxed, since a ticket carries no data.
class ticket_shares {
 public:
  ticket_shares(const subtree_tickets& of, int threads) : of_(&of), left_(at(threads)) {
    for (std::size_t t = 0; t < left_.size(); ++t) {
      left_[t].range.store(of.begin[t] << 32 | of.begin[t + 1], std::memory_order_relaxed);
    }
  }
  /// Takes a ticket; false if none is left.
  bool take(int thread, std::size_t& ticket) {
    for (std::size_t k = 0; k < left_.size(); ++k) {
      std::atomic<std::uint64_t>& range = left_[(at(thread) + k) % left_.size()].range;
      std::uint64_t old = range.load(std::memory_order_relaxed);
      while (old >> 32 < (old & 0xffffffffU)) {
        const std::uint64_t rest = k == 0 ? old + (std::uint64_t{1} << 32) : old - 1;
        if (range.compare_exchange_weak(old, rest, std::memory_order_relaxed)) {
          ticket = of_->order[k == 0 ? old >> 32 : rest & 0xffffffffU];
          return true;
        }
      }
    }
    return false;
  }

 private:
  struct alignas(64) numbers {
    std::atomic<std::uint64_t> range{0};  // tickets left: begin * 2^32 + end
  };
  const subtree_tickets* of_;
  std::vector<numbers> left_;
};

/// Calls work(thread, task) once for every panel, after the calls for all its children in the
/// forest `parent`. Panels are numbered in postorder; `of` is built for this forest and number of
/// threads. Threads take small subtrees as tickets. The thread that finishes the last child of a
/// panel above them continues with that panel. No thread waits for another. One thread takes all
/// panels in ascending order and does not use `of`. An exception ends the loop for all threads at
/// their next panel.
///
/// If work on a panel touches only ancestors of the panel, then the thread of a small subtree is
/// the only one to touch panels of that subtree, and of further ancestors as long as all their
/// other children are finished (task.own).
///
/// Memory order: the decrement of unfinished[p] after the work on a child is acq_rel. All
/// decrements are read-modify-writes, hence one release sequence: the thread that takes the count
/// to zero, or reads that it is the last one, has acquired from the threads of all other children,
/// and by induction along the tree from those of all descendants.
///
/// Threads without a ticket call idle(thread) until it returns `leave`, or until all panels are
/// done and it finds nothing. One of them finds whatever work() has left for idle(): `left_over` is
/// released after all work and acquired before the last look. The caller does not wait for threads
/// that have not begun when it returns: others have done their work.
template <class Work, class Idle>
void for_each_panel(int threads, const std::vector<index_t>& parent, subtree_tickets& of,
                    Work&& work, Idle&& idle) {
  const auto panels = static_cast<index_t>(parent.size());
  if (threads <= 1) {
    for (index_t j = 0; j < panels; ++j) {
      work(0, panel_task{.panel = j, .own = panels - 1, .above = false});
    }
    return;
  }
  ticket_shares shares(of, threads);
  std::atomic<bool> stopped{false};  // relaxed: a hint; the exception itself travels by join
  // Tickets whose threads are still at work on them or on panels above that they made ready.
  std::atomic<std::size_t> left_over{of.tickets.size()};
  on_ready_threads(threads, [&](int t) {
    try {
      for (std::size_t mine = 0; shares.take(t, mine);) {
        const index_t root = of.tickets[mine];
        index_t own = of.extended(root, parent);
        for (index_t j = of.first[mine]; j <= root; ++j) {
          if (stopped.load(std::memory_order_relaxed)) return;
          work(t, panel_task{.panel = j, .own = own, .above = false});
        }
        for (index_t j = parent[at(root)]; j >= 0; j = parent[at(j)]) {
          std::atomic_ref<index_t> left(of.unfinished[at(j)]);
          if (left.fetch_sub(1, std::memory_order_acq_rel) != 1) break;
          if (stopped.load(std::memory_order_relaxed)) return;
          own = of.extended(std::max(own, j), parent);
          work(t, panel_task{.panel = j, .own = own, .above = true});
        }
        left_over.fetch_sub(1, std::memory_order_acq_rel);
      }
      for (waiting_thread w; !stopped.load(std::memory_order_relaxed);) {
        const bool last = left_over.load(std::memory_order_acquire) == 0;
        const idle_result found = idle(t);
        if (found == idle_result::leave) return;
        if (found == idle_result::nothing && last) return;
        found == idle_result::worked ? w.reset() : w.wait();
      }
    } catch (...) {
      stopped.store(true, std::memory_order_relaxed);
      throw;
    }
  });
}

/// The same without help: threads without a ticket return.
template <class Work>
void for_each_panel(int threads, const std::vector<index_t>& parent, subtree_tickets& of,
                    Work&& work) {
  for_each_panel(threads, parent, of, work, [](int) { return idle_result::leave; });
}

/// Panels with a step that no other panel waits for, in the order in which they were added. Threads
/// without a panel take them.
///
/// Memory order: the adding thread releases the index into its place, and the taking thread
/// acquires it with all earlier work. relaxed elsewhere: each place is written once, and each
/// number is drawn by one thread.
class postponed_panels {
 public:
  /// Removes all panels; makes room for `most`.
  void start(std::size_t most) {
    places_.assign(most, -1);
    added_.store(0, std::memory_order_relaxed);
    taken_.store(0, std::memory_order_relaxed);
  }
  void add(index_t panel) {
    const std::size_t k = added_.fetch_add(1, std::memory_order_relaxed);
    std::atomic_ref(places_[k]).store(panel, std::memory_order_release);
  }
  /// Takes a panel; -1: none. Finds one if the adding of some panel, and of all panels before it,
  /// happened before this call.
  index_t take() {
    for (std::size_t k = taken_.load(std::memory_order_relaxed); k < places_.size();) {
      const index_t panel = std::atomic_ref(places_[k]).load(std::memory_order_acquire);
      if (panel < 0) return -1;
      if (taken_.compare_exchange_weak(k, k + 1, std::memory_order_relaxed)) return panel;
    }
    return -1;
  }

 private:
  std::vector<index_t> places_;
  alignas(64) std::atomic<std::size_t> added_{0};
  alignas(64) std::atomic<std::size_t> taken_{0};
};

/// The most pieces of a job that a help_board offers.
inline constexpr std::uint32_t most_pieces = 0xffff;

/// Jobs in numbered pieces that a busy thread shares with idle ones. The owner of a job takes
/// pieces itself and returns when all pieces are done. Nobody else waits.
///
/// Memory order: the owner writes the job before it releases its state. A helper reads the job
/// after its compare-exchange on that state has taken a piece, so the owner, who waits for all
/// pieces, cannot have changed the job. Each helper releases `done` after its piece; the owner
/// acquires it.
template <class Job>
class help_board {
 public:
  explicit help_board(int threads) : slots_(at(threads)) {}

  /// The number of threads that have looked for work: a hint.
  [[nodiscard]] int helpers() const { return helpers_.load(std::memory_order_relaxed); }

  /// Calls body(k) for the k in [0, pieces) that no other thread takes by help(), and returns when
  /// all pieces are done. 0 < pieces <= most_pieces.
  template <class Body>
  void share(int thread, const Job& job, std::uint32_t pieces, Body&& body) {
    slot& mine = slots_[at(thread)];
    mine.job = job;
    mine.done.store(0, std::memory_order_relaxed);
    ++mine.epoch;
    mine.state.store(state_of(mine.epoch, pieces), std::memory_order_release);
    std::uint32_t own = 0;
    std::uint32_t k = 0;
    const auto wait_for_others = [&] {
      waiting_thread w;
      while (mine.done.load(std::memory_order_acquire) + own < pieces) w.wait();
    };
    try {
      while (take(mine, k)) {
        ++own;
        body(k);
      }
    } catch (...) {
      // A helper reads what the job refers to until its piece has ended.
      while (take(mine, k)) ++own;
      wait_for_others();
      throw;
    }
    wait_for_others();
  }

  /// Takes a piece of another thread's job, if there is one, and calls body(job, k).
  template <class Body>
  idle_result help(int thread, Body&& body) {
    slot& mine = slots_[at(thread)];
    if (!mine.helps) helpers_.fetch_add(1, std::memory_order_relaxed);
    mine.helps = true;
    for (std::size_t k = 1; k < slots_.size(); ++k) {
      slot& other = slots_[(at(thread) + k) % slots_.size()];
      std::uint32_t piece = 0;
      if (!take(other, piece)) continue;
      const ended_piece counts{other.done};
      body(std::as_const(other.job), piece);
      return idle_result::worked;
    }
    return idle_result::nothing;
  }

 private:
  // Each in its own cache line: `state`, which all threads read; `done`, which helpers write; the
  // job.
  struct alignas(64) slot {
    // epoch * 2^32 + end of the pieces * 2^16 + first piece that is left.
    std::atomic<std::uint64_t> state{0};
    alignas(64) std::atomic<std::uint32_t> done{0};
    alignas(64) Job job{};
    // Used by the owner only.
    std::uint32_t epoch = 0;
    bool helps = false;
  };
  // A piece that throws counts as done, too, since its owner waits for it.
  struct ended_piece {
    std::atomic<std::uint32_t>& done;
    ~ended_piece() { done.fetch_add(1, std::memory_order_release); }
  };
  static std::uint64_t state_of(std::uint32_t epoch, std::uint32_t pieces) {
    return std::uint64_t{epoch} << 32 | std::uint64_t{pieces} << 16;
  }
  static bool take(slot& s, std::uint32_t& piece) {
    std::uint64_t state = s.state.load(std::memory_order_relaxed);
    do {
      piece = static_cast<std::uint32_t>(state & 0xffffU);
      if (piece >= (state >> 16 & 0xffffU)) return false;
    } while (!s.state.compare_exchange_weak(state, state + 1, std::memory_order_acquire,
                                            std::memory_order_relaxed));
    return true;
  }

  std::vector<slot> slots_;
  alignas(64) std::atomic<int> helpers_{0};
};

}  // namespace gsofa::panels
