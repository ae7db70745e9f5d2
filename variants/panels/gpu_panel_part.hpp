#pragma once

/// A part of the panels on one device, for several devices of a process or of several: see
/// parts.hpp and gpu_bitmap_panels_multi.cu.

#include <limits>
#include <span>

#include "common/thread_device.hpp"
#include "variants/panels/eliminate/eliminate.hpp"
#include "variants/panels/gpu_panels.hpp"

namespace gsofa::gpu {

#if defined(GSOFA_GPU)

/// Uses a device while it lives.
class on_device {
 public:
  explicit on_device(int device) : before_(thread_device()) { use_thread_device(device); }
  on_device(const on_device&) = delete;
  on_device& operator=(const on_device&) = delete;
  ~on_device() { use_thread_device(before_); }

 private:
  int before_;
};

/// What all parts have in common.
struct part_job {
  pattern_view a;
  run_settings settings;
  multi_tuning tuning;
  int parts = 1;
  bool refuted = false;  ///< the closure of this matrix

  [[nodiscard]] panel_limits limits() const {
    return {.width = static_cast<index_t>(settings.options.integer("panel_width"))};
  }
  [[nodiscard]] bool closes(const panel_structure& structure) const {
    if (refuted || tuning.closing == closing_masks::never) return false;
    return structure.symmetric() || tuning.closing == closing_masks::always;
  }
  [[nodiscard]] bool wants_runs() const { return settings.wants.has(want::supernodes); }
};

/// What a part has on its device. Members are called while that is the thread's device.
struct panel_part {
  int device = 0;
  memory_budget budget;
  device_matrix matrix;
  row_results rows;
  panel_structure structure;
  panels::panel_elimination elimination;
  symmetric_closure closure;
  device_array<index_t> runs;  // column_runs
  packed_panels packed;
  device_phases phases;
  run_context context;
  bool built = false;

  panel_part() = default;
  panel_part(const panel_part&) = delete;
  panel_part& operator=(const panel_part&) = delete;

  /// `on_one`: parts that share the device. The first part finds supernodes.
  void prepare(const part_job& job, int on_one, bool is_first) {
    budget.set_limit(std::numeric_limits<offset_t>::max());
    matrix.upload(job.a, budget);
    const std::int64_t megabytes = job.settings.options.integer("memory_budget_mb");
    const offset_t limit =
        megabytes > 0 ? megabytes << 20 : current_limits().free_bytes / 4 * 3 / on_one;
    budget.set_limit(limit + budget.used());
    run_settings of_part = job.settings;
    if (!is_first) of_part.wants = of_part.wants.without(want::supernodes);
    rows.prepare(job.a.n_rows, of_part, budget);
    structure.prepare(job.a.n_rows, budget, job.parts);
    elimination_settings settings = job.tuning.elimination;
    settings.most_update_work = work_of_search(job.a.n_rows, job.a.nnz());
    elimination.prepare(job.a.n_rows, settings, budget);
    closure.prepare();
  }

  /// Part k: its own panels, and what it has of `top`, packed. Returns false
  /// where the budget does not admit the part.
  bool run(const part_job& job, std::size_t k, run_context& of_run) {
    packed = {};
    phases.start(of_run, phase_id::schedule);
    rows.start();
    elimination.expect();
    closure.expect();
    const auto divide = [&](std::span<const index_t> begin, std::span<const index_t> parent) {
      return divide_panels(begin, parent, job.parts);
    };
    if (!structure.build_part(matrix, job.a.row_ptr, job.limits(), budget, of_run, divide, k)) {
      phases.finish(of_run);
      return false;
    }
    bool is_done = true;
    try {
      if (job.wants_runs()) {
        runs = {budget, "column_runs", job.a.n_rows};
        fill_bytes(runs.data(), 0xff, job.a.n_rows);
      }
      eliminate(job, structure, structure.own_range(), of_run);
      phases.mark(of_run, phase_id::comm);
      packed = structure.pack(budget);
    } catch (const budget_error&) {
      is_done = false;
    }
    phases.finish(of_run);
    return is_done;
  }

  /// Eliminates panels on this device and counts what they own.
  void eliminate(const part_job& job, const panel_structure& of, panel_range panels,
                 run_context& of_run) {
    if (panels.begin == panels.end) return;
    phases.mark(of_run, phase_id::traverse);
    if (job.closes(of)) {
      closure.run(of, panels, counts_of_closure(job, of));
    } else {
      elimination.run({of.view(), of.children(), of.finished(), of.control(), of.longest()},
                      panels);
    }
    count(job, of, panels, of_run);
  }

 private:
  [[nodiscard]] row_counts counts_of_closure(const part_job& job, const panel_structure& of) const {
    if (!job.closes(of) || rows.digests() != nullptr) return {};
    return {rows.l_counts(), rows.u_counts()};
  }

  /// Counts what the panels own, unless it was counted when they were closed.
  void count(const part_job& job, const panel_structure& of, panel_range panels,
             run_context& of_run) {
    const panel_view view = of.view();
    if (counts_of_closure(job, of).l == nullptr) {
      phases.mark(of_run, phase_id::compact);
      count_rows(view, panels, rows);
    }
    if (!job.wants_runs()) return;
    phases.mark(of_run, phase_id::supernode);
    find_column_runs(view, panels, job.a.n_rows, job.settings.chunk_size, runs.data());
  }
};

#endif

}  // namespace gsofa::gpu
