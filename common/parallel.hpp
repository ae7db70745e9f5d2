#pragma once

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "common/error.hpp"
#include "common/types.hpp"

namespace gsofa {

/// The number of this process; a forked process has another number than its parents. If an object
/// was created under another number, its threads do not exist in this process and its mutexes may
/// stay locked forever.
[[nodiscard]] std::uint64_t process_number();

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

/// Number of threads for `pieces` pieces of work: at most `threads`, at least one.
template <class Count>
int useful_threads(int threads, Count pieces) {
  return std::max(1, std::cmp_less(pieces, threads) ? static_cast<int>(pieces) : threads);
}

namespace detail {

/// The threads at work in a call. Threads may enter until the caller closes the call, so that a
/// caller that has nothing left to do need not wait for threads that have not begun.
///
/// Memory order: open() releases what the caller has written for the call, enter() acquires it.
/// leave() releases the work, close() acquires it.
class call_gate {
 public:
  /// Before: the last call is closed.
  void open(std::uint32_t number) {
    word_.store(std::uint64_t{number} << 32 | is_open, std::memory_order_release);
  }
  /// False if call `number` is not open.
  bool enter(std::uint32_t number) {
    std::uint64_t old = word_.load(std::memory_order_relaxed);
    do {
      if (old >> 32 != number || (old & is_open) == 0) return false;
    } while (!word_.compare_exchange_weak(old, old + 1, std::memory_order_acquire,
                                          std::memory_order_relaxed));
    return true;
  }
  void leave() {
    const std::uint64_t old = word_.fetch_sub(1, std::memory_order_acq_rel);
    if (static_cast<std::uint32_t>(old) == 1) word_.notify_one();
  }
  /// Closes the call and waits for the threads in it; look(done) first looks for a while.
  template <class Look>
  void close(const Look& look) {
    word_.fetch_and(~is_open, std::memory_order_relaxed);
    const auto at_work = [&] { return word_.load(std::memory_order_acquire); };
    if (look([&] { return static_cast<std::uint32_t>(at_work()) == 0; })) return;
    for (std::uint64_t old = 0; static_cast<std::uint32_t>(old = at_work()) != 0;) {
      word_.wait(old, std::memory_order_acquire);
    }
  }

 private:
  static constexpr std::uint64_t is_open = std::uint64_t{1} << 31;
  std::atomic<std::uint64_t> word_{0};  // number of the call, is_open, threads at work
};

/// Which threads a call needs: all, or those that begin before the caller's own part has returned.
enum class who { all, ready };

/// Threads that wait for work from one caller at a time.
class thread_team {
 public:
  static constexpr std::uint64_t most_threads = 0x7fff;

  thread_team();
  thread_team(const thread_team&) = delete;
  thread_team& operator=(const thread_team&) = delete;
  /// Ends its threads; in a process forked since the team was made, it leaves them alone.
  ~thread_team();

  /// Starts threads until the team has at least `threads`, or the system refuses one. Returns how
  /// many of these the team has. Throws std::bad_alloc.
  std::size_t start(std::size_t threads);
  /// Calls body(what, thread), which throws nothing, on the caller as thread 0 and on threads 1 to
  /// threads - 1, which have started, or on those that are ready, and waits for them.
  void call(int threads, who which, void (*body)(void*, int), void* what);

  /// The team for a run that begins, if possible the team of a finished run, whose threads look for
  /// work for a while before they sleep.
  static std::unique_ptr<thread_team> take();
  /// Keeps the team of a finished run for the next run, or ends the team if no run can follow.
  static void give_back(std::unique_ptr<thread_team> team) noexcept;
  /// False in a process that was forked after the team was taken: it has none of the team's
  /// threads.
  [[nodiscard]] bool is_of_this_process() const;

 private:
  struct shared;
  class worker;
  friend struct idle_teams;

  std::unique_ptr<shared> shared_;
  std::vector<std::unique_ptr<worker>> workers_;
  thread_team* next_ = nullptr;  // of the teams of no run
};

}  // namespace detail

/// While an object of this class exists, on_threads() on the creating thread reuses the threads of
/// one team, also a team of an earlier object: starting 15 threads takes as long as a small
/// pattern. The threads end with the process. If a thread creates several objects, the first object
/// counts. An object must end on the thread that created it.
class kept_threads {
 public:
  /// Keeps threads if the run uses more than one.
  explicit kept_threads(int threads);
  kept_threads(const kept_threads&) = delete;
  kept_threads& operator=(const kept_threads&) = delete;
  ~kept_threads();

  /// Calls prepare(number of threads), the caller's among them, which are fewer than `threads` if
  /// the system refuses some, and then body(thread), which throws nothing, on thread 0, the caller,
  /// and all others, or on those that are ready. False if none are kept, or if they are at work:
  /// body(0) may come here again. Throws std::bad_alloc, and what prepare() throws.
  template <class Prepare, class Body>
  static bool run(int threads, detail::who which, const Prepare& prepare, Body& body) {
    kept_threads* const kept = of_this_thread();
    if (kept == nullptr || kept->busy_) return false;
    if (std::cmp_greater(threads, detail::thread_team::most_threads)) return false;
    threads = 1 + static_cast<int>(kept->start(static_cast<std::size_t>(threads) - 1));
    prepare(threads);
    kept->busy_ = true;
    kept->team_->call(
        threads, which, [](void* what, int thread) { (*static_cast<Body*>(what))(thread); }, &body);
    kept->busy_ = false;
    return true;
  }

 private:
  static kept_threads* of_this_thread();
  std::size_t start(std::size_t count);

  bool busy_ = false;
  std::unique_ptr<detail::thread_team> team_;
};

namespace detail {

/// Thrown in a forked process by a call whose other threads belong to the parent.
inline unavailable_error lost_threads() {
  return unavailable_error(
      "this process was forked by a callback, and the threads that work for the call exist in its "
      "parent only");
}

template <class Prepare, class Body>
void run_threads(int threads, who which, const Prepare& prepare, Body&& body) {
  if (threads <= 1) {
    prepare(1);
    body(0);
    return;
  }
  enum gate : int { closed, open, cancelled };
  std::atomic<int> start{closed};
  detail::first_exception failure;
  auto guarded = [&](int t) { failure.guard([&] { body(t); }); };
  if (!kept_threads::run(threads, which, prepare, guarded)) {
    std::vector<std::jthread> pool;
    const auto start_all = [&] {
      try {
        for (int t = 1; t < threads; ++t) {
          pool.emplace_back([&, t] {
            start.wait(closed);
            if (start.load() == open) guarded(t);
          });
        }
      } catch (const std::system_error&) {
        // The system refuses more threads.
      }
    };
    try {
      pool.reserve(static_cast<std::size_t>(threads) - 1);
      start_all();
      prepare(1 + static_cast<int>(pool.size()));
    } catch (...) {
      start.store(cancelled);
      start.notify_all();
      throw;
    }
    start.store(open);
    start.notify_all();
    const std::uint64_t process = process_number();
    guarded(0);
    if (process != process_number()) {
      for (std::jthread& thread : pool) thread.detach();
      throw detail::lost_threads();
    }
  }
  failure.rethrow();
}

}  // namespace detail

/// Calls body(thread) on `threads` host threads (including the caller's) and waits for all. No body
/// begins before all threads exist, so that they may wait for each other; throws error if the
/// system refuses a thread. The first exception thrown by any of them is rethrown here. If body(0)
/// forks and returns in the child, it throws unavailable_error there.
template <class Body>
void on_threads(int threads, Body&& body) {
  const auto prepare = [&](int started) {
    if (started < threads) {
      throw error(exit_code::run_failed,
                  "cannot start " + std::to_string(threads) + " threads: the system allows fewer");
    }
  };
  detail::run_threads(threads, detail::who::all, prepare, body);
}

/// The same on fewer threads if the system refuses some, down to the caller's own. prepare(number
/// of threads) is called before body() is on any of them.
template <class Prepare, class Body>
void on_started_threads(int threads, const Prepare& prepare, Body&& body) {
  detail::run_threads(threads, detail::who::all, prepare, body);
}

/// The same on thread 0, the caller, and on those of threads 1 .. threads - 1 that begin before
/// body(0) has returned. The threads that take part must do all work, however few they are; the
/// system may refuse all but the caller's.
template <class Body>
void on_ready_threads(int threads, Body&& body) {
  detail::run_threads(
      threads, detail::who::ready, [](int) {}, body);
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
/// from a shared counter, so that uneven rows balance, by at most one thread per range. No range
/// starts after an exception.
template <class Index, class Body>
void parallel_ranges(int threads, Index n, Index grain, Body&& body) {
  const Index ranges = n / grain + (n % grain == 0 ? 0 : 1);
  std::atomic<Index> next{0};
  on_ready_threads(useful_threads(threads, ranges), [&](int t) {
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

/// Calls body(part) for 0 <= part < parts, on at most as many threads. Thread k takes part k unless
/// another thread, which has no part left, has taken it before. No part starts after an exception.
template <class Body>
void parallel_parts(int parts, Body&& body) {
  if (parts == 1) {
    body(0);
    return;
  }
  std::vector<std::atomic<bool>> taken(static_cast<std::size_t>(parts));
  on_ready_threads(parts, [&](int t) {
    for (int k = 0; k < parts; ++k) {
      const int part = (t + k) % parts;
      // relaxed: the threads join before anything is read that a part has written.
      if (taken[at(part)].exchange(true, std::memory_order_relaxed)) continue;
      try {
        body(part);
      } catch (...) {
        for (std::atomic<bool>& other : taken) other.store(true, std::memory_order_relaxed);
        throw;
      }
    }
  });
}

}  // namespace gsofa
