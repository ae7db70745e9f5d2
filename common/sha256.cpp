#include "common/sha256.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "common/file.hpp"

#ifdef GSOFA_HAVE_OPENSSL
#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <new>
#endif

namespace gsofa {

namespace detail {

namespace {

// FIPS 180-4, 4.2.2: the first 32 bits of the fractional parts of the cube roots of the first 64
// primes.
constexpr std::array<std::uint32_t, 64> round_constants{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::uint32_t big_endian(const std::uint8_t* p) {
  return (std::uint32_t{p[0]} << 24) | (std::uint32_t{p[1]} << 16) | (std::uint32_t{p[2]} << 8) |
         std::uint32_t{p[3]};
}

}  // namespace

void sha256_portable::compress(const std::uint8_t* block) {
  std::array<std::uint32_t, 64> w;
  for (std::size_t t = 0; t < 16; ++t) w[t] = big_endian(block + 4 * t);
  for (std::size_t t = 16; t < 64; ++t) {
    const std::uint32_t s0 = std::rotr(w[t - 15], 7) ^ std::rotr(w[t - 15], 18) ^ (w[t - 15] >> 3);
    const std::uint32_t s1 = std::rotr(w[t - 2], 17) ^ std::rotr(w[t - 2], 19) ^ (w[t - 2] >> 10);
    w[t] = s1 + w[t - 7] + s0 + w[t - 16];
  }
  auto [a, b, c, d, e, f, g, h] = hash_;
  for (std::size_t t = 0; t < 64; ++t) {
    const std::uint32_t sum1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const std::uint32_t choice = (e & f) ^ (~e & g);
    const std::uint32_t t1 = h + sum1 + choice + round_constants[t] + w[t];
    const std::uint32_t sum0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const std::uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + sum0 + majority;
  }
  const std::array<std::uint32_t, 8> v{a, b, c, d, e, f, g, h};
  for (std::size_t k = 0; k < 8; ++k) hash_[k] += v[k];
}

void sha256_portable::update(std::span<const std::byte> bytes) {
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  std::size_t size = bytes.size();
  const std::size_t held = length_ % 64;
  length_ += size;
  if (held > 0) {
    const std::size_t taken = std::min(size, 64 - held);
    std::copy_n(data, taken, block_.data() + held);
    if (held + taken < 64) return;
    compress(block_.data());
    data += taken;
    size -= taken;
  }
  for (; size >= 64; data += 64, size -= 64) compress(data);
  std::copy_n(data, size, block_.data());
}

std::array<std::uint8_t, 32> sha256_portable::finish() {
  // A one bit, zeros up to 56 modulo 64, and the length in bits.
  const std::uint64_t bits = 8 * length_;
  std::array<std::byte, 72> padding{std::byte{0x80}};
  const std::size_t zeros = (119 - length_ % 64) % 64;
  for (std::size_t k = 0; k < 8; ++k) {
    padding[1 + zeros + k] = static_cast<std::byte>((bits >> (56 - 8 * k)) & 0xff);
  }
  update(std::span(padding).first(1 + zeros + 8));
  std::array<std::uint8_t, 32> out{};
  for (std::size_t k = 0; k < 32; ++k) {
    out[k] = static_cast<std::uint8_t>((hash_[k / 4] >> (24 - 8 * (k % 4))) & 0xff);
  }
  return out;
}

std::string hex_digits(std::span<const std::uint8_t> bytes) {
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::uint8_t b : bytes) {
    text += "0123456789abcdef"[b >> 4];
    text += "0123456789abcdef"[b & 15];
  }
  return text;
}

}  // namespace detail

#ifdef GSOFA_HAVE_OPENSSL

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
    // Falls back to the portable code where the library's configuration withholds the algorithm.
    use_library = context != nullptr && EVP_DigestInit_ex(context, EVP_sha256(), nullptr) == 1;
  }
  ~state() { EVP_MD_CTX_free(context); }
  state(const state&) = delete;
  state& operator=(const state&) = delete;

  void update(std::span<const std::byte> bytes) {
    if (!use_library) return portable.update(bytes);
    if (EVP_DigestUpdate(context, bytes.data(), bytes.size()) != 1) throw std::bad_alloc();
  }
  std::array<std::uint8_t, 32> finish() {
    if (!use_library) return portable.finish();
    std::array<std::uint8_t, 32> out{};
    if (EVP_DigestFinal_ex(context, out.data(), nullptr) != 1) throw std::bad_alloc();
    return out;
  }

  EVP_MD_CTX* context;
  bool use_library = false;
  detail::sha256_portable portable;
};

#else

struct sha256_hasher::state : detail::sha256_portable {};

#endif

sha256_hasher::sha256_hasher() : state_(std::make_unique<state>()) {}
sha256_hasher::~sha256_hasher() = default;
sha256_hasher::sha256_hasher(sha256_hasher&&) noexcept = default;
sha256_hasher& sha256_hasher::operator=(sha256_hasher&&) noexcept = default;

void sha256_hasher::update(std::span<const std::byte> bytes) { state_->update(bytes); }
std::string sha256_hasher::hex() { return detail::hex_digits(state_->finish()); }

std::string sha256_hex(std::span<const std::byte> bytes) {
  sha256_hasher hasher;
  hasher.update(bytes);
  return hasher.hex();
}

std::string sha256_hex(const std::string& text) {
  return sha256_hex(std::as_bytes(std::span(text)));
}

std::string sha256_of_matrix_file(const std::filesystem::path& file) {
  byte_source source(file);
  sha256_hasher hasher;
  std::vector<char> block(std::size_t{1} << 18);
  while (const std::size_t got = source.read(block)) {
    hasher.update(std::as_bytes(std::span(block).first(got)));
  }
  return hasher.hex();
}

}  // namespace gsofa
