// A part of the panels on one device, and the join of all parts on the first device.

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include <algorithm>
#include <limits>

#include "variants/device/devices.hpp"
#include "variants/panels/lists_device.hpp"
#include "variants/panels/masks_device.hpp"
#include "variants/panels/positions_device.hpp"
#include "variants/panels/runs/build.hpp"
#include "variants/panels/runs/parts.hpp"
#include "variants/panels/runs/search.hpp"

namespace gsofa::panels {

void panel_part::prepare(const part_job& job, int on_one, bool is_first) {
  const index_t n = job.a.n_rows;
  budget.set_limit(std::numeric_limits<offset_t>::max());
  matrix.upload(job.a, budget);
  const std::int64_t megabytes = job.settings.options.integer("memory_budget_mb");
  const offset_t limit =
      megabytes > 0 ? megabytes << 20 : current_limits().free_bytes / 4 * 3 / on_one;
  budget.set_limit(limit + budget.used());
  run_settings of_part = job.settings;
  if (!is_first) of_part.wants = of_part.wants.without(want::supernodes);
  rows.prepare(n, of_part, budget);
  panels.prepare(n, budget, job.parts);
  completion.prepare(n, job.tuning.elimination, budget);
}

bool panel_part::run(const part_job& job, std::size_t k, closing_masks closing,
                     run_context& context) {
  release();
  phases.start(context, phase_id::schedule);
  rows.start();
  completion.begin(closing);
  bool is_done = false;
  try {
    if (build(job, k, context)) {
      if (job.wants_runs()) {
        runs = {budget, "column_runs", job.a.n_rows};
        fill_bytes(runs.data(), 0xff, job.a.n_rows);
      }
      completion.complete(panels, own_, counted(job), phases, context);
      phases.mark(context, phase_id::comm);
      packed = pack(panels, top, kinds_, budget);
      is_done = true;
    }
  } catch (const budget_error&) {
    // The device itself may have less than the budget.
  } catch (...) {
    // The next run may be one of another host thread, which would not wait for these launches.
    drain();
    throw;
  }
  phases.finish(context);
  if (!is_done) release();
  return is_done;
}

// The stages up to the masks of A, of the panels that the part holds.
bool panel_part::build(const part_job& job, std::size_t k, run_context& context) {
  const panel_limits limits = job.limits();
  const matrix_view a = view_of(matrix);
  if (!find_panels(a, panels, limits, budget, [&] { divide(job, k); })) return false;
  hold_rows(job, k);
  panels.kind = {budget, "parts", panels.panels};
  copy_to_device(panels.kind.data(), kinds_.data(), panels.panels);
  if (division.cut[k] == division.cut[k + 1]) {
    panels.column_blocks = panels.positions = 0;
    panels.longest = 0;
    return true;
  }
  std::vector<matrix_view> entries;
  for (const row_range& r : ranges_) {
    entries.push_back(entries_of(a.row_ptr, a.col_idx, a.n, r.first_entry, r.end_of_entries));
  }
  return enter_lists(panels, limits, budget, context,
                     [&] { find_lists(entries, panels, limits, budget, false); }) &&
         fill(panels, limits, budget, [&] {
           write_positions(panels);
           set_masks(entries, panels);
         });
}

void panel_part::divide(const part_job& job, std::size_t k) {
  const index_t count = panels.panels;
  begin_.resize(at(count) + 1);
  parent_.resize(at(count));
  copy_to_host(begin_.data(), static_cast<const index_t*>(panels.begin.data()),
               offset_t{count} + 1);
  copy_to_host(parent_.data(), static_cast<const index_t*>(panels.panel_parent.data()), count);
  division = divide_panels(begin_, parent_, job.parts);
  top = top_of(division, begin_, parent_);
  kinds_ = kinds_of_part(division, parent_, k);
  own_ = {division.cut[k], division.cut[k + 1]};
  while (own_.begin < own_.end && kinds_[at(own_.begin)] != panel_kind::own) ++own_.begin;
}

// An entry belongs to the row of its larger vertex or to that of its smaller one: to a row of a
// panel that the part holds, since it holds all ancestors. Labels are in another order.
void panel_part::hold_rows(const part_job& job, std::size_t k) {
  ranges_.clear();
  const auto add = [&](index_t first, index_t last) {
    if (first == last) return;
    const offset_t end = job.a.row_ptr[at(last)];
    if (!ranges_.empty() && ranges_.back().end == first) {
      ranges_.back().end = last;
      ranges_.back().end_of_entries = end;
    } else {
      ranges_.push_back({first, last, job.a.row_ptr[at(first)], end});
    }
  };
  if (panels.relabelled) return add(0, job.a.n_rows);
  const index_t end = division.cut[k + 1];
  add(begin_[at(division.cut[k])], begin_[at(end)]);
  constexpr std::size_t most_ranges = 16;
  for (index_t j = end > 0 ? parent_[at(end) - 1] : -1; j >= 0; j = parent_[at(j)]) {
    add(begin_[at(j)], begin_[at(j) + 1]);
    if (ranges_.size() < most_ranges) continue;
    add(begin_[at(j) + 1], job.a.n_rows);
    break;
  }
}

bool panel_part::join_top(const part_job& job, std::span<const packed_panels* const> parts,
                          panel_arrays& joined, run_context& context) {
  const panel_limits limits = job.limits();
  joined.release();
  take_top(joined, panels, top, budget);
  offset_t blocks = 0;
  for (const packed_panels* part : parts) blocks += part->blocks();
  while (joined.capacity < list_tuning::least_capacity + 2 * blocks) joined.capacity *= 2;
  const auto masks_of_parts = [&] {
    write_positions(joined);
    for (const packed_panels* part : parts) join_masks(*part, joined);
  };
  if (!enter_lists(joined, limits, budget, context, [&] { join_lists(parts, joined); }) ||
      !fill(joined, limits, budget, masks_of_parts)) {
    return false;
  }
  completion.complete(joined, {0, joined.panels}, counted(job), phases, context);
  // The packed panels are read until then.
  synchronize();
  return true;
}

void panel_part::release() {
  packed = {};
  runs = {};
  panels.release();
}

part_results::part_results(std::span<const row_range> held, const part_job& job,
                           memory_budget& budget)
    : ranges(held.begin(), held.end()) {
  offset_t count = 0;
  for (const row_range& r : ranges) count += r.end - r.begin;
  l = {budget, "fetched", count};
  u = {budget, "fetched", count};
  if (job.settings.wants.has(want::digest)) digests = {budget, "fetched", count};
  if (job.wants_runs()) runs = {budget, "fetched", count};
}

void add_results(const part_results& from, panel_part& first) {
  const row_results& to = first.rows;
  offset_t begin = 0;
  for (const row_range& r : from.ranges) {
    const offset_t count = r.end - r.begin;
    add_counts(count, from.l.data() + begin, to.l_counts() + r.begin);
    add_counts(count, from.u.data() + begin, to.u_counts() + r.begin);
    if (from.digests.size() > 0) {
      add_digests(count, from.digests.data() + begin, to.digests() + r.begin);
    }
    if (from.runs.size() > 0)
      join_runs(count, from.runs.data() + begin, first.runs.data() + r.begin);
    begin += count;
  }
}

std::unique_ptr<variant> run_on_one_device(const part_job& job, run_context& context) {
  const option_set& o = job.settings.options;
  auto alone = run_instead("gpu_bitmap_panels", job.a, job.settings,
                           {{"panel_width", o.integer("panel_width")},
                            {"memory_budget_mb", o.integer("memory_budget_mb")}},
                           context);
  context.derived["alone"] = 1;
  return alone;
}

}  // namespace gsofa::panels

#endif
