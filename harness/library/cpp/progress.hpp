#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
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

/// Calls work(supervision): on this thread, or, where options.progress is set, on another one while
/// this one calls options.progress. Exceptions of `work` and of the callbacks are rethrown once the
/// work has ended; those of the callbacks first, as callback_failure. If a callback forks and
/// returns in the child, it throws unavailable_error there: what `work` refers to may be half
/// written and must not be destroyed. is_short: the work takes less than progress_seconds, so this
/// thread does it, after one call of options.progress.
void supervise(const analysis_options& options, const std::function<void(supervision&)>& work,
               bool is_short = false);

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
