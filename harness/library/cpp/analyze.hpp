#pragma once

// The public functions for a pattern in any form.

#include "gsofa/gsofa.hpp"
#include "harness/library/cpp/elimination_input.hpp"
#include "harness/library/cpp/input.hpp"

namespace gsofa::library {

/// Analyzes a pattern under supervision, in the storage of `w` and `out`. Throws what
/// rethrow_for_caller() takes.
void analyze_into(const given_pattern& given, const analysis_options& options, workspace& w,
                  analysis& out);

/// analyze(), estimate(), order() and profile() of gsofa.hpp.
analysis analyze_given(const given_pattern& a, const analysis_options& options);
fill_estimate estimate_given(const given_pattern& a, const analysis_options& options);
pattern_order order_given(const given_pattern& a, const order_options& options);
fill_profile profile_given(const given_pattern& a, std::int32_t cells,
                           const analysis_options& options);

/// A pattern in device memory, copied to the host. Throws analysis_error (unavailable).
pattern copy_of_device_rows(const given_pattern& a);

}  // namespace gsofa::library
