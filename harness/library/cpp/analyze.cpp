#include "harness/library/cpp/analyze.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/device_rows.hpp"
#include "common/error.hpp"
#include "common/parallel.hpp"
#include "common/variant.hpp"
#include "harness/library/cpp/clock.hpp"
#include "harness/library/cpp/errors.hpp"
#include "harness/library/cpp/factorize.hpp"
#include "harness/library/cpp/options.hpp"
#include "harness/library/cpp/progress.hpp"
#include "harness/library/cpp/results.hpp"
#include "variants/orderings/choose.hpp"

namespace gsofa::library {

namespace {

// Whether the device does all of the analysis of a pattern with `rows` rows: its own order is
// requested or automatic, and no result needs the permuted pattern on the host.
bool device_does_all(const analysis_options& options, bool on_device, index_t rows) {
  const bool orders_there =
      options.order == order_method::gpu_nested_dissection || is_for_device_order(options, rows);
  const bool factorizes_there = options.variant.empty() || options.variant == "gpu_bitmap_panels";
  return on_device && rows > 0 && orders_there && factorizes_there && options.relax == 1 &&
         options.relaxed.empty() && !options.tree && !find_variant(device_analysis).unavailable();
}

// Whether the device may do all of this pattern: the host matches rows or adds missing diagonal
// entries, and a diagonal matrix needs no analysis. Minimum degree takes rows on the host.
bool suits_device(const checked_input& in, const analysis_options& options) {
  const bool is_diagonal = in.a.nnz() == in.a.n_rows - in.missing;
  if (options.order == order_method::automatic &&
      orders::takes_minimum_degree(in.a, options.purpose.factorizations)) {
    return false;
  }
  return !is_diagonal && in.missing == 0;
}

// The order of w.found as one of the vertices of e.
void take_order(elimination_input& e, workspace& w) {
  w.order = std::move(w.found.col_order);
  e.row_of.clear();
}

// Orders, permutes and factorizes e.a, or `there`, on the device.
void analyze_on_device(elimination_input& e, const foreign_rows* there,
                       const analysis_options& options, workspace& w, supervision& s,
                       analysis& out) {
  run_context context;
  context.say = [&](const std::string& line) { s.say(std::string(device_analysis) + ": " + line); };
  run_variant(find_variant(device_analysis), e, there, options, w, context, s, out);
  auto since = clock::now();
  for (const auto& [phase, seconds] : context.phases.seconds()) {
    if (phase != "sort" && phase != "order" && phase != "permute") continue;
    out.order_seconds += seconds;
    out.analysis_seconds -= seconds;
  }
  out.order = device_order;
  if (options.order == order_method::automatic) {
    out.order += std::string(":") + orders::options_on_device;
  }
  out.variant = "gpu_bitmap_panels";
  out.nnz_a = context.derived.at("entries");
  take_order(e, w);
  number_all(e, w, out);
  give(options, w, out);
  out.output_seconds += lap(since);
}

// The same for e.a. Returns false if the host has to analyze: after a failure of the device, and
// for a singular pattern, whose fault the host names.
bool try_all_on_device(elimination_input& e, const analysis_options& options, workspace& w,
                       supervision& s, analysis& out) {
  try {
    const auto reason = failure_of_device(find_variant(device_analysis), w, [&] {
      analyze_on_device(e, nullptr, options, w, s, out);
    });
    if (!reason) return true;
    fall_back(*reason, s, out);
  } catch (const input_error&) {
    w.made = nullptr;
    w.kept.reset();
  }
  return false;
}

void report(const analysis& found, supervision& s) {
  s.say("order " + found.order + ": " + std::to_string(found.order_seconds) + " s; " +
        found.variant + ": " + std::to_string(found.setup_seconds + found.analysis_seconds) +
        " s; nnz(L) " + std::to_string(found.nnz_l) + ", nnz(U) " + std::to_string(found.nnz_u));
}

// Analyzes compressed rows on the host or, where it does all, on the device. `since`: when the
// reading of the pattern began.
void analyze_rows(const checked_input& given, clock::time_point since,
                  const analysis_options& options, workspace& w, supervision& s, analysis& out) {
  check_options(options, given.a.n_rows);
  const checked_input in = whole_matrix(given, options, w.whole);
  if (w.updates.on) check_previous(w.updates, in.a.n_rows);
  const std::vector<const variant_info*> candidates = choose_variants(options);
  begin_result(in.a.n_rows, w, out);
  if (options.symmetric == stored_triangle::both) out.warning = triangle_warning(in.a);
  if (!out.warning.empty()) s.say(out.warning);
  const bool on_device = candidates.front()->device == "gpu";
  elimination_input e;
  e.a = in.a;
  if (!w.updates.on && device_does_all(options, on_device, e.a.n_rows) &&
      suits_device(in, options)) {
    out.order_seconds = lap(since);
    if (try_all_on_device(e, options, w, s, out)) return report(out, s);
    e.row_of.clear();
  }
  permute_for_elimination(in, options, on_device, e, w, s, out);
  if (w.updates.on && w.updates.counts) {
    out.order_seconds = lap(since);
    s.enter(analysis_stage::output);
    out.variant = candidates.front()->name;
    give_counts(options, w.updates, out);
    out.output_seconds = lap(since);
    return report(out, s);
  }
  relax(options, e, w);
  if (options.tree) find_tree(e, out);
  out.order_seconds = lap(since);
  if (candidates.size() > 1) {
    const auto reason = failure_of_device(
        *candidates.front(), w, [&] { factorize(*candidates.front(), e, options, w, s, out); });
    if (!reason) return report(out, s);
    fall_back(*reason, s, out);
  }
  factorize(*candidates.back(), e, options, w, s, out);
  report(out, s);
}

foreign_rows rows_there(const given_pattern& a) {
  return {.n = a.n,
          .nnz = a.index_count,
          .row_ptr = a.pointers,
          .col_idx = a.indices,
          .long_row_ptr = a.long_pointers,
          .long_col_idx = a.long_indices,
          .stream = a.stream};
}

// The order of a pattern in device memory.
index_t order_there(const foreign_rows& there) {
  if (there.n < 0) {
    throw input_error("pattern: order " + std::to_string(there.n) + " is negative");
  }
  return narrow<index_t>(there.n, "pattern: order");
}

const variant_info& variant_for_device_rows() {
  const variant_info& info = find_variant(device_analysis);
  if (const auto reason = info.unavailable()) {
    throw analysis_error(failure::unavailable, "a pattern in device memory: " + *reason);
  }
  return info;
}

pattern fetched(const foreign_rows& there, const variant_info& info) {
  return there.n == 0 ? pattern() : dynamic_cast<takes_foreign_rows&>(*info.create()).fetch(there);
}

// Analyzes a pattern in device memory: there, or a copy of it on the host.
void analyze_there(const foreign_rows& there, const analysis_options& given, workspace& w,
                   supervision& s, analysis& out) {
  analysis_options options = given;
  options.purpose = purpose_there(given.purpose);
  const auto since = clock::now();
  const index_t n = order_there(there);
  check_options(options, n);
  const variant_info& info = variant_for_device_rows();
  const bool on_device = choose_variants(options).front()->device == "gpu";
  std::optional<std::string> failed;
  if (options.match && options.symmetric == stored_triangle::both && !w.updates.on &&
      device_does_all(options, on_device, n)) {
    begin_result(n, w, out);
    elimination_input e;
    failed = failure_of_device(info, w, [&] { analyze_on_device(e, &there, options, w, s, out); });
    if (!failed) return report(out, s);
    s.say(*failed);
  }
  const pattern copy = fetched(there, info);
  s.say("the pattern was copied to the host");
  analyze_rows(read(given_pattern(csr_view{copy.n_rows, copy.row_ptr, copy.col_idx}), w.arrays),
               since, options, w, s, out);
  if (failed) out.fallback = *failed + (out.fallback.empty() ? "" : "; " + out.fallback);
}

}  // namespace

pattern copy_of_device_rows(const given_pattern& a) {
  const foreign_rows there = rows_there(a);
  order_there(there);
  return fetched(there, variant_for_device_rows());
}

void analyze_into(const given_pattern& given, const analysis_options& options, workspace& w,
                  analysis& out) {
  given_pattern a = given;
  a.first_index = options.first_index;
  const auto work = [&](supervision& s) {
    const auto since = clock::now();
    // An update has many short pieces of work for threads.
    const int threads = w.updates.on ? host_threads(options) : 1;
    const kept_threads kept(threads);
    switch (a.of) {
      case given_pattern::form::rows:
        return analyze_rows(read(a, w.arrays, threads), since, options, w, s, out);
      case given_pattern::form::columns:
        return analyze_rows(input_rows(a).in, since, options, w, s, out);
      case given_pattern::form::device_rows:
        return analyze_there(rows_there(a), options, w, s, out);
    }
  };
  supervise(options, work);
}

analysis analyze_given(const given_pattern& a, const analysis_options& options) {
  return reporting([&] {
    const auto out = left_in_child<analysis>();
    const auto w = left_in_child<workspace>();
    analyze_into(a, options, *w, *out);
    return std::move(*out);
  });
}

}  // namespace gsofa::library
