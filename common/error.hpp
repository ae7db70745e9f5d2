#pragma once

#include <stdexcept>
#include <string>

namespace gsofa {

/// Exit statuses of the `gsofa` program.
enum class exit_code : int {
  ok = 0,
  verification_failed = 1,  ///< at least one result was refuted
  bad_input = 2,            ///< bad option, unreadable or unusable matrix, unknown variant
  unavailable = 3,          ///< this build or machine lacks something that was named
  run_failed = 4,           ///< at least one case ended in timeout, oom or error
};

/// Base of every error that is reported to the user as one line on stderr.
class error : public std::runtime_error {
 public:
  error(exit_code code, const std::string& message) : std::runtime_error(message), code_(code) {}
  [[nodiscard]] exit_code code() const { return code_; }

 private:
  exit_code code_;
};

/// The input (file, option, matrix) is wrong; the message names the file, line and reason.
class input_error : public error {
 public:
  explicit input_error(const std::string& message) : error(exit_code::bad_input, message) {}
};

/// A number exceeds its integer type; the message names both.
class overflow_error : public input_error {
 public:
  explicit overflow_error(const std::string& message) : input_error(message) {}
};

/// The caller cancelled the run (run_context::stop).
class cancelled_error : public error {
 public:
  cancelled_error() : error(exit_code::run_failed, "cancelled by the caller") {}
};

/// A library, device or file that the request needs is absent; the message says how to get it.
class unavailable_error : public error {
 public:
  explicit unavailable_error(const std::string& message) : error(exit_code::unavailable, message) {}
};

/// A run exceeded its deadline (status `timeout`).
class timeout_error : public error {
 public:
  explicit timeout_error(const std::string& message) : error(exit_code::run_failed, message) {}
};

/// A memory budget cannot be met (status `oom`).
class budget_error : public error {
 public:
  explicit budget_error(const std::string& message) : error(exit_code::run_failed, message) {}
};

}  // namespace gsofa
