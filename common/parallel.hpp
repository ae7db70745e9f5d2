#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace gsofa {

/// Calls body(thread) on `threads` host threads (the caller's among them) and waits for all.
/// The first exception thrown by any of them is rethrown here.
template <class Body>
void on_threads(int threads, Body&& body) {
  if (threads <= 1) {
    body(0);
    return;
  }
  std::exception_ptr failure;
  std::mutex guard;
  auto guarded = [&](int t) {
    try {
      body(t);
    } catch (...) {
      const std::scoped_lock lock(guard);
      if (!failure) failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> pool;
    pool.reserve(static_cast<std::size_t>(threads) - 1);
    for (int t = 1; t < threads; ++t) pool.emplace_back(guarded, t);
    guarded(0);
  }
  if (failure) std::rethrow_exception(failure);
}

/// Calls body(thread, begin, end) for the ranges of `grain` indices that partition [0, n), taken
/// from a shared counter, so that uneven rows balance. No further range starts after an exception.
template <class Index, class Body>
void parallel_ranges(int threads, Index n, Index grain, Body&& body) {
  std::atomic<Index> next{0};
  on_threads(threads, [&](int t) {
    for (;;) {
      Index begin = next.load(std::memory_order_relaxed);
      do {
        if (begin >= n) return;
      } while (!next.compare_exchange_weak(begin, begin + std::min(grain, n - begin),
                                           std::memory_order_relaxed));
      try {
        body(t, begin, begin + std::min(grain, n - begin));
      } catch (...) {
        next.store(n, std::memory_order_relaxed);
        throw;
      }
    }
  });
}

}  // namespace gsofa
