#pragma once

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstddef>
#include <exception>
#include <memory>
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

namespace detail {

/// Waits until `value` is no longer `old`: looks for some 20 microseconds, for as long as waking a
/// thread takes, before it sleeps.
template <class T>
void wait_while(const std::atomic<T>& value, T old) {
#if defined(__x86_64__)
  for (int k = 0; k < 256; ++k) {
    if (value.load(std::memory_order_acquire) != old) return;
    __builtin_ia32_pause();
  }
#endif
  value.wait(old, std::memory_order_acquire);
}

}  // namespace detail

/// Threads that start when first needed and sleep between calls that are not soon after each other.
/// One thread uses a team at a time, whichever.
class thread_team {
 public:
  thread_team() = default;
  thread_team(const thread_team&) = delete;
  thread_team& operator=(const thread_team&) = delete;
  ~thread_team() {
    for (const auto& w : workers_) w->give(order::stop);
  }

  /// Calls body(thread), which throws nothing, on threads 0, the caller, to threads - 1. False if
  /// they are at work: body(0) may come here again.
  template <class Body>
  bool run(int threads, Body& body) {
    if (busy_) return false;
    start(static_cast<std::size_t>(threads) - 1);
    busy_ = true;
    unfinished_.store(threads - 1, std::memory_order_relaxed);
    call_ = [](void* what, int thread) { (*static_cast<Body*>(what))(thread); };
    what_ = &body;
    for (int t = 1; t < threads; ++t) workers_[static_cast<std::size_t>(t) - 1]->give(order::work);
    body(0);
    for (;;) {
      const int left = unfinished_.load(std::memory_order_acquire);
      if (left == 0) break;
      detail::wait_while(unfinished_, left);
    }
    busy_ = false;
    return true;
  }

 private:
  enum class order : int { none, work, stop };

  // All a worker reads was written before its order.
  class worker {
   public:
    worker(thread_team& of, int number) : thread_([this, &of, number] { run(of, number); }) {}
    void give(order o) {
      order_.store(o, std::memory_order_release);
      order_.notify_one();
    }

   private:
    void run(thread_team& of, int number) {
      for (;;) {
        detail::wait_while(order_, order::none);
        if (order_.load(std::memory_order_acquire) == order::stop) return;
        order_.store(order::none, std::memory_order_relaxed);
        of.call_(of.what_, number);
        if (of.unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
          of.unfinished_.notify_one();
        }
      }
    }

    std::atomic<order> order_{order::none};
    std::jthread thread_;
  };

  void start(std::size_t count) {
    workers_.reserve(count);
    while (workers_.size() < count) {
      workers_.push_back(std::make_unique<worker>(*this, static_cast<int>(workers_.size()) + 1));
    }
  }

  void (*call_)(void*, int) = nullptr;
  void* what_ = nullptr;
  std::atomic<int> unfinished_{0};
  bool busy_ = false;
  std::vector<std::unique_ptr<worker>> workers_;
};

/// While one lives, on_threads() of the thread that made it uses its team: starting 15 threads
/// takes as long as a small pattern. Of several of one thread the first counts; it ends on that
/// thread.
class kept_threads {
 public:
  kept_threads() {
    if (of_this_thread() == nullptr) of_this_thread() = this;
  }
  kept_threads(const kept_threads&) = delete;
  kept_threads& operator=(const kept_threads&) = delete;
  ~kept_threads() {
    if (of_this_thread() == this) of_this_thread() = nullptr;
  }

  /// As thread_team::run(); false, too, if none are kept.
  template <class Body>
  static bool run(int threads, Body& body) {
    kept_threads* const kept = of_this_thread();
    return kept != nullptr && kept->team_.run(threads, body);
  }

 private:
  static kept_threads*& of_this_thread() {
    thread_local kept_threads* kept = nullptr;
    return kept;
  }

  thread_team team_;
};

namespace detail {

inline error refused_threads(int threads, const std::system_error& e) {
  return {exit_code::run_failed,
          "cannot start " + std::to_string(threads) + " threads: " + e.what()};
}

}  // namespace detail

/// Calls body(thread) on as many threads of a team, the caller's among them, and waits for all. The
/// first exception thrown by any of them is rethrown here; throws error if the system refuses a
/// thread, or if the team is at work.
template <class Body>
void on_team(thread_team& team, int threads, Body&& body) {
  detail::first_exception failure;
  auto guarded = [&](int t) { failure.guard([&] { body(t); }); };
  bool done = false;
  try {
    done = team.run(threads, guarded);
  } catch (const std::system_error& e) {
    throw detail::refused_threads(threads, e);
  }
  if (!done) throw error(exit_code::run_failed, "threads of a team are at work");
  failure.rethrow();
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
  auto guarded = [&](int t) { failure.guard([&] { body(t); }); };
  bool done = false;
  try {
    done = kept_threads::run(threads, guarded);
  } catch (const std::system_error& e) {
    throw detail::refused_threads(threads, e);
  }
  if (!done) {
    std::vector<std::jthread> pool;
    try {
      pool.reserve(static_cast<std::size_t>(threads) - 1);
      for (int t = 1; t < threads; ++t) {
        pool.emplace_back([&, t] {
          start.wait(closed);
          if (start.load() == open) guarded(t);
        });
      }
    } catch (const std::system_error& e) {
      start.store(cancelled);
      start.notify_all();
      throw detail::refused_threads(threads, e);
    } catch (...) {
      start.store(cancelled);
      start.notify_all();
      throw;
    }
    start.store(open);
    start.notify_all();
    guarded(0);
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
