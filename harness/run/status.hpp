#pragma once

#include <string>

namespace gsofa {

/// How a case ended; the words of the `status` field of a record.
enum class run_status { pass, fail, unverified, skipped, timeout, oom, error };

/// "pass", "fail", ...
const char* to_string(run_status status);

/// A status with its reason; the reason is one line and empty for pass.
struct judgement {
  run_status status = run_status::pass;
  std::string reason{};
};

/// `text` on one line of a terminal: line breaks and tabs become spaces, the rest is printable().
std::string one_line(std::string text);

/// How a process ended, by the number of a signal or its status: "ends by signal 11 (Segmentation
/// fault)", "ends with status 0".
std::string text_of_end(bool by_signal, int number);

}  // namespace gsofa
