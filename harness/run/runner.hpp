#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/prepared.hpp"
#include "common/variant.hpp"
#include "harness/run/machine.hpp"
#include "harness/run/status.hpp"
#include "harness/run/status_line.hpp"
#include "harness/run/verifier.hpp"

namespace gsofa {

/// How often a case is run.
struct trial_plan {
  int repeat = 3;      ///< timed runs, each verified
  int warmup = 1;      ///< runs of another pattern before each of them
  double timeout = 0;  ///< seconds for each run; 0: none
  /// The runs of a case take turns with those of the other cases of its matrix, in both directions
  /// alternately; a case whose runs take long_run or more has fewest_repeats of them at most.
  bool interleave = false;
  /// More runs follow until median_uncertainty() is at most this, or most_repeats are done; 0:
  /// none.
  double until = 0;

  static constexpr int most_repeats = 101;
  static constexpr double long_run = 1;  ///< seconds
  static constexpr int fewest_repeats = 3;
};

/// One variant with all its settings, ready to run on one matrix.
struct case_request {
  const variant_info* info = nullptr;
  run_settings settings;  ///< the wants are those of the user
  trial_plan trials;
};

/// What became of a case.
struct case_outcome {
  judgement judged;
  std::string verify_mode = "none";
  double verify_seconds = 0;
  want_set wants;  ///< as passed to prepare(): also those of verification
  /// Wall time of each timed run, in order, each of an object of its own.
  std::vector<double> samples_s;
  /// Of each sample: construction and prepare() before it, which allocate and upload, and collect()
  /// after it, which downloads `wants`.
  std::vector<double> prepare_s, collect_s;
  /// True if the first sample is of the first run of this process, which also creates the context
  /// of the GPU, starts threads and maps memory; false where a warm-up or another case ran before.
  bool first_in_process = false;
  std::map<std::string, double> phases_s;  ///< of the median sample
  std::map<std::string, std::int64_t> predicted_bytes;
  std::map<std::string, std::int64_t> device_bytes;  ///< largest allocation by data structure
  std::int64_t device_peak_bytes = 0;
  std::optional<std::int64_t> host_peak_bytes;  ///< growth during prepare, run and collect
  work_counters counters;
  std::map<std::string, std::int64_t> derived;  ///< run_context::derived
  std::string layout;                           ///< run_context::layout
  /// Several ranks: phases of the median sample by rank, on rank 0.
  std::vector<std::map<std::string, double>> rank_phases_s;
  std::optional<result> last;  ///< of the last run that returned
  machine_state before;        ///< when the first run began, warm-ups included
  machine_state after;         ///< when the last one had been verified
};

/// True of a case that ran and was not refuted.
bool is_well(const case_outcome& outcome);
/// True if the last run took trial_plan::long_run or more.
bool takes_long(const case_outcome& outcome);
/// True if an interleaved case ends with this outcome of its round-th run, counted from 1.
bool is_last_round(const trial_plan& trials, int round, const case_outcome& outcome);

/// One outcome of a case whose runs were judged one by one, in their order; `rounds` must not be
/// empty. Peaks are the largest, phases those of the median sample; the last round has the status.
case_outcome merged(const std::vector<case_outcome>& rounds);

/// Number of the (lower) median sample; samples must not be empty.
std::size_t median_index(const std::vector<double>& samples);

/// The larger distance from the median to an end of its 95 % interval, divided by the median. Order
/// statistics bound the interval without an assumption about the distribution. Infinite for fewer
/// than six samples.
double median_uncertainty(std::vector<double> samples);

/// Times patterns that are analysed for the first time in a warm process: warm-ups before each
/// timed run analyse another pattern, a small grid; every run has a variant object of its own,
/// constructed and prepared off the clock; every result is verified off the clock. Exceptions
/// become a status. In the counting build the case runs once and its time is dropped.
///
/// Collective for distributed variants in a job of several ranks: rank 0 verifies and knows the
/// times, from a barrier before run() to one after it on its clock; status and reason are the same
/// on all ranks. No rank has the entire pattern: each row is verified on the rank that has
/// the row, against the counts and digests that rank 0 has verified.
///
/// Calls progress->step() and run() for every step, if `progress` is not null. The caller calls
/// begin().
///
/// A run that does not return max(5 s, timeout) after its deadline cannot be stopped: `on_hang` is
/// then called, from another thread, with what is known, and the process ends with status 4.
case_outcome run_case(const prepared_pattern& a, const case_request& request, verifier& check,
                      const std::function<void(const case_outcome&)>& on_hang,
                      case_progress* progress = nullptr);
/// Runs that run_case() does of a case, warm-ups included.
int runs_of(const trial_plan& trials);

/// A case that is not run.
case_outcome skipped_case(const std::string& reason);

}  // namespace gsofa
