#pragma once

/// Host threads of parts that wait for each other.

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>

namespace gsofa {

/// Where the parts of a run wait for each other. Nobody waits for a part that has left; once one
/// has left without a result nobody waits at all.
class part_meeting {
 public:
  void start(int parts) {
    parts_ = parts;
    arrived_ = 0;
    failed_ = false;
  }

  /// Waits until all parts that have not left have come as often. Returns false if one has left
  /// without a result. What a part has written before is seen by all afterwards.
  bool meet() {
    std::uint32_t round = 0;
    {
      const std::scoped_lock lock(mutex_);
      round = round_;
      if (failed_) return false;
      ++arrived_;
      end_round();
    }
    for (int looks = 0; round_ == round; ++looks) {
      if (looks < most_looks) {
        std::this_thread::yield();
      } else {
        round_.wait(round);
      }
    }
    return !failed_;
  }

  void leave(bool with_result) {
    const std::scoped_lock lock(mutex_);
    --parts_;
    if (!with_result) failed_ = true;
    end_round();
  }

 private:
  static constexpr int most_looks = 4096;  // before the thread sleeps

  void end_round() {
    if (!failed_ && (arrived_ == 0 || arrived_ < parts_)) return;
    arrived_ = 0;
    ++round_;
    round_.notify_all();
  }

  std::mutex mutex_;
  int parts_ = 0, arrived_ = 0;
  std::atomic<bool> failed_{false};
  std::atomic<std::uint32_t> round_{0};
};

}  // namespace gsofa
