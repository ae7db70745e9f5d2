#pragma once

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/record/record_file.hpp"
#include "harness/record/table.hpp"
#include "harness/run/case_plan.hpp"
#include "harness/run/interrupt.hpp"
#include "harness/run/status_line.hpp"

namespace gsofa {

/// Where results of a process go.
struct output_options {
  bool json = false;                  ///< records on stdout, and nothing else
  bool series = false;                ///< write per-source counters into records
  bool resume = false;                ///< leave out cases that `out` already has
  bool matrix_column = false;         ///< the table covers several matrices
  std::filesystem::path out;          ///< append records; empty: do not
  std::filesystem::path pattern_out;  ///< folder for L, U and permutations; empty: do not
  bool compress_patterns = false;     ///< their files are gzip'd
};

/// Runs cases, prints progress on stderr and results on stdout, appends records, and remembers how
/// it all ended. In a job of several ranks every rank has one and calls it alike; rank 0's prints
/// and records.
class case_session {
 public:
  case_session(session_info session, output_options output);

  /// Runs all cases on one matrix, sharing the truth that verification computes.
  void run(const prepared_pattern& a, const std::vector<planned_case>& cases, verify_mode verify);
  /// Counts cases that would all be skipped on a matrix, which then need not be prepared.
  void skip(const std::vector<planned_case>& cases);
  /// Counts cases on a matrix that was left out: nothing is reported of them.
  void leave_out(std::size_t cases) { expected_ -= std::min(cases, expected_); }
  /// Prints the table, unless records were asked for on stdout.
  void print_table() const;
  /// 1 after any fail, else 4 after any timeout, oom or error, else 0.
  [[nodiscard]] exit_code code() const;
  /// Cases by status.
  [[nodiscard]] const std::map<run_status, int>& totals() const { return totals_; }
  /// Cases left out because `out` already has them.
  [[nodiscard]] int resumed() const { return resumed_; }
  /// For progress lines "[3/90, 5 min left]"; 0: not known.
  void expect_cases(std::size_t count) { expected_ = count; }

 private:
  // After Ctrl-C: the table of what is done and the command for the rest.
  void stop_early() const;
  void report(const prepared_pattern& a, const planned_case& c, const case_outcome& outcome);
  void write_pattern(const prepared_pattern& a, const case_request& request,
                     const case_outcome& outcome) const;
  [[nodiscard]] std::string progress() const;
  [[nodiscard]] bool already_recorded(const prepared_pattern& a, const case_request& request) const;

  session_info session_;
  output_options output_;
  std::optional<record_file> file_;
  record_writer printed_;
  record_keys known_;  // with --resume
  text_table table_;
  std::map<std::string, std::set<std::string>> skipped_;  // variants by the reason
  std::map<run_status, int> totals_;
  int resumed_ = 0;
  int skipped_unseen_ = 0;
  std::size_t expected_ = 0;
  std::size_t done_ = 0;
  std::size_t skipped_here_ = 0;
  double load_ = 0;  // the largest before a case
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  case_progress progress_;
  std::optional<interrupt_guard> interrupts_;  // not in a job of several ranks
};

}  // namespace gsofa
