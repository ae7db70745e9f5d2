#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "common/parallel.hpp"
#include "gsofa/gsofa.hpp"
#include "harness/library/cpp/supervision.hpp"

namespace gsofa {

namespace library {

/// An analysis between the thread that requested it and the thread that does it. A forked process may
/// use its copy: no function but those of the two threads takes a lock.
class pending_state {
 public:
  cancellation stop;

  /// Of the thread that does it: with `failed`, or with null and the result.
  void end(std::exception_ptr failed, const analysis* found);
  /// Whether it has ended, or is under way in the process that this one was forked from.
  [[nodiscard]] bool ended() const { return ended_ != 0 || is_lost(); }
  /// Whether it was under way when this process was forked: nobody ends it here.
  [[nodiscard]] bool is_lost() const { return ended_ == 0 && process_ != process_number(); }
  /// Whether the calling thread does it, so that it cannot wait for its end.
  [[nodiscard]] bool is_done_here() const { return ended_ == 0 && stop.is_on_this_thread(); }
  void request_stop() {
    if (process_ == process_number()) stop.request();
  }
  /// Waits for its end. Throws invalid_input on the threads that do it, and analysis_error
  /// (unavailable) if it is lost.
  void wait() const;
  const analysis& get() const;
  /// The result is no more.
  void withdraw() { found_ = nullptr; }

 private:
  const std::uint64_t process_ = process_number();
  std::exception_ptr failed_;  // written before ended_
  std::atomic<const analysis*> found_{nullptr};
  std::atomic<int> ended_{0};
};

/// A thread that does one piece of work after the other; it starts with the first. A forked process
/// cannot use it, nor end it.
class work_thread {
 public:
  work_thread() = default;
  work_thread(const work_thread&) = delete;
  work_thread& operator=(const work_thread&) = delete;
  /// Waits for what it does.
  ~work_thread();
  /// Has `work` done, which throws nothing, once what was given before is done. Throws error where
  /// the system has no thread, std::bad_alloc.
  void give(std::function<void()> work);
  /// Called by the work: calls last(), which throws nothing and may end this object, once the work
  /// is done; the thread ends then.
  void end_with(std::function<void()> last) { last_ = std::move(last); }

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> next_;
  std::function<void()> last_;  // of the thread alone
  bool ends_ = false;
  std::jthread thread_;  // the others are there when it begins and when it ends
};

}  // namespace library

// It has no members of its own: those of a class in an exported one would be exported.
struct pending_analysis::state final : library::pending_state {};

}  // namespace gsofa
