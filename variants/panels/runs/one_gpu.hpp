#pragma once

/// One GPU: the stages one after another, from a matrix on the device to counts, supernodes and
/// rows of L + U.

#include <optional>

#include "variants/panels/runs/build.hpp"
#include "variants/panels/runs/complete.hpp"
#include "variants/panels/runs/search.hpp"
#include "variants/panels/tree_counts.hpp"

namespace gsofa::panels {

#if defined(GSOFA_GPU)

/// Runs on one matrix, and what the last one has left.
class one_gpu {
 public:
  explicit one_gpu(const panel_tuning& tuning) : tuning_(tuning) {}
  /// Takes the matrix: a copy of one on the host, which stays there, or one on the device.
  void take(const pattern_view& a);
  void take(const device_rows& a);
  /// Allocates the arrays over vertices. Throws budget_error.
  void prepare(const run_settings& settings, run_context& context);
  /// Finds what the settings request. Nothing that an earlier run has found plays a part.
  void run(run_context& context);

 protected:
  /// Finds the panels after a run that has counted by the elimination tree alone.
  void complete_panels();
  /// Whether sorted rows are all that there is of L + U: masks of relabelled vertices tell nothing
  /// of neighbours in the caller's numbering.
  [[nodiscard]] bool rows_alone() const { return searched_ || panels_.relabelled; }

  index_t n_ = 0;
  run_settings settings_;
  memory_budget budget_;
  row_results rows_;
  panel_arrays panels_;
  wave_places waves_;
  panel_expansion expansion_;
  bool holds_rows_ = false;                          ///< expansion_ has the rows
  std::optional<detail::gilbert_peierls> searched_;  ///< has the results if it is there

 private:
  void clear();
  void give_back();
  void run_stages(run_context& context);
  bool has_tree_arrays() { return tree_counts_.prepared() || tree_counts_.prepare(n_, budget_); }
  bool count_by_tree(run_context& context);
  bool run_panels(closing_masks closing, run_context& context);
  void complete(run_context& context);
  void find_supernodes(run_context& context);
  [[nodiscard]] bool needs_rows() const {
    return settings_.wants.has(want::pattern) || (settings_.supernodal && panels_.relabelled);
  }
  void find_rows(run_context& context);
  bool expand(const panel_view& panels, run_context& context);
  void rows_by_bitmaps(const panel_view& panels, run_context& context);
  [[nodiscard]] offset_t bytes_of_row() const { return (offset_t{n_} + 31) / 32 * 4; }
  [[nodiscard]] panel_limits limits() const;
  void search(run_context& context);
  void report(run_context& context);

  panel_tuning tuning_;
  int device_ = -1;       // of the matrix; -1: there is none
  bool told_ = false;     // announce_search() has
  pattern_view on_host_;  // of the caller; empty where the matrix was on the device
  pattern copied_;
  device_matrix matrix_;
  mask_completion completion_;
  device_array<index_t> column_runs_;
  bool tries_tree_ = false;  // counts alone are requested, and may come from the tree
  symmetric_counts tree_counts_;
  bool counted_by_tree_ = false;  // there are no panels
  device_phases phases_;
};

#endif

}  // namespace gsofa::panels
