#pragma once

/// The elimination of panels on the GPU as the host calls it. panel.cuh has the algorithm.

#include "common/run_context.hpp"
#include "variants/device/runtime.hpp"
#include "variants/panels/eliminate/elimination_settings.hpp"
#include "variants/panels/panel_view.hpp"

namespace gsofa::panels {

#if defined(GSOFA_GPU)

namespace elimination {
struct panel_schedule;
struct elimination_view;
}  // namespace elimination

/// What the elimination reads and updates; all arrays are in device memory.
struct elimination_input {
  panel_view panels;              ///< the masks hold A, and the updates of earlier waves
  const std::uint32_t* children;  ///< number of children of each panel
  std::uint32_t* finished;        ///< of each panel; zero before the panel's wave
  std::uint32_t* control;         ///< an elimination_control
  index_t longest;                ///< number of positions of the longest panel
};

/// Factors panels whose masks hold A: the masks become those of L and U.
class panel_elimination {
 public:
  /// Takes the arrays for orders up to n. Throws budget_error if they do not fit.
  void prepare(index_t n, const elimination_settings& settings, memory_budget& budget);
  /// Factors the panels of one wave, which is all panels if there is one wave; waves ascend. Up to
  /// five launches; asynchronous.
  void run(const elimination_input& input, panel_range wave);
  /// Number of tasks that workers of the last run have handed over.
  [[nodiscard]] offset_t tasks() const;
  /// Adds the work of the last run to the counters of `context`, in the counting build.
  void report(run_context& context) const;

 private:
  [[nodiscard]] elimination::panel_schedule schedule_of(const elimination_input& input,
                                                        panel_range wave, bool shares);
  void launch_wave(elimination::elimination_view& view, const elimination_input& input,
                   bool shares);
  [[nodiscard]] bool may_hand_over(index_t longest) const;
  [[nodiscard]] unsigned long long most_far_work(index_t panels) const;

  elimination_settings settings_;
  int warp_blocks_ = 0, block_blocks_ = 0, sharing_blocks_ = 0, clusters_ = 0;
  device_array<unsigned long long> counters_;
  device_array<index_t> lists_[3];  // panels between launches, used in rotation
  device_array<std::uint64_t> cluster_states_;
  index_t task_room_ = 0;
  device_array<std::uint64_t> task_items_;
  device_array<std::uint32_t> task_words_;  // sharing_control, flags of tasks, marks of panels
};

#endif

}  // namespace gsofa::panels
