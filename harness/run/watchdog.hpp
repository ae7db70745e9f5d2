#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "common/error.hpp"

namespace gsofa {

/// The system refuses the thread of a watchdog: no fault of what it should watch.
class watchdog_error : public error {
 public:
  explicit watchdog_error(const std::string& reason)
      : error(exit_code::run_failed,
              "cannot start the thread that enforces the time limit: " + reason) {}
};

/// Calls `expired` from a thread of its own unless destroyed within `limit`. `expired` must end
/// the process: the destructor blocks as long as it runs.
class watchdog {
 public:
  /// Throws watchdog_error.
  watchdog(std::chrono::duration<double> limit, std::function<void()> expired);
  ~watchdog();
  watchdog(const watchdog&) = delete;
  watchdog& operator=(const watchdog&) = delete;

 private:
  std::mutex guard_;
  std::condition_variable wake_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace gsofa
