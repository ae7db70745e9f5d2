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

/// True if a path ends as that of a matrix, neither compressed nor in an archive: in .mtx, .mm,
/// .rb, .hb, or a type of Harwell-Boeing such as .rua. The content decides what it is.
bool is_named_as_matrix(std::string_view path);

/// Content of the matrix that a file holds: decompressed (.gz by zlib; .xz, .bz2, .zst, .Z and .lz
/// by libarchive), and out of the archive (.tar, also compressed, or .zip) around it. Everything is
/// told by content, nothing by the file's name. Memory is bounded whatever the file claims
/// (libarchive takes at most 1 GiB for .xz).
///
/// Of an archive with several matrices, the one that is meant is NAME/NAME.mtx, as in the
/// SuiteSparse collection, or else the only one whose name does not extend another's by _SUFFIX
/// (NAME_b.mtx).
class matrix_content {
 public:
  /// Is shown all bytes that are read of the uncompressed content, in order.
  using observer = std::function<void(std::span<const std::byte>)>;

  /// Opens the file, decides on its format and, for an archive, on the member. Throws input_error
  /// naming the file and what it is (a MATLAB file, an HTML page, ...) if it holds no matrix in one
  /// of the formats, or several; unavailable_error if this build lacks the library that reads it.
  explicit matrix_content(const std::filesystem::path& file, observer seen = {});
  ~matrix_content();
  matrix_content(const matrix_content&) = delete;
  matrix_content& operator=(const matrix_content&) = delete;

  [[nodiscard]] matrix_format format() const;
  /// FILE, or FILE:MEMBER in an archive: how messages begin.
  [[nodiscard]] const std::string& name() const;
  /// An upper limit, from the size of the file, of the number of entries whose text or binary form
  /// takes at least `bytes_each`; a guess for compressed files.
  [[nodiscard]] std::int64_t likely_entries(std::int64_t declared, std::int64_t bytes_each) const;

  /// Fills `out`; returns fewer bytes than that only at the end (of the member, for scipy_npz).
  std::size_t read(std::span<char> out);
  /// For scipy_npz: goes to the next member, the first at the first call; false after the last.
  bool next_member(std::string& member);
  /// Reads what has not been read, so that the observer has seen everything.
  void drain();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace gsofa
