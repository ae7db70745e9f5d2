#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace gsofa {

/// SHA-256 (FIPS 180-4) of bytes that arrive in pieces. Uses OpenSSL where the build has it.
class sha256_hasher {
 public:
  sha256_hasher();
  ~sha256_hasher();
  sha256_hasher(sha256_hasher&&) noexcept;
  sha256_hasher& operator=(sha256_hasher&&) noexcept;

  void update(std::span<const std::byte> bytes);
  /// The digest as 64 lower-case hexadecimal digits. Nothing may follow it.
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
std::string sha256_of_matrix_file(const std::filesystem::path& file);

namespace detail {

/// The implementation used without OpenSSL; every build has it, so that it is always tested.
class sha256_portable {
 public:
  void update(std::span<const std::byte> bytes);
  std::array<std::uint8_t, 32> finish();

 private:
  void compress(const std::uint8_t* block);

  // FIPS 180-4, 5.3.3: the first 32 bits of the fractional parts of the square roots of the first
  // eight primes.
  std::array<std::uint32_t, 8> hash_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                     0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::uint8_t, 64> block_{};
  std::uint64_t length_ = 0;  // bytes so far
};

std::string hex_digits(std::span<const std::uint8_t> bytes);

}  // namespace detail

}  // namespace gsofa
