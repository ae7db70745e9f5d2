#pragma once

#include <string>
#include <utility>
#include <vector>

#include "common/run_context.hpp"
#include "variants/device/launches.hpp"

namespace gsofa::gpu {

#if defined(GSOFA_GPU)

/// Splits the time of a run among phases without waiting between them: each mark is an event among
/// the launches of this host thread.
class device_phases {
 public:
  device_phases() = default;
  device_phases(const device_phases&) = delete;
  device_phases& operator=(const device_phases&) = delete;
#if defined(__CUDACC__)
  ~device_phases() { clear(); }
#endif

  /// Gives back the events, which belong to one device.
  void clear() {
    marks_.clear();
#if defined(__CUDACC__)
    for (const cudaEvent_t e : events_) cudaEventDestroy(e);
    events_.clear();
#endif
  }
  /// Begins the first phase.
  void start(run_context& context, phase_id first) {
    marks_.clear();
    mark(context, first);
  }
  /// Launches after this call belong to `next`.
  void mark([[maybe_unused]] run_context& context, phase_id next) {
#if defined(__CUDACC__)
    if (marks_.size() == events_.size()) {
      cudaEvent_t event = nullptr;
      check(cudaEventCreate(&event), "event");
      events_.push_back(event);
    }
    check(cudaEventRecord(events_[marks_.size()], cudaStreamPerThread), "event");
#else
    context.phases.switch_to(next);
#endif
    marks_.push_back(next);
  }
  /// Waits for all launches and charges their times to the phases; the rest of the time remains
  /// with the phase of the host.
  void finish([[maybe_unused]] run_context& context) {
    const phase_id last = marks_.back();
    mark(context, last);
    synchronize();
#if defined(__CUDACC__)
    for (std::size_t k = 0; k + 1 < marks_.size(); ++k) {
      float ms = 0;
      check(cudaEventElapsedTime(&ms, events_[k], events_[k + 1]), "event");
      context.phases.charge(marks_[k], 1e-3 * static_cast<double>(ms));
    }
#endif
  }

 private:
  std::vector<phase_id> marks_;
#if defined(__CUDACC__)
  std::vector<cudaEvent_t> events_;
#endif
};

#endif

}  // namespace gsofa::gpu
