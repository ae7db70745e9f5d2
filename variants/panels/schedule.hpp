#pragma once

#include <atomic>
#include <vector>

#include "common/parallel.hpp"
#include "common/types.hpp"

namespace gsofa::detail {

/// Calls work(thread, panel) once for every panel, after all its children in the forest `parent`
/// (children have smaller numbers) and everything that their calls did. Tickets: a thread takes the
/// next leaf; the thread that finishes the last child of a panel goes on with that panel. No thread
/// waits, so that no schedule of the threads can stop the others. At most one thread per leaf.
/// O(panels).
///
/// Orders: a leaf's ticket carries no data, relaxed. `unfinished[p]` is decremented acq_rel after
/// the work on a child: all decrements are read-modify-writes, hence one release sequence, and the
/// thread that takes it to zero has acquired from every child's thread, and by induction along the
/// tree from every descendant's. Any exception ends the loop for all threads at their next panel.
template <class Work>
void for_each_panel(int threads, const std::vector<index_t>& parent, Work&& work) {
  const auto panels = static_cast<index_t>(parent.size());
  if (threads <= 1) {
    for (index_t j = 0; j < panels; ++j) work(0, j);
    return;
  }
  std::vector<index_t> unfinished(parent.size(), 0), leaves;
  for (const index_t p : parent) {
    if (p >= 0) ++unfinished[static_cast<std::size_t>(p)];
  }
  for (index_t j = 0; j < panels; ++j) {
    if (unfinished[static_cast<std::size_t>(j)] == 0) leaves.push_back(j);
  }
  std::atomic<std::size_t> ticket{0};
  std::atomic<bool> stopped{false};  // relaxed: a hint; the exception itself travels by join
  on_threads(useful_threads(threads, leaves.size()), [&](int t) {
    try {
      for (;;) {
        const std::size_t mine = ticket.fetch_add(1, std::memory_order_relaxed);
        if (mine >= leaves.size()) return;
        for (index_t j = leaves[mine]; j >= 0;) {
          if (stopped.load(std::memory_order_relaxed)) return;
          work(t, j);
          const index_t p = parent[static_cast<std::size_t>(j)];
          if (p < 0) break;
          std::atomic_ref<index_t> count(unfinished[static_cast<std::size_t>(p)]);
          if (count.fetch_sub(1, std::memory_order_acq_rel) != 1) break;
          j = p;
        }
      }
    } catch (...) {
      stopped.store(true, std::memory_order_relaxed);
      throw;
    }
  });
}

}  // namespace gsofa::detail
