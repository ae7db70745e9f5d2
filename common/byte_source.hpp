#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

namespace gsofa {

/// Content of a file from its beginning to its end, decompressed if it is gzip'd (recognised by its
/// magic bytes; several members may follow each other). Memory is bounded for any file size.
class byte_source {
 public:
  /// Throws input_error naming the file if it cannot be opened. Compressed data and archives from a
  /// pipe are first copied to an unnamed temporary file.
  explicit byte_source(const std::filesystem::path& file);
  ~byte_source();
  byte_source(const byte_source&) = delete;
  byte_source& operator=(const byte_source&) = delete;

  /// Fills `out`; returns fewer bytes only at the end. Throws input_error naming the file if it
  /// cannot be read or its gzip data are corrupt or truncated, unavailable_error if it is gzip'd
  /// and this build lacks zlib.
  std::size_t read(std::span<char> out);
  /// Returns to the beginning. Only for gzip'd files, other compressed files and archives.
  void rewind();
  /// Bytes on disk; 0 if the file is not a regular one.
  [[nodiscard]] std::int64_t file_bytes() const;
  /// True if the file is gzip'd.
  [[nodiscard]] bool compressed() const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// Reads from an open file until `size` bytes are at `out` or the file ends; returns the bytes
/// read. Throws input_error naming `file` if it cannot be read.
std::size_t read_fully(int descriptor, char* out, std::size_t size,
                       const std::filesystem::path& file);

/// Forms of compression and of archives, recognised by their first bytes.
enum class wrapping { none, gzip, xz, bzip2, zstd, compress, lzip, tar, zip };

/// The form of content that begins with `head`; 262 bytes suffice.
wrapping wrapping_of(std::span<const char> head);

}  // namespace gsofa
