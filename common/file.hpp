#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gsofa {

/// Content of a file from its beginning to its end, decompressed if it is gzip'd (told by its
/// magic bytes; several members may follow each other). Memory is bounded whatever the size.
class byte_source {
 public:
  /// Throws input_error naming the file if it cannot be opened.
  explicit byte_source(const std::filesystem::path& file);
  ~byte_source();
  byte_source(const byte_source&) = delete;
  byte_source& operator=(const byte_source&) = delete;

  /// Fills `out`; returns fewer bytes than that only at the end. Throws input_error naming the
  /// file if it cannot be read or its gzip data are corrupt or truncated.
  std::size_t read(std::span<char> out);
  /// Bytes on disk; 0 if the file is not a regular one.
  [[nodiscard]] std::int64_t file_bytes() const;
  [[nodiscard]] bool compressed() const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// Whole file mapped read-only. The file must not be truncated in place while it is mapped;
/// replacing it by rename, as atomic_file does, is safe.
class mapped_file {
 public:
  /// Throws input_error naming the file if it is absent, not a regular file or cannot be mapped.
  explicit mapped_file(const std::filesystem::path& file);
  ~mapped_file();
  mapped_file(const mapped_file&) = delete;
  mapped_file& operator=(const mapped_file&) = delete;

  /// Page-aligned.
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

/// A file that appears whole or not at all: it is written in the same folder, as
/// .NAME.gsofa-part-P-K, and renamed by commit(). A process that is killed leaves such a part; the
/// next process that writes into the folder removes it. A live process is recognised by the lock
/// (flock) that it holds on its part, also from other hosts if the file system has such locks; if
/// it has none, no part is removed.
class atomic_file {
 public:
  /// Throws input_error if nothing can be created there or the place is taken by something else
  /// than a regular file. A symbolic link is followed.
  explicit atomic_file(const std::filesystem::path& file);
  /// Removes what was written unless commit() was called.
  ~atomic_file();
  atomic_file(const atomic_file&) = delete;
  atomic_file& operator=(const atomic_file&) = delete;

  /// Appends; buffered. Throws input_error naming the file if the disk refuses.
  void write(std::string_view text);
  void write(std::span<const std::byte> bytes);
  /// Flushes and renames the file to its place, replacing what was there.
  void commit();

 private:
  void flush();
  void write_all(const char* data, std::size_t size);
  [[noreturn]] void fail(int error_number) const;
  bool create_part();
  void release();

  std::filesystem::path target_, temporary_;
  std::vector<char> buffer_;
  int descriptor_ = -1;
  int lock_ = -1;  // the same open file: holds the lock until the part is renamed or removed
};

/// Text that appears whole or not at all, as an atomic_file, gzip'd if the name of the file ends in
/// .gz; the same text gives the same bytes.
class text_output {
 public:
  /// Throws input_error as atomic_file, std::bad_alloc.
  explicit text_output(const std::filesystem::path& file);
  ~text_output();
  text_output(const text_output&) = delete;
  text_output& operator=(const text_output&) = delete;

  void write(std::string_view text);
  void commit();

 private:
  struct compressor;
  atomic_file file_;
  std::unique_ptr<compressor> compressor_;  // null: plain
};

/// A new empty directory, removed with its content at the end of the scope.
class temporary_directory {
 public:
  temporary_directory();
  ~temporary_directory();
  temporary_directory(const temporary_directory&) = delete;
  temporary_directory& operator=(const temporary_directory&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Bytes of main memory that this process can hope to get: what the system says is available,
/// or the limit of its control group if that is less.
std::int64_t available_memory();

}  // namespace gsofa
