#pragma once

// Host threads that stay alive over many short parallel loops.

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "common/parallel.hpp"
#include "common/types.hpp"

namespace gsofa::orders {

/// Vertices of a loop that a thread takes at a time.
inline constexpr offset_t vertex_grain = 4096;

/// The threads of one call. A loop runs on its caller and on those of the other threads that begin
/// before the loop has no index left. Loops do not nest within one team, but a team can be split in
/// two for a while.
class team {
 public:
  team() = default;
  [[nodiscard]] int size() const { return size_; }

  /// Calls body(team) on the calling thread while at most threads - 1 others wait for its loops.
  template <class Body>
  static void run(int threads, Body&& body) {
    team crew;
    on_started_threads(
        threads, [&](int started) { crew.size_ = started; },
        [&](int t) { crew.join(t, [&] { body(crew); }); });
  }

  /// Calls body(team, part) for two teams at the same time: part 0 has the first `threads` threads
  /// of this one, part 1 the others; 0 < threads < size().
  template <class Body>
  void split(int threads, Body&& body) {
    team parts[2];
    parts[0].size_ = threads;
    parts[1].size_ = size_ - threads;
    each([&](int t) {
      const int part = t < threads ? 0 : 1;
      parts[part].join(t - part * threads, [&] { body(parts[part], part); });
    });
  }

  /// Calls body(thread, begin, end) for ranges of `grain` indices that partition [0, n).
  template <class Body>
  void ranges(offset_t n, offset_t grain, Body&& body) {
    if (size_ == 1 || n <= grain) {
      if (n > 0) body(0, offset_t{0}, n);
      return;
    }
    n_ = n;
    grain_ = grain;
    next_.store(0, std::memory_order_relaxed);
    run_loop(body);
  }

  /// Calls body(thread, i) for each i of [0, n), each taken on its own.
  template <class Body>
  void items(offset_t n, Body&& body) {
    ranges(n, 1, [&](int t, offset_t begin, offset_t end) {
      for (offset_t i = begin; i < end; ++i) body(t, i);
    });
  }

 private:
  static constexpr int spin_limit = 2000;
  static constexpr offset_t once_per_thread = 0;  // grain of each()

  // Calls body(thread) once on each thread.
  template <class Body>
  void each(Body&& body) {
    grain_ = once_per_thread;
    const auto loop = [&](int t, offset_t, offset_t) { body(t); };
    run_loop(loop);
  }

  // Thread 0 calls body(), the others wait for its loops.
  template <class Body>
  void join(int t, Body&& body) {
    if (t != 0) return serve(t);
    detail::first_exception failure;
    failure.guard([&] { body(); });
    call_ = nullptr;
    release();  // stays open until all threads have left
    failure.rethrow();
  }

  template <class Body>
  void run_loop(Body& body) {
    using body_type = std::remove_reference_t<Body>;
    body_ = const_cast<void*>(static_cast<const void*>(&body));
    call_ = [](void* b, int t, offset_t from, offset_t to) {
      (*static_cast<body_type*>(b))(t, from, to);
    };
    missing_.store(size_ - 1, std::memory_order_relaxed);
    detail::first_exception failure;
    failure_ = &failure;
    release();
    take(0);
    if (grain_ == once_per_thread) {
      wait_while(missing_, [](int missing) { return missing != 0; });
    }
    gate_.close([](const auto& done) {
      for (int spins = 0; spins < spin_limit; ++spins) {
        if (done()) return true;
      }
      return false;
    });
    failure.rethrow();
  }

  // Looks for a while before it sleeps.
  template <class T, class Waits>
  static void wait_while(const std::atomic<T>& word, Waits&& waits) {
    T value{};
    for (int spins = 0; waits(value = word.load(std::memory_order_acquire));) {
      if (++spins > spin_limit) word.wait(value, std::memory_order_acquire);
    }
  }

  void release() {
    const std::uint32_t next = loop_.load(std::memory_order_relaxed) + 1;
    gate_.open(next);
    loop_.store(next, std::memory_order_release);
    loop_.notify_all();
  }

  void take(int t) {
    if (grain_ == once_per_thread) {
      failure_->guard([&] { call_(body_, t, t, t + 1); });
      return;
    }
    for (;;) {
      const offset_t begin = next_.fetch_add(grain_, std::memory_order_relaxed);
      if (begin >= n_ || failure_->any()) return;
      failure_->guard([&] { call_(body_, t, begin, std::min(n_, begin + grain_)); });
    }
  }

  void serve(int t) {
    for (std::uint32_t seen = 0;;) {
      wait_while(loop_, [&](std::uint32_t loop) { return loop == seen; });
      seen = loop_.load(std::memory_order_acquire);
      if (!gate_.enter(seen)) continue;
      const bool ends = call_ == nullptr;
      if (!ends) take(t);
      if (missing_.fetch_sub(1, std::memory_order_acq_rel) == 1) missing_.notify_one();
      gate_.leave();
      if (ends) return;
    }
  }

  int size_ = 1;
  std::atomic<std::uint32_t> loop_{0};
  detail::call_gate gate_;
  std::atomic<int> missing_{0};  // threads that have not yet finished the loop
  std::atomic<offset_t> next_{0};
  offset_t n_ = 0;
  offset_t grain_ = 1;
  void* body_ = nullptr;
  void (*call_)(void*, int, offset_t, offset_t) = nullptr;
  detail::first_exception* failure_ = nullptr;
};

}  // namespace gsofa::orders
