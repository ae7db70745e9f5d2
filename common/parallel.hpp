#pragma once

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstddef>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "common/error.hpp"

namespace gsofa {

namespace detail {

/// Holds the first exception that any of several threads throws.
class first_exception {
 public:
  /// Calls action(); never throws.
  template <class Action>
  void guard(Action&& action) noexcept {
    try {
      action();
    } catch (...) {
      const std::scoped_lock lock(mutex_);
      if (!held_) held_ = std::current_exception();
      any_.store(true, std::memory_order_release);
    }
  }
  [[nodiscard]] bool any() const { return any_.load(std::memory_order_acquire); }
  /// May be called only once all threads are done.
  void rethrow() const {
    if (held_) std::rethrow_exception(held_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr held_;
  std::atomic<bool> any_{false};
};

}  // namespace detail

/// Threads that can have work if there are `pieces` of it: at most `threads`, at least one.
template <class Count>
int useful_threads(int threads, Count pieces) {
  return std::max(1, std::cmp_less(pieces, threads) ? static_cast<int>(pieces) : threads);
}

/// Calls body(thread) on `threads` host threads (the caller's among them) and waits for all.
/// No body begins before all threads exist, so that they may wait for each other; throws error if
/// the system refuses a thread. The first exception thrown by any of them is rethrown here.
template <class Body>
void on_threads(int threads, Body&& body) {
  if (threads <= 1) {
    body(0);
    return;
  }
  enum gate : int { closed, open, cancelled };
  std::atomic<int> start{closed};
  detail::first_exception failure;
  {
    std::vector<std::jthread> pool;
    try {
      pool.reserve(static_cast<std::size_t>(threads) - 1);
      for (int t = 1; t < threads; ++t) {
        pool.emplace_back([&, t] {
          start.wait(closed);
          if (start.load() == open) failure.guard([&] { body(t); });
        });
      }
    } catch (const std::system_error& e) {
      start.store(cancelled);
      start.notify_all();
      throw error(exit_code::run_failed,
                  "cannot start " + std::to_string(threads) + " threads: " + e.what());
    } catch (...) {
      start.store(cancelled);
      start.notify_all();
      throw;
    }
    start.store(open);
    start.notify_all();
    failure.guard([&] { body(0); });
  }
  failure.rethrow();
}

/// Levels: work(thread) on `threads` host threads, then, once all have returned, next_level() on
/// one of them, and so on until next_level() returns false. The first exception thrown by either
/// ends the loop after its level and is rethrown here.
template <class Work, class NextLevel>
void parallel_levels(int threads, Work&& work, NextLevel&& next_level) {
  if (threads <= 1) {
    do {
      work(0);
    } while (next_level());
    return;
  }
  detail::first_exception failure;
  bool done = false;
  std::barrier level(threads, [&]() noexcept {
    if (!failure.any()) failure.guard([&] { done = !next_level(); });
    done = done || failure.any();
  });
  on_threads(threads, [&](int t) {
    while (!done) {
      failure.guard([&] { work(t); });
      level.arrive_and_wait();
    }
  });
  failure.rethrow();
}

/// Calls body(thread, begin, end) for the ranges of `grain` indices that partition [0, n), taken
/// from a shared counter, so that uneven rows balance, by at most one thread per range. No further
/// range starts after an exception.
template <class Index, class Body>
void parallel_ranges(int threads, Index n, Index grain, Body&& body) {
  const Index ranges = n / grain + (n % grain == 0 ? 0 : 1);
  std::atomic<Index> next{0};
  on_threads(useful_threads(threads, ranges), [&](int t) {
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
