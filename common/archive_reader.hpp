#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "common/byte_source.hpp"

namespace gsofa {

/// Members of a .tar or .zip archive, or the content of a compressed file, read by libarchive. A
/// compressed .tar is an archive.
class archive_reader {
 public:
  /// Fills the span; fewer bytes only at the end.
  using source = std::function<std::size_t(std::span<char>)>;

  /// `kind`: kind of the first bytes of `bytes`; `name` begins every message. Throws
  /// unavailable_error if this build lacks libarchive, or if libarchive lacks the kind of
  /// compression.
  archive_reader(source bytes, wrapping kind, std::string name);
  /// Why this build or machine cannot read archives; "" if it can.
  static std::string unavailable();
  ~archive_reader();
  archive_reader(const archive_reader&) = delete;
  archive_reader& operator=(const archive_reader&) = delete;

  /// Goes to the next member that is a regular file and sets its path; false after the last. Throws
  /// input_error if the archive is corrupt or truncated.
  bool next(std::string& path);
  /// After the first next(): true if this is a compressed file and not an archive.
  [[nodiscard]] bool single() const;
  /// Fills `out` from the member; fewer bytes only at its end. Throws input_error.
  std::size_t read(std::span<char> out);

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace gsofa
