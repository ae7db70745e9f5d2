#pragma once

/// Times of steps on the device.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "variants/device/runtime.hpp"

namespace gsofa::gpu {

#if defined(GSOFA_GPU)

/// Splits the time of a host thread's launches among named phases, by events between the launches.
class timeline {
 public:
  timeline() = default;
  timeline(const timeline&) = delete;
  timeline& operator=(const timeline&) = delete;
#if defined(__CUDACC__)
  ~timeline() {
    for (const auto& [event, name] : marks_) cudaEventDestroy(event);
  }
  /// Later launches belong to `phase`.
  void mark(const char* phase) {
    cudaEvent_t event = nullptr;
    check(cudaEventCreate(&event), "event");
    marks_.emplace_back(event, phase);
    check(cudaEventRecord(event, cudaStreamPerThread), "event");
  }
  /// Seconds by phase; waits for all launches.
  std::map<std::string, double> finish() {
    mark("end");
    synchronize();
    std::map<std::string, double> seconds;
    for (std::size_t k = 0; k + 1 < marks_.size(); ++k) {
      float ms = 0;
      check(cudaEventElapsedTime(&ms, marks_[k].first, marks_[k + 1].first), "event");
      seconds[marks_[k].second] += 1e-3 * static_cast<double>(ms);
    }
    return seconds;
  }

 private:
  std::vector<std::pair<cudaEvent_t, const char*>> marks_;
#else
  void mark(const char*) {}
  std::map<std::string, double> finish() { return {}; }
#endif
};

#endif

}  // namespace gsofa::gpu
