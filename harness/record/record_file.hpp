#pragma once

#include <chrono>
#include <filesystem>
#include <set>
#include <string>

#include "harness/record/record.hpp"
#include "harness/record/run_header.hpp"

namespace gsofa {

/// How long writers wait for the lock of a file of records.
inline constexpr std::chrono::milliseconds patience_of_records = std::chrono::seconds(30);

/// An append-only JSON Lines file of records.
class record_file {
 public:
  /// Creates the file and its folder if absent; throws input_error if it cannot be written, as
  /// refuse_other_text(), or if its last line is not terminated. patience: for a lock that another
  /// process holds; then input_error names that process.
  explicit record_file(std::filesystem::path file,
                       std::chrono::milliseconds patience = patience_of_records);
  /// Appends the record whole or not at all, under a lock, so that processes may share the file; it
  /// is on the disk when this returns (fsync). Throws error (run_failed) if the device does
  /// not take it, or after an unterminated line.
  /// Before the first record of a run stands its header (record_writer).
  void append(const json& record);
  [[nodiscard]] const std::filesystem::path& path() const { return file_; }

 private:
  std::filesystem::path file_;
  std::chrono::milliseconds patience_;
  record_writer writer_;
};

/// Throws input_error if `file` is a regular file whose text does not begin with a record: records
/// are not appended to a matrix, a log or a program.
void refuse_other_text(const std::filesystem::path& file);

/// Keys of the records in a file.
struct record_keys {
  std::set<std::string> done;     ///< of finished cases: neither skipped nor ended by an error
  std::set<std::string> skipped;  ///< of skipped cases: if skipped again, they get no second record
};

/// The keys of the records in `file`; none if the file is absent. A last line that is cut off is
/// passed over. Throws input_error naming the line that is not a record.
record_keys recorded_keys(const std::filesystem::path& file);

/// Repairs a file whose writer was killed while it appended: drops an incomplete record at the end
/// of `file`, or terminates a complete one. Returns what was done, in one line; empty if the file
/// is absent or every line is terminated. Throws input_error if the last line is not part of a
/// record.
std::string mend_last_line(const std::filesystem::path& file);

}  // namespace gsofa
