#pragma once

#include <filesystem>
#include <set>
#include <string>

#include "harness/record.hpp"

namespace gsofa {

/// An append-only JSON Lines file of records.
class record_file {
 public:
  /// Creates the file and its folder if absent; throws input_error if it cannot be written.
  explicit record_file(std::filesystem::path file);
  /// Appends one line with a single write(), so that processes may share the file.
  void append(const json& record) const;
  [[nodiscard]] const std::filesystem::path& path() const { return file_; }

 private:
  std::filesystem::path file_;
};

/// Keys of the records in `file` that need no repetition (all but skipped ones); empty if the file
/// is absent. Throws input_error naming the line that is not a record.
std::set<std::string> recorded_keys(const std::filesystem::path& file);

}  // namespace gsofa
