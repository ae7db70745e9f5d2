#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "common/parallel.hpp"
#include "common/run_context.hpp"
#include "gsofa/gsofa.hpp"

namespace gsofa::library {

/// What the thread that works and the thread that called analyze() tell each other.
class supervision {
 public:
  supervision(const analysis_options& options, bool own_thread)
      : log_(options.log), own_thread_(own_thread) {}

  std::atomic<bool> stop{false};
  progress_probe probe;

  /// Begins a stage; throws cancelled_error if the caller has cancelled.
  void enter(analysis_stage stage);
  /// A line for the caller's log: now, or at the caller's next look where it waits.
  void say(const std::string& line);

  /// Of the waiting thread.
  analysis_progress look();
  void pass_on_lines();

 private:
  std::atomic<analysis_stage> stage_{analysis_stage::check};
  const std::function<void(const std::string&)>& log_;
  const bool own_thread_;
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

/// Ends work from another thread, before it begins or while it goes on, and knows the threads that
/// do it.
class cancellation {
 public:
  void request() {
    const std::scoped_lock lock(mutex_);
    requested_ = true;
    if (stop_ != nullptr) stop_->store(true, std::memory_order_relaxed);
  }
  /// A request after which no callback is called again.
  void silence() {
    silent_ = true;
    request();
  }
  [[nodiscard]] bool is_silent() const { return silent_; }
  /// Whether the calling thread does the work, or calls back for it.
  [[nodiscard]] bool is_on_this_thread() const {
    return std::ranges::any_of(
        threads_, [](const auto& id) { return id.load() == std::this_thread::get_id(); });
  }
  /// While it lives, the calling thread, the first or the second one, does the work.
  class thread_scope {
   public:
    thread_scope(cancellation* of, std::size_t number)
        : id_(of == nullptr ? nullptr : &of->threads_[number]) {
      if (id_ != nullptr) *id_ = std::this_thread::get_id();
    }
    thread_scope(const thread_scope&) = delete;
    thread_scope& operator=(const thread_scope&) = delete;
    ~thread_scope() {
      if (id_ != nullptr) *id_ = std::thread::id();
    }

   private:
    std::atomic<std::thread::id>* id_;
  };
  /// While it lives, a request sets `stop`; an earlier one has set it at once.
  class scope {
   public:
    scope(cancellation* of, std::atomic<bool>& stop) : of_(of), thread_(of, 0) {
      if (of_ == nullptr) return;
      const std::scoped_lock lock(of_->mutex_);
      of_->stop_ = &stop;
      if (of_->requested_) stop.store(true, std::memory_order_relaxed);
    }
    scope(const scope&) = delete;
    scope& operator=(const scope&) = delete;
    ~scope() {
      if (of_ == nullptr) return;
      const std::scoped_lock lock(of_->mutex_);
      of_->stop_ = nullptr;
    }

   private:
    cancellation* of_;
    thread_scope thread_;
  };

 private:
  std::mutex mutex_;
  bool requested_ = false;
  std::atomic<bool> silent_{false};
  std::atomic<bool>* stop_ = nullptr;
  std::array<std::atomic<std::thread::id>, 2> threads_{};
};

/// Calls work(supervision): on this thread, or, where options.progress is set, on another one while
/// this one calls options.progress. Exceptions of `work` and of the callbacks are rethrown once the
/// work has ended; those of the callbacks first, as callback_failure. `cancelled_by`, which may be
/// null, ends the work. If a callback forks and returns in the child, it throws unavailable_error
/// there: what `work` refers to may be half written and must not be destroyed.
void supervise(const analysis_options& options, const std::function<void(supervision&)>& work,
               cancellation* cancelled_by = nullptr);

/// Deletes, except in a child process that a callback of the analysis has forked: another thread of
/// the parent was writing the value.
struct leave_in_child {
  std::uint64_t process = process_number();
  template <class T>
  void operator()(T* value) const {
    if (process == process_number()) delete value;  // NOLINT(cppcoreguidelines-owning-memory)
  }
};
template <class T>
std::unique_ptr<T, leave_in_child> left_in_child() {
  return {new T, {}};
}

/// Holds what a callback of the caller has thrown.
struct callback_failure {
  std::exception_ptr thrown;
};

}  // namespace gsofa::library
