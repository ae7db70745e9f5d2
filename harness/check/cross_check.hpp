#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/variant.hpp"
#include "reference/verify_result.hpp"

namespace gsofa {

/// Settings of a variant that are worth a check of their own: defaults; each switch turned; each
/// word; integers at their smallest values; 2 threads; chunk sizes 0, 1, 2, 3; and all turned at
/// once. Each with a text that names what differs from the defaults.
struct check_setting {
  run_settings settings;
  std::string text;
};
std::vector<check_setting> settings_to_check(const variant_info& info);

/// Why a variant is wrong on a pattern.
struct refutation {
  std::string reason;
  bool timed_out = false;  ///< it did not answer in time; nothing is known of its answer
};

/// Runs the variant on `a` twice, each within `time_limit` seconds, and compares both results with
/// `expected`. Refuted if one is wrong or an exception escapes. Results of variants that are not
/// exact may be supersets. In a job of several ranks it is collective and takes distributed
/// variants only: rank 0 compares everything except the pattern, and all ranks return its verdict.
std::optional<refutation> refute(const variant_info& info, const run_settings& settings,
                                 const pattern& a, const reference::truth& expected,
                                 double time_limit = 20);

/// The truth of a pattern: by Boolean elimination up to order 300, else sparse_truth.
reference::truth small_truth(const pattern& a);
/// The truth by row unions.
reference::truth sparse_truth(const pattern& a);

/// Compares the oracles with each other on `a`: `expected` (of small_truth), prime-field
/// elimination (small orders only), row unions, and the certificate. Returns the first
/// disagreement.
std::optional<std::string> refute_oracles(const pattern& a, const reference::truth& expected);

}  // namespace gsofa
