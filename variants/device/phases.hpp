#pragma once

#include <string>
#include <utility>
#include <vector>

#include "common/run_context.hpp"
#include "variants/device/launches.hpp"

namespace gsofa::gpu {

#if defined(GSOFA_GPU)

/// Notes the time, in nanoseconds, at which all launches before have ended.
template <class Time>
GSOFA_KERNEL void note_time_kernel(Time* at) {
  simt::after_earlier_launches();
  if (simt::thread_index() == 0) *at = simt::device_time();
}

/// Splits the time of a run among phases without waiting between them: each mark is an event among
/// the launches of this host thread. Among recorded launches it is a launch that notes the time,
/// which takes a quarter of what an event does.
class device_phases {
 public:
  device_phases() = default;
  device_phases(const device_phases&) = delete;
  device_phases& operator=(const device_phases&) = delete;
#if defined(__CUDACC__)
  ~device_phases() {
    for (const cudaEvent_t e : events_) cudaEventDestroy(e);
  }
#endif

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
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    check(cudaStreamIsCapturing(cudaStreamPerThread, &status), "capture");
    recorded_ = status == cudaStreamCaptureStatusActive;
    if (recorded_) {
      launch_overlapping(note_time_kernel<unsigned long long>, 1, 32, 0, &notes_.at(marks_.size()));
    } else {
      // Memory cannot be allocated while launches are recorded, which have been launched before.
      if (notes_.empty()) notes_.assign(most_notes, 0);
      check(cudaEventRecord(events_[marks_.size()], cudaStreamPerThread), "event");
    }
#else
    context.phases.switch_to(next);
#endif
    marks_.push_back(next);
  }
  /// Waits for all launches and charges their times to the phases; the rest of the time remains
  /// with the phase of the host.
  void finish(run_context& context) {
    end(context);
    settle(context);
  }
  /// Ends the last phase; asynchronous.
  void end(run_context& context) {
    const phase_id last = marks_.back();
    mark(context, last);
  }
  /// Waits for all launches up to end(), which may be recorded ones, and charges their times.
  void settle([[maybe_unused]] run_context& context) {
    synchronize();
#if defined(__CUDACC__)
    for (std::size_t k = 0; k + 1 < marks_.size(); ++k) {
      if (recorded_) {
        context.phases.charge(marks_[k], 1e-9 * static_cast<double>(notes_[k + 1] - notes_[k]));
        continue;
      }
      float ms = 0;
      check(cudaEventElapsedTime(&ms, events_[k], events_[k + 1]), "event");
      context.phases.charge(marks_[k], 1e-3 * static_cast<double>(ms));
    }
#endif
  }

 private:
  std::vector<phase_id> marks_;
#if defined(__CUDACC__)
  static constexpr std::size_t most_notes = 16;  // recorded launches have fewer marks
  std::vector<cudaEvent_t> events_;
  pinned_vector<unsigned long long> notes_;  // of recorded launches
  bool recorded_ = false;                    // notes_ has the times of the marks
#endif
};

#endif

}  // namespace gsofa::gpu
