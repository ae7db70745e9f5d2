#pragma once

#include <algorithm>
#include <atomic>
#include <numeric>
#include <vector>

#include "common/parallel.hpp"
#include "common/types.hpp"

namespace gsofa::detail {

/// Small subtrees of a postordered forest, and how many children the panels above them wait for.
struct subtree_tickets {
  std::vector<index_t> first;       ///< first panel of the subtree of each
  std::vector<index_t> tickets;     ///< roots of the small subtrees, and leaves that are larger
  std::vector<index_t> unfinished;  ///< children of each other panel

  template <class Before>
  void build(int threads, const std::vector<index_t>& parent, Before&& before) {
    const auto panels = static_cast<index_t>(parent.size());
    const offset_t share = (before(panels) - before(0)) / (offset_t{threads} * 8);
    first.resize(parent.size());
    std::iota(first.begin(), first.end(), 0);
    unfinished.assign(parent.size(), 0);
    for (index_t j = 0; j < panels; ++j) {
      if (const index_t p = parent[at(j)]; p >= 0)
        first[at(p)] = std::min(first[at(p)], first[at(j)]);
    }
    const auto is_ticket = [&](index_t j) {
      return first[at(j)] == j || before(j + 1) - before(first[at(j)]) <= share;
    };
    for (index_t j = 0; j < panels; ++j) {
      const index_t p = parent[at(j)];
      const bool largest = p < 0 || !is_ticket(p);
      if (largest && is_ticket(j)) tickets.push_back(j);
      if (largest && p >= 0) ++unfinished[at(p)];
    }
  }
};

/// Calls work(thread, panel, root) once for every panel, after all its children in the forest
/// `parent` and everything that their calls did. Panels are numbered by a postorder;
/// before(j) is the work of the panels before j. Small subtrees, those of at most 1/8 of a thread's
/// share of all work, are tickets: one thread takes the panels of one in ascending order, `root`
/// its last one. Of the panels above, where `root` is the panel itself, the thread that finishes
/// the last child goes on with the panel. No thread waits, so that no schedule of the threads can
/// stop the others. One thread: all panels in ascending order, `root` the last one. O(panels).
///
/// Hence only the thread that works on a panel of a small subtree touches other panels up to
/// `root` meanwhile, if work on a panel touches its ancestors alone.
///
/// Orders: a ticket carries no data, relaxed. `unfinished[p]` is decremented acq_rel after the work
/// on a child: all decrements are read-modify-writes, hence one release sequence, and the thread
/// that takes it to zero has acquired from every child's thread, and by induction along the tree
/// from every descendant's. Any exception ends the loop for all threads at their next panel.
template <class Before, class Work>
void for_each_panel(int threads, const std::vector<index_t>& parent, Before&& before, Work&& work) {
  const auto panels = static_cast<index_t>(parent.size());
  if (threads <= 1) {
    for (index_t j = 0; j < panels; ++j) work(0, j, panels - 1);
    return;
  }
  subtree_tickets of;
  of.build(threads, parent, before);
  std::atomic<std::size_t> ticket{0};
  std::atomic<bool> stopped{false};  // relaxed: a hint; the exception itself travels by join
  on_threads(useful_threads(threads, of.tickets.size()), [&](int t) {
    try {
      for (;;) {
        const std::size_t mine = ticket.fetch_add(1, std::memory_order_relaxed);
        if (mine >= of.tickets.size()) return;
        const index_t root = of.tickets[mine];
        for (index_t j = of.first[at(root)]; j <= root; ++j) {
          if (stopped.load(std::memory_order_relaxed)) return;
          work(t, j, root);
        }
        for (index_t j = parent[at(root)]; j >= 0; j = parent[at(j)]) {
          std::atomic_ref<index_t> left(of.unfinished[at(j)]);
          if (left.fetch_sub(1, std::memory_order_acq_rel) != 1) break;
          if (stopped.load(std::memory_order_relaxed)) return;
          work(t, j, j);
        }
      }
    } catch (...) {
      stopped.store(true, std::memory_order_relaxed);
      throw;
    }
  });
}

}  // namespace gsofa::detail
