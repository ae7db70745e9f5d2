#pragma once

#include <functional>
#include <optional>
#include <string>

#include "common/device_rows.hpp"
#include "common/run_context.hpp"
#include "common/variant.hpp"
#include "gsofa/gsofa.hpp"
#include "harness/library/cpp/elimination_input.hpp"
#include "harness/library/cpp/progress.hpp"

namespace gsofa::library {

/// Empties `out` for a pattern of order n; what `w` may use again goes there.
void begin_result(index_t n, workspace& w, analysis& out);

/// Runs a variant on e.a or, if that is not null, on `there`. Sets w.found, the results in other
/// forms than rows, and the seconds of `out`.
void run_variant(const variant_info& info, const elimination_input& e, const foreign_rows* there,
                 const analysis_options& options, workspace& w, run_context& context,
                 supervision& s, analysis& out);

/// Runs a variant on e.a and moves all results to `out`.
void factorize(const variant_info& info, const elimination_input& e,
               const analysis_options& options, workspace& w, supervision& s, analysis& out);

/// Calls `run`, which runs a variant on the device; returns why it failed if the host may still
/// succeed.
std::optional<std::string> failure_of_device(const variant_info& info, workspace& w,
                                             const std::function<void()>& run);

}  // namespace gsofa::library
