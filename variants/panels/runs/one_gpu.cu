// One GPU: see one_gpu.hpp. ../PROOFS.md, "Launches of a run on one GPU", lists the launches.

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include <algorithm>
#include <limits>
#include <utility>

#include "variants/device/devices.hpp"
#include "variants/panels/runs/one_gpu.hpp"

namespace gsofa::panels {

void one_gpu::take(const pattern_view& a) {
  give_back();
  on_host_ = a;
  budget_.set_limit(std::numeric_limits<offset_t>::max());
  matrix_.upload(a, budget_);
}

void one_gpu::take(const device_rows& a) {
  give_back();
  on_host_ = {};
  matrix_.refer_to(a);
}

void one_gpu::prepare(const run_settings& settings, run_context& context) {
  settings_ = settings;
  told_ = false;
  device_ = thread_device();
  n_ = matrix_.rows().n;
  const option_set& o = settings.options;
  const std::int64_t megabytes = o.integer("memory_budget_mb");
  const offset_t limit = megabytes > 0 ? megabytes << 20 : current_limits().free_bytes / 4 * 3;
  budget_.set_limit(limit + budget_.used());
  run_settings of_rows = settings;
  if (settings.supernodal) of_rows.wants |= want::pattern;  // where vertices are relabelled
  rows_.prepare(n_, of_rows, budget_);
  panels_.prepare(n_, budget_);
  elimination_settings elimination = tuning_.elimination;
  elimination.blocks_per_cluster = static_cast<int>(o.integer("blocks_per_cluster"));
  if (o.choice("hand_over") != "auto") {
    elimination.far_targets = o.choice("hand_over") == "on" ? handing_over::on : handing_over::off;
  }
  completion_.prepare(n_, elimination, budget_);
  const bool counts_alone =
      settings.wants.without(want_set(want::counts) | want::supernodes) == want_set() &&
      !settings.supernodal && !settings.leaves_on_device;
  tries_tree_ = counts_alone && o.choice("counts") == "tree" &&
                tuning_.closing == closing_masks::where_symmetric;
  if (tries_tree_) has_tree_arrays();
  context.predicted_bytes["vertex_arrays"] = budget_.used() - matrix_.bytes();
}

void one_gpu::run(run_context& context) {
  // The next run may be one of another host thread, which would not wait for these launches.
  try {
    clear();
    if (tries_tree_ && has_tree_arrays() && count_by_tree(context)) return;
    run_stages(context);
  } catch (...) {
    drain();
    throw;
  }
}

void one_gpu::complete_panels() {
  if (!counted_by_tree_) return;
  try {
    run_context unused;
    tree_counts_.release();
    clear();
    run_stages(unused);
  } catch (...) {
    drain();
    throw;
  }
}

void one_gpu::run_stages(run_context& context) {
  if (run_panels(tuning_.closing, context)) return;
  // L is not U transposed.
  clear();
  run_panels(closing_masks::never, context);
}

// The stages one after another. Returns false where closed masks were refuted.
bool one_gpu::run_panels(closing_masks closing, run_context& context) {
  phases_.start(context, phase_id::schedule);
  rows_.start();
  completion_.begin(closing);
  if (!build(view_of(matrix_), panels_, waves_, limits(), budget_, context)) {
    phases_.finish(context);
    if (!std::exchange(told_, true)) {
      announce_search(matrix_.rows(), panels_.bytes_missing - matrix_.bytes(), context);
    }
    search(context);
    return true;
  }
  complete(context);
  find_supernodes(context);
  phases_.finish(context);
  if (completion_.refuted()) {
    context.derived["refuted"] = 1;
    return false;
  }
  if (needs_rows()) find_rows(context);
  report(context);
  return true;
}

// Completes and counts the panels wave by wave. Digests and runs of columns are read off the
// masks of a wave before they are released.
void one_gpu::complete(run_context& context) {
  const index_t waves = waves_.count();
  if (waves > 1 && settings_.wants.has(want::supernodes)) {
    column_runs_ = {budget_, "column_runs", n_};
  }
  for (index_t k = 0; k < waves; ++k) {
    if (k > 0) phases_.mark(context, phase_id::schedule);
    const panel_range wave = waves_.begin(k, view_of(matrix_), panels_);
    context.check_deadline(k, waves);
    completion_.complete(panels_, wave, {rows_, n_, settings_.chunk_size, column_runs_.data()},
                         phases_, context);
  }
}

void one_gpu::find_supernodes(run_context& context) {
  phases_.mark(context, phase_id::supernode);
  if (!settings_.wants.has(want::supernodes)) return;
  if (waves_.count() > 1) {
    rows_.find_supernodes(column_runs{.last = column_runs_.data(), .sources = n_});
  } else if (!needs_rows()) {
    panels::find_supernodes(panels_.view(), rows_, settings_.chunk_size);
  }
}

// Counts by the elimination tree. Returns false, and gives back what it has taken, where the
// pattern does not admit it.
bool one_gpu::count_by_tree(run_context& context) {
  phases_.start(context, phase_id::traverse);
  rows_.start();
  tree_counts_.run(matrix_.rows(), {rows_.l_counts(), rows_.u_counts()},
                   {rows_.supernode_starts(), settings_.chunk_size});
  // The panels come next at once if the pattern is known not to be symmetric.
  const bool is_broken = tree_counts_.broken();
  if (!is_broken) phases_.finish(context);
  counted_by_tree_ = !is_broken && tree_counts_.exact();
  if (!counted_by_tree_) {
    tree_counts_.release();
    return false;
  }
  context.check_deadline();
  context.derived["symmetric"] = context.derived["counted_by_tree"] = 1;
  context.device_peak_bytes = budget_.peak();
  context.device_bytes = budget_.by_structure();
  return true;
}

void one_gpu::find_rows(run_context& context) {
  const panel_view panels = panels_.view();
  if (panels_.relabelled || !expand(panels, context)) {
    rows_by_bitmaps(panels, context);
  } else {
    rows_.add(panel_rows{.p = panels, .n = n_, .sources = n_}, context, true, true);
  }
}

// Finds all sorted rows at once; false where they do not fit.
bool one_gpu::expand(const panel_view& panels, run_context& context) {
  {
    const phase timed(context, phase_id::expand);
    if (!expansion_.run(panels, rows_.l_counts(), rows_.u_counts(), panels_.column_blocks,
                        budget_)) {
      return false;
    }
    synchronize();
  }
  context.derived["expanded"] = 1;
  holds_rows_ = settings_.leaves_on_device;
  if (holds_rows_) return true;
  const phase timed(context, phase_id::d2h);
  pattern l, u;
  expansion_.to_host(n_, settings_.threads, l, u);
  rows_.set_pattern(std::move(l), std::move(u));
  return true;
}

// Finds sorted rows by way of bitmaps, as many at a time as the budget holds.
void one_gpu::rows_by_bitmaps(const panel_view& panels, run_context& context) {
  const auto words = static_cast<std::size_t>(bytes_of_row() / 4);
  const offset_t fit = (budget_.limit() - budget_.used()) / bytes_of_row();
  const auto batch = static_cast<index_t>(std::clamp<offset_t>(fit, 1, n_));
  const device_array<std::uint32_t> bits{budget_, "row_bitmaps", bytes_of_row() / 4 * batch};
  for (index_t begin = 0, sources = 0; begin < n_; begin += sources) {
    context.check_deadline();
    sources = std::min(n_ - begin, batch);
    {
      const phase timed(context, phase_id::compact);
      fill_bytes(bits.data(), 0, bytes_of_row() / 4 * sources);
      set_row_bits(panels, begin, sources, words, bits.data());
      synchronize();
    }
    rows_.add(bitmap_rows{bits.data(), words, n_, begin, sources}, context, true);
  }
}

panel_limits one_gpu::limits() const {
  // Counts, digests and T3 supernodes are taken from a panel once; rows need all masks.
  const bool keeps = settings_.wants.has(want::pattern) || settings_.supernodal;
  const offset_t runs = settings_.wants.has(want::supernodes) ? 4 * offset_t{n_} : 0;
  return {.width = static_cast<index_t>(settings_.options.integer("panel_width")),
          .most_positions = tuning_.most_positions,
          .reserve = keeps ? bytes_of_row() : 0,
          .reserve_of_waves = runs,
          .waves = tuning_.waves && !keeps,
          .many_vertices = tuning_.many_vertices};
}

void one_gpu::search(run_context& context) {
  run_settings settings = settings_;
  if (settings.supernodal) settings.wants |= want::pattern;
  if (on_host_.row_ptr.empty()) on_host_ = copied_ = on_host(matrix_.rows());
  searched_.emplace().prepare(on_host_, settings);
  searched_->run(context);
  context.device_peak_bytes = budget_.peak();
  context.device_bytes = budget_.by_structure();
  context.derived["searched"] = 1;
}

void one_gpu::report(run_context& context) {
  context.check_deadline();
  const bool closed = completion_.closes(panels_);
  if (!closed) completion_.report(context);
  context.derived["symmetric"] = closed ? 1 : 0;
  context.derived["panels"] = panels_.panels;
  context.derived["positions"] = panels_.positions;
  context.derived["words"] = panels_.column_blocks;
  context.derived["longest_panel"] = panels_.longest;
  context.derived["relabelled"] = panels_.relabelled ? 1 : 0;
  context.derived["waves"] = waves_.count();
  context.derived["positions_held"] = panels_.held;
  context.device_peak_bytes = budget_.peak();
  context.device_bytes = budget_.by_structure();
}

// Gives back everything that prepare() and runs have taken, on the device where it lies.
void one_gpu::give_back() {
  const on_device there(device_ < 0 ? thread_device() : device_);
  clear();
  rows_ = {};
  panels_ = {};
  completion_ = {};
  tree_counts_.release();
  matrix_ = {};
  phases_.clear();
  device_ = -1;
}

// Gives back the memory and the results of the last run.
void one_gpu::clear() {
  searched_.reset();
  holds_rows_ = counted_by_tree_ = false;
  column_runs_ = {};
  expansion_.release();
  waves_.release();
  panels_.release();
}

}  // namespace gsofa::panels

#endif
