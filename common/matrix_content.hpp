#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace gsofa {

enum class matrix_format { matrix_market, harwell_boeing, scipy_npz };

/// "Matrix Market", "Harwell-Boeing" or "SciPy .npz".
const char* name_of(matrix_format format);

/// True if the path has the ending of an uncompressed matrix outside an archive: .mtx, .mm, .rb,
/// .hb, or a Harwell-Boeing type such as .rua. The content decides the actual format.
bool is_named_as_matrix(std::string_view path);

/// Content of the matrix in a file: decompressed (.gz by zlib; .xz, .bz2, .zst, .Z and .lz by
/// libarchive) and extracted from the surrounding archive (.tar, also compressed, or .zip). Formats
/// are recognised by content, never by the file's name. Memory is bounded for any file content
/// (libarchive takes at most 1 GiB for .xz).
///
/// In an archive with several matrices, the matrix is NAME/NAME.mtx, as in the SuiteSparse
/// collection, or else the only matrix whose name does not extend another name by _SUFFIX
/// (NAME_b.mtx).
class matrix_content {
 public:
  /// Receives all bytes read from the uncompressed content, in order.
  using observer = std::function<void(std::span<const std::byte>)>;

  /// Called before each block that is read; what it throws passes.
  using visitor = std::function<void()>;

  /// Opens the file, decides on its format and, for an archive, on the member. Throws input_error
  /// naming the file and its kind (a MATLAB file, an HTML page, ...) if it holds no matrix in one
  /// of the formats, or several matrices; unavailable_error if this build lacks the library that
  /// reads it.
  explicit matrix_content(const std::filesystem::path& file, observer seen = {}, visitor look = {});
  ~matrix_content();
  matrix_content(const matrix_content&) = delete;
  matrix_content& operator=(const matrix_content&) = delete;

  [[nodiscard]] matrix_format format() const;
  /// FILE, or FILE:MEMBER in an archive: the beginning of messages.
  [[nodiscard]] const std::string& name() const;
  /// An upper bound, from the size of the file, for the number of entries that take at least
  /// `bytes_each` bytes each; an estimate for compressed files.
  [[nodiscard]] std::int64_t likely_entries(std::int64_t declared, std::int64_t bytes_each) const;

  /// Fills `out`; returns fewer bytes than that only at the end (of the member, for scipy_npz).
  std::size_t read(std::span<char> out);
  /// For scipy_npz: goes to the next member (at the first call to the first); false after the last.
  bool next_member(std::string& member);
  /// Reads the remaining content, so that the observer has received everything.
  void drain();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace gsofa
