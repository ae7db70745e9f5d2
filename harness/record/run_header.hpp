#pragma once

#include <map>
#include <optional>
#include <string>

#include "harness/record/record.hpp"

namespace gsofa {

/// Writes the records of a process as lines that are short: the fields that all of them share are
/// on a line of their own, the run header.
class record_writer {
 public:
  /// The lines of `record`, each with its line end: its own fields, and before the first record of
  /// a run the header of this run. An object without "run_id" is one line as it is.
  std::string lines_of(const json& record);

 private:
  std::string run_id_;  // of the last header
};

/// Reads what record_writer wrote, from one file or several that were joined.
class record_reader {
 public:
  /// The record of a line with all its fields; nothing if the line is a run header. A line that has
  /// all its fields is returned as it is. Throws input_error if the header of a line is not among
  /// the lines before it.
  std::optional<json> record_of(json line);

 private:
  std::map<std::string, json> headers_;  // by run_id
};

}  // namespace gsofa
