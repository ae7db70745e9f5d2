#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "common/run_context.hpp"
#include "gsofa/gsofa.hpp"

namespace gsofa::detail {

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

/// Ends work from another thread, before it begins or while it goes on.
class cancellation {
 public:
  void request() {
    const std::scoped_lock lock(mutex_);
    requested_ = true;
    if (stop_ != nullptr) stop_->store(true, std::memory_order_relaxed);
  }
  /// While it lives, a request sets `stop`; an earlier one has set it at once.
  class scope {
   public:
    scope(cancellation* of, std::atomic<bool>& stop) : of_(of) {
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
  };

 private:
  std::mutex mutex_;
  bool requested_ = false;
  std::atomic<bool>* stop_ = nullptr;
};

/// Calls work(supervision): on this thread, or, where options.progress is set, on another one while
/// this one calls options.progress. Exceptions of `work` and of the callbacks are rethrown once the
/// work has ended; those of the callbacks first, as callback_failure. `cancelled_by`, which may be
/// null, ends the work.
void supervise(const analysis_options& options, const std::function<void(supervision&)>& work,
               cancellation* cancelled_by = nullptr);

/// Holds what a callback of the caller has thrown.
struct callback_failure {
  std::exception_ptr thrown;
};

}  // namespace gsofa::detail
