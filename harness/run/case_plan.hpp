#pragma once

#include <string>
#include <vector>

#include "harness/run/runner.hpp"

namespace gsofa {

/// What the user asks of `run`, or a [[case]] of an experiment says, in addition to the matrix.
struct case_options {
  std::vector<std::string> variants{};  ///< as select_variants(); empty: all but planted ones
                                        ///< and those of an order of their own
  std::vector<std::string> wants{};     ///< empty: what each can give of counts, digest, supernodes
  std::vector<std::string> sets{};      ///< "key=value" or "variant.key=value"; "key=a,b": each
  int threads = 0;                      ///< 0: as many as this process may use
  index_t chunk_size = 128;
  trial_plan trials{};
  bool skip_unavailable = false;     ///< named variants that this machine lacks are skipped too
};

/// A case to run, or to report as skipped.
struct planned_case {
  case_request request;
  std::string skip_reason;  ///< empty: the case runs
};

/// Resolves names and options before anything runs. If a pattern, a device or the default selected
/// a variant that is unavailable or does not provide the requested results, its case is skipped.
/// Throws input_error for an unknown variant, option or value, for a variant that was named and
/// does not provide the requested results, and for more than 10,000 combinations of values of one
/// variant's options. Throws unavailable_error (without skip_unavailable) for a variant that was
/// named and is unavailable on this machine or runs in one process only while the job has several
/// ranks, and for a selection of which no variant can run.
std::vector<planned_case> plan_cases(const case_options& options);

}  // namespace gsofa
