#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "common/preprocess.hpp"
#include "common/variant.hpp"
#include "harness/library/cpp/analyze.hpp"
#include "harness/library/cpp/errors.hpp"
#include "harness/library/cpp/options.hpp"
#include "harness/library/cpp/progress.hpp"
#include "harness/library/cpp/results.hpp"

namespace gsofa::library {

namespace {

fill_profile profile_supervised(const given_pattern& a, std::int32_t cells,
                                const analysis_options& options, supervision& s) {
  const input_rows rows(a);
  check_options({.threads = options.threads,
                 .memory_budget_mb = options.memory_budget_mb,
                 .symmetric = options.symmetric,
                 .order = order_method::natural,  // no order is computed, METIS not loaded
                 .progress = options.progress,
                 .progress_seconds = options.progress_seconds},
                rows.in.a.n_rows);
  pattern whole;
  const checked_input in = whole_matrix(rows.in, options, whole);
  const pattern with = in.missing > 0 ? with_diagonal(in.a) : pattern{};
  const pattern_view p = in.missing > 0 ? with : in.a;
  fill_profile out;
  out.parent = elimination_tree_of_sum(p, transpose(p));
  const variant_info& info = public_variant("cpu_bitmap_panels");
  const run_settings settings = settings_for(info, options);
  s.enter(analysis_stage::analyze);
  run_context context;
  context.probe = &s.probe;
  context.stop = &s.stop;
  const std::unique_ptr<variant> v = info.create();
  v->prepare(p, settings, context);
  out.u_row_counts = run_once(*v, want::counts, context).u_row_counts;
  s.enter(analysis_stage::output);
  factor_profile found = v->profile(std::min(cells, p.n_rows));
  out.l_col_counts = std::move(found.l_col_counts);
  out.cells = found.cells;
  out.density = std::move(found.density);
  out.flops = operations(out.l_col_counts, out.u_row_counts);
  return out;
}

}  // namespace

fill_profile profile_given(const given_pattern& a, std::int32_t cells,
                           const analysis_options& options) {
  return reporting([&] {
    if (cells < 0 || cells > 8192) {
      throw invalid_input("cells: " + std::to_string(cells) + " is not in [0, 8192]");
    }
    const auto out = left_in_child<fill_profile>();
    supervise(options, [&](supervision& s) { *out = profile_supervised(a, cells, options, s); });
    return std::move(*out);
  });
}

}  // namespace gsofa::library
