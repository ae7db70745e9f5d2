#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "harness/check/check_suite.hpp"
#include "harness/check/cross_check.hpp"
#include "harness/record/record.hpp"

namespace gsofa {

/// The outcome of one variant.
struct check_tally {
  const variant_info* info = nullptr;
  std::vector<check_setting> settings;
  std::string unavailable;
  std::int64_t runs = 0;
  std::int64_t large_passed = 0, large_timeouts = 0;
  std::int64_t bundled_passed = 0, bundled_unverified = 0, bundled_timeouts = 0;
  std::string failure;    ///< of the first one; empty: none
  bool finished = false;  ///< by its worker, on every pattern and matrix
  std::string report;     ///< of the failure, several lines for the user

  [[nodiscard]] bool planted() const { return !info->planted.empty(); }
  [[nodiscard]] bool is_out() const { return !unavailable.empty() || !failure.empty(); }
  /// As JSON: the numbers and texts, without the variant.
  [[nodiscard]] json to_json() const;
  void add(const json& part);
};

/// A tally for each selected variant. Throws input_error for an unknown variant or setting,
/// unavailable_error if a variant that was named cannot run.
std::vector<check_tally> choose_variants(const check_options& options);

/// Seconds after which a run on a small pattern with that time limit counts as hanging.
inline double hang_limit(double time_limit) { return 3 * time_limit + 1; }
/// Seconds for a run of this variant. A planted fault may keep a traversal from ending.
double run_limit(const check_tally& t, const check_plan& plan, std::size_t item);

/// Saves a counterexample as VARIANT.mtx in options.save; returns lines for the user: what fails,
/// the pattern if it is small, why an entry that is missing or too many is in L+U or not, and the
/// command that checks it again.
std::string report_counterexample(const check_options& options, const check_tally& t,
                                  const check_setting& s, const pattern& least,
                                  const std::string& what);

/// What a checker reports while it checks.
struct check_hooks {
  /// Before a variant runs: number of the pattern (beyond the plan: the matrix), of the setting,
  /// and the seconds after which it hangs; worker_page::none for a matrix that is loaded. Null: a
  /// watchdog ends the process.
  std::function<void(std::size_t item, std::size_t setting, double seconds)> begins{};
  /// Called on a failure, before its pattern is shrunk.
  std::function<void(const check_tally&)> failed{};
  /// Each oracle is compared with the others; else row_union is the truth.
  bool compare_oracles = true;
};

/// Checks variants in this process.
class variant_checker {
 public:
  /// All outlive this.
  variant_checker(const check_options& options, const check_plan& plan,
                  std::vector<check_tally>& tallies, check_hooks hooks = {});

  /// Checks all patterns and matrices from number `first` on. Returns true if nothing failed but
  /// planted variants.
  bool run(std::size_t first = 0);
  /// Compares the oracles on all patterns; true if they agree.
  static bool oracles_agree(const check_plan& plan);

 private:
  void check_pattern(std::size_t k);
  void check_setting_on(check_tally& t, std::size_t k, std::size_t s, const named_pattern& p,
                        const reference::truth& expected);
  void check_matrices(std::size_t first);
  void check_matrix_with_all(const check_matrix& m);
  void fail(check_tally& t, std::size_t item, std::size_t setting, const named_pattern& p,
            const std::string& why);
  bool is_out(const check_tally& t);

  const check_options& options_;
  const check_plan& plan_;
  std::vector<check_tally>& tallies_;
  check_hooks hooks_;
  bool failed_ = false;
  bool root_;
  std::mutex lock_;  // of the tallies and failed_ while patterns are checked
};

}  // namespace gsofa
