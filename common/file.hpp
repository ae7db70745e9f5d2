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

/// The bytes of a regular file, read into memory: later changes of the file do not affect them. A
/// mapping would be faster to open, but would end the process if the file were truncated.
class file_content {
 public:
  /// Throws input_error naming the file if it is absent, not a regular file or cannot be read, or
  /// if it becomes shorter while it is read; std::bad_alloc.
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

/// A file that appears completely or not at all: it is written to .NAME.gsofa-part-P-K in the same
/// folder and renamed by commit(). A killed process leaves such a part; the next process that
/// writes into the folder removes the part. The lock (flock) on its part identifies a live process,
/// also from other hosts if the file system supports such locks; if it does not, no part is
/// removed.
class atomic_file {
 public:
  /// Throws input_error if the file cannot be created, or if something other than a regular file
  /// has its name. Follows a symbolic link.
  explicit atomic_file(const std::filesystem::path& file);
  /// Removes the part unless commit() was called.
  ~atomic_file();
  atomic_file(const atomic_file&) = delete;
  atomic_file& operator=(const atomic_file&) = delete;

  /// Appends; buffered. Throws input_error naming the file if writing fails.
  void write(std::string_view text);
  void write(std::span<const std::byte> bytes);
  /// Renames the part to its final name and replaces an existing file. The bytes reach the disk
  /// before the name does: after a power failure the name refers to the old file or the new file,
  /// never to an empty file.
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

/// A text file that appears completely or not at all (atomic_file), gzip'd if its name ends in .gz;
/// equal text gives equal bytes.
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

/// Creates a folder and its missing parents. Throws input_error that names the folder and the
/// reason.
void create_folder(const std::filesystem::path& folder);

/// Flushes an open file to the disk. Returns 0 or the errno value; a file system without this
/// operation is not an error.
int sync_to_disk(int descriptor);

/// Flushes the directory entry of `file` to the disk, as far as the file system supports it.
void sync_name(const std::filesystem::path& file);

}  // namespace gsofa
