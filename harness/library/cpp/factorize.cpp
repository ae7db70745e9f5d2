#include "harness/library/cpp/factorize.hpp"

#include <utility>

#include "common/error.hpp"
#include "common/mask_pattern.hpp"
#include "common/supernodal.hpp"
#include "harness/library/cpp/clock.hpp"
#include "harness/library/cpp/options.hpp"
#include "harness/library/cpp/results.hpp"

namespace gsofa::library {

namespace {

supernodal_pattern lists_of(supernodal_factors&& s) {
  return {std::move(s.first_column), std::move(s.row_begin), std::move(s.rows),
          std::move(s.segment_begin), std::move(s.segments)};
}

// The rows of an earlier analysis, for the next ones to be written in their place.
void lend_rows(csr_pattern& from, pattern& to) {
  to.row_ptr = std::move(from.row_ptr);
  to.col_idx = std::move(from.col_idx);
}

// The variant in `w`, a new one unless it is kept from the pattern before.
variant& variant_of(const variant_info& info, workspace& w) {
  if (w.made != &info) {
    w.made = nullptr;
    w.kept = info.create();
    w.made = &info;
  }
  return *w.kept;
}

void release_variant(workspace& w) {
  w.made = nullptr;
  w.kept.reset();
}

// Copies the results of a run out.
void collect(const run_settings& settings, leaves_device_results* leaves,
             const elimination_input& e, const analysis_options& options, mask_pattern& masks,
             workspace& w, analysis& out) {
  std::swap(out.l_row_counts, w.found.l_row_counts);
  std::swap(out.u_row_counts, w.found.u_row_counts);
  lend_rows(out.l, w.found.l);
  lend_rows(out.u, w.found.u);
  w.kept->collect_into(leaves != nullptr ? settings.wants.without(want::pattern) : settings.wants,
                       w.found);
  // If relaxed supernodes were shrunk to a vertex, the counts need the lists in any case.
  if (leaves != nullptr && (e.of.empty() || options.supernodal)) {
    return leave_on_device(*leaves, e, options, w.found, out);
  }
  const bool has_rows = settings.wants.has(want::pattern);
  if (options.masks) find_masks(has_rows, w, masks, out);
  if (options.supernodal || options.tree || !e.of.empty()) {
    find_supernodes_of_columns(e, options, has_rows, w, out);
  }
}

}  // namespace

void begin_result(index_t n, workspace& w, analysis& out) {
  out.n = n;
  out.diagonal_added = 0;
  out.update = {};
  out.fallback.clear();
  out.order_note.clear();
  out.warning.clear();
  if (w.keeps && !out.supernodal.first_column.empty())
    w.lists = lists_of(std::move(out.supernodal));
  out.supernodal = {};
  out.device_l = out.device_u = {};
  out.device_supernodal = {};
  out.parent.clear();
  out.l_col_counts.clear();
  out.flops = 0;
  out.order_seconds = out.setup_seconds = out.analysis_seconds = out.output_seconds = 0;
}

void run_variant(const variant_info& info, const elimination_input& e, const foreign_rows* there,
                 const analysis_options& options, workspace& w, run_context& context,
                 supervision& s, analysis& out) {
  auto since = clock::now();
  s.enter(analysis_stage::analyze);
  out.device_l = out.device_u = {};
  out.device_supernodal = {};
  context.probe = &s.probe;
  context.stop = &s.stop;
  variant& v = variant_of(info, w);
  run_settings settings = settings_for(info, options);
  auto* const leaves = options.device_memory ? dynamic_cast<leaves_device_results*>(&v) : nullptr;
  settings.leaves_on_device = leaves != nullptr;
  if (there == nullptr) {
    v.prepare(e.a, settings, context);
  } else {
    dynamic_cast<takes_foreign_rows&>(v).prepare_foreign(*there, settings, context);
  }
  out.setup_seconds = lap(since);
  if (!context.layout.empty()) s.say(info.name + ": " + context.layout);
  // The arrays of the last analysis serve again.
  mask_pattern masks;
  if (options.masks) {
    masks = {std::move(out.masks.first_vertex), std::move(out.masks.position_begin),
             std::move(out.masks.vertices), std::move(out.masks.masks)};
  }
  run_timed(v, context);
  out.analysis_seconds = lap(since);
  s.enter(analysis_stage::output);
  collect(settings, leaves, e, options, masks, w, out);
  if (!w.keeps) release_variant(w);
  out.output_seconds = lap(since);
}

void factorize(const variant_info& info, const elimination_input& e,
               const analysis_options& options, workspace& w, supervision& s, analysis& out) {
  out.variant = info.name;
  out.output_seconds = 0;
  if (e.a.n_rows == 0) {
    w.found = {};
    w.found.l.n_rows = w.found.u.n_rows = 0;
    s.enter(analysis_stage::output);
    if (options.supernodal) out.supernodal = {{0}, {0}, {}, {0}, {}};
    if (options.masks) out.masks = {{0}, {0}, {}, {}};
  } else {
    run_context context;
    context.say = [&](const std::string& line) { s.say(info.name + ": " + line); };
    run_variant(info, e, nullptr, options, w, context, s, out);
  }
  auto since = clock::now();
  give(options, w, out);
  if (options.tree) out.flops = operations(out.l_col_counts, out.u_row_counts);
  out.output_seconds += lap(since);
}

std::optional<std::string> failure_of_device(const variant_info& info, workspace& w,
                                             const std::function<void()>& run) {
  try {
    run();
    return std::nullopt;
  } catch (const input_error&) {
    throw;
  } catch (const cancelled_error&) {
    throw;
  } catch (const error& failed) {
    release_variant(w);
    return info.name + ": " + failed.what();
  }
}

}  // namespace gsofa::library
