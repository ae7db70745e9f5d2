#include "harness/run/watchdog.hpp"

#include <system_error>
#include <utility>

namespace gsofa {

watchdog::watchdog(std::chrono::duration<double> limit, std::function<void()> expired) {
  try {
    thread_ = std::thread([this, limit, action = std::move(expired)] {
      std::unique_lock lock(guard_);
      if (!wake_.wait_for(lock, limit, [this] { return done_; })) action();
    });
  } catch (const std::system_error& e) {
    throw watchdog_error(e.what());
  }
}

watchdog::~watchdog() {
  {
    const std::scoped_lock lock(guard_);
    done_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

}  // namespace gsofa
