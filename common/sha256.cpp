#include "common/sha256.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <array>
#include <cstdint>
#include <new>
#include <vector>

#include "common/byte_source.hpp"
#include "common/error.hpp"

namespace gsofa {

namespace {

// OpenSSL 3 reads through a null pointer later if it lacked memory for its context.
bool library_is_there() {
#if OPENSSL_VERSION_MAJOR >= 3
  return OSSL_LIB_CTX_get0_global_default() != nullptr;
#else
  return true;
#endif
}

}  // namespace

struct sha256_hasher::state {
  state() : context(library_is_there() ? EVP_MD_CTX_new() : nullptr) {
    if (context == nullptr) throw std::bad_alloc();
    if (EVP_DigestInit_ex(context, EVP_sha256(), nullptr) == 1) return;
    EVP_MD_CTX_free(context);
    throw error(exit_code::run_failed,
                "OpenSSL gives no SHA-256: it lacks memory, or its "
                "configuration withholds the algorithm");
  }
  ~state() { EVP_MD_CTX_free(context); }
  state(const state&) = delete;
  state& operator=(const state&) = delete;

  EVP_MD_CTX* context;
};

sha256_hasher::sha256_hasher() : state_(std::make_unique<state>()) {}
sha256_hasher::~sha256_hasher() = default;
sha256_hasher::sha256_hasher(sha256_hasher&&) noexcept = default;
sha256_hasher& sha256_hasher::operator=(sha256_hasher&&) noexcept = default;

void sha256_hasher::update(std::span<const std::byte> bytes) {
  if (EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) != 1) throw std::bad_alloc();
}

std::string sha256_hasher::hex() {
  std::array<std::uint8_t, 32> digest{};
  if (EVP_DigestFinal_ex(state_->context, digest.data(), nullptr) != 1) throw std::bad_alloc();
  std::string text;
  text.reserve(2 * digest.size());
  for (const std::uint8_t b : digest) {
    text += "0123456789abcdef"[b >> 4];
    text += "0123456789abcdef"[b & 15];
  }
  return text;
}

std::string sha256_hex(std::span<const std::byte> bytes) {
  sha256_hasher hasher;
  hasher.update(bytes);
  return hasher.hex();
}

std::string sha256_hex(const std::string& text) {
  return sha256_hex(std::as_bytes(std::span(text)));
}

std::string sha256_of_file(const std::filesystem::path& file) {
  byte_source source(file);
  sha256_hasher hasher;
  std::vector<char> block(std::size_t{1} << 18);
  while (const std::size_t got = source.read(block)) {
    hasher.update(std::as_bytes(std::span(block).first(got)));
  }
  return hasher.hex();
}

}  // namespace gsofa
