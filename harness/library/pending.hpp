#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "gsofa/gsofa.hpp"
#include "harness/library/supervision.hpp"

namespace gsofa {

namespace detail {

/// An analysis between the thread that asked for it and the one that does it.
class pending_state {
 public:
  cancellation stop;

  /// Of the thread that does it: with `failed`, or with null and the result.
  void end(std::exception_ptr failed, const analysis* found);
  [[nodiscard]] bool ended();
  void wait();
  const analysis& get();
  /// The result is no more.
  void withdraw();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  std::exception_ptr failed_;
  const analysis* found_ = nullptr;
};

/// A thread that does one piece of work after the other; it starts with the first.
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

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> next_;
  bool ends_ = false;
  std::jthread thread_;  // the others are there when it begins and when it ends
};

}  // namespace detail

// It has no members of its own: those of a class in an exported one would be exported.
struct pending_analysis::state final : detail::pending_state {};

}  // namespace gsofa
