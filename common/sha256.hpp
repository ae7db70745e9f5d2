#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace gsofa {

/// SHA-256 (FIPS 180-4, by OpenSSL) of bytes that arrive in pieces. Throws std::bad_alloc, and
/// error if OpenSSL lacks memory or its configuration disables the algorithm.
class sha256_hasher {
 public:
  sha256_hasher();
  ~sha256_hasher();
  sha256_hasher(sha256_hasher&&) noexcept;
  sha256_hasher& operator=(sha256_hasher&&) noexcept;

  void update(std::span<const std::byte> bytes);
  /// The digest as 64 lower-case hexadecimal digits. Must be the last call.
  std::string hex();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// SHA-256 of `bytes` as 64 lower-case hexadecimal digits.
std::string sha256_hex(std::span<const std::byte> bytes);
std::string sha256_hex(const std::string& text);

/// SHA-256 of the content of a file, uncompressed first if it is gzip'd. Throws input_error naming
/// the file if it cannot be read.
std::string sha256_of_file(const std::filesystem::path& file);

}  // namespace gsofa
