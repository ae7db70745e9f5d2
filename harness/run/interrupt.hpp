#pragma once

#include <functional>
#include <memory>
#include <mutex>

namespace gsofa {

/// While one exists, Ctrl-C (SIGINT) calls `action` from a thread of its own, which holds lock()
/// meanwhile, and then ends the process as the signal would have; a second Ctrl-C does so at once.
/// Nothing changes in a process that ignores the signal.
class interrupt_guard {
 public:
  explicit interrupt_guard(std::function<void()> action);
  ~interrupt_guard();
  interrupt_guard(const interrupt_guard&) = delete;
  interrupt_guard& operator=(const interrupt_guard&) = delete;

  /// Held where `action` must not look, such as while a record is written.
  [[nodiscard]] std::unique_lock<std::recursive_mutex> lock();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace gsofa
