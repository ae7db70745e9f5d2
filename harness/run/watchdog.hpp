#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace gsofa {

/// Calls `expired` from a thread of its own unless destroyed within `limit`. `expired` must end
/// the process: the destructor blocks as long as it runs.
class watchdog {
 public:
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
