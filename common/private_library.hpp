#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gsofa {

/// A function that a library imports, and the address of the function that it calls instead.
struct bound_import {
  std::string_view name;
  std::uintptr_t replacement;
};

/// A copy of a shared library in memory (Linux, glibc, x86-64 and 64-bit Arm). No other object of
/// the process finds the copy's symbols; the copy's references to its own symbols lead to the copy,
/// and those to `imports` to the replacements.
class private_library {
 public:
  /// Loads METIS from `file`. Throws unavailable_error with the reason where that is impossible,
  /// std::bad_alloc, and error where the process has too many open files.
  private_library(const std::string& file, std::span<const bound_import> imports);
  ~private_library();
  private_library(const private_library&) = delete;
  private_library& operator=(const private_library&) = delete;

  /// The address of a symbol; null if the library has none of this name.
  [[nodiscard]] void* find(const char* symbol) const;

  /// Bytes of the variables of a thread, and their initial values up to the zeros.
  [[nodiscard]] std::size_t thread_bytes() const { return thread_bytes_; }
  [[nodiscard]] std::span<const char> thread_image() const { return thread_image_; }

 private:
  void* handle_ = nullptr;
  std::size_t thread_bytes_ = 0;
  std::vector<char> thread_image_;
};

}  // namespace gsofa
