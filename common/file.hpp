#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/text.hpp"

namespace gsofa {

/// The bytes of a regular file, read into memory: nothing that happens to the file later changes
/// them. A mapping would be faster to open, but ends the process when the file is cut.
class file_content {
 public:
  /// Throws input_error naming the file if it is absent, not a regular file or cannot be read, or
  /// if it becomes shorter meanwhile; std::bad_alloc.
  explicit file_content(const std::filesystem::path& file);

  /// Begins at a multiple of 64 bytes.
  [[nodiscard]] std::span<const std::byte> bytes() const { return {bytes_.get(), size_}; }

 private:
  static constexpr std::align_val_t alignment{64};
  struct aligned_delete {
    void operator()(std::byte* bytes) const { ::operator delete[](bytes, alignment); }
  };
  std::unique_ptr<std::byte[], aligned_delete> bytes_;
  std::size_t size_ = 0;
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
  /// Puts the file in its place, replacing what was there. The bytes reach the disk before the name
  /// does: after a power cut the name has the old file or the new one, never an empty one.
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

/// Creates a folder with all above it, if it is absent. Throws input_error that names the folder
/// and the reason.
void create_folder(const std::filesystem::path& folder);

/// Writes what an open file has been given to the disk. Returns 0 or the errno value; a file system
/// that has no such operation is no error.
int sync_to_disk(int descriptor);

/// Writes the entry of `file` in its folder to the disk, as far as the file system can.
void sync_name(const std::filesystem::path& file);

}  // namespace gsofa
