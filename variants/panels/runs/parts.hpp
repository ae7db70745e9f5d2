#pragma once

/// Panels divided among devices (parts.hpp has the division, ../PROOFS.md why it is exact): the
/// part of one device, and what the first device does with the results of the others.

#include <functional>
#include <span>
#include <vector>

#include "variants/device/devices.hpp"
#include "variants/panels/pack.hpp"
#include "variants/panels/runs/complete.hpp"

namespace gsofa::panels {

#if defined(GSOFA_GPU)

/// What all parts have in common.
struct part_job {
  pattern_view a;
  run_settings settings;
  multi_tuning tuning;
  int parts = 1;

  [[nodiscard]] panel_limits limits() const {
    return {.width = static_cast<index_t>(settings.options.integer("panel_width"))};
  }
  [[nodiscard]] bool wants_runs() const { return settings.wants.has(want::supernodes); }
};

/// Rows begin .. end - 1 of A, and their entries.
struct row_range {
  index_t begin, end;
  offset_t first_entry, end_of_entries;
};

/// One part on its device. Members are called while that is the thread's device.
class panel_part {
 public:
  panel_part() = default;
  panel_part(const panel_part&) = delete;
  panel_part& operator=(const panel_part&) = delete;

  /// `on_one`: parts that share the device. The first part finds supernodes. Throws budget_error.
  void prepare(const part_job& job, int on_one, bool is_first);
  /// Part k: its own panels completed and counted; the panels of `top` that it holds, packed.
  /// Returns false where the budget does not admit the part.
  bool run(const part_job& job, std::size_t k, closing_masks closing, run_context& context);
  /// Joins the panels of `top` that all parts hold on this device, completes and counts them.
  /// Returns false where the budget does not admit them.
  bool join_top(const part_job& job, std::span<const packed_panels* const> parts,
                panel_arrays& joined, run_context& context);
  /// Gives back what the last run has taken.
  void release();
  /// The rows that the part may have entries of L + U in.
  [[nodiscard]] std::span<const row_range> held_rows() const { return ranges_; }

  memory_budget budget;
  device_matrix matrix;
  row_results rows;
  panel_arrays panels;
  mask_completion completion;
  device_array<index_t> runs;  ///< column_runs
  packed_panels packed;
  device_phases phases;
  panel_parts division;
  top_panels top;

 private:
  bool build(const part_job& job, std::size_t k, run_context& context);
  void divide(const part_job& job, std::size_t k);
  void hold_rows(const part_job& job, std::size_t k);
  [[nodiscard]] counted_results counted(const part_job& job) const {
    return {rows, job.a.n_rows, job.settings.chunk_size, runs.data()};
  }

  std::vector<panel_kind> kinds_;
  std::vector<index_t> begin_, parent_;  // of the panels
  panel_range own_{0, 0};                // without panels of `top` at its beginning
  std::vector<row_range> ranges_;
};

/// The results of a part in the rows that it holds, on the device of the first part: of each range
/// of rows one after another.
struct part_results {
  part_results(std::span<const row_range> held, const part_job& job, memory_budget& budget);

  std::vector<row_range> ranges;
  device_array<std::uint32_t> l, u;
  device_array<std::uint64_t> digests;  ///< if requested
  device_array<index_t> runs;           ///< if requested
};

/// Adds the results of another part to those of the first one.
void add_results(const part_results& from, panel_part& first);

/// Everything on the current device, by gpu_bitmap_panels.
std::unique_ptr<variant> run_on_one_device(const part_job& job, run_context& context);

#endif

}  // namespace gsofa::panels
