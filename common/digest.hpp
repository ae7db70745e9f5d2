#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/pattern.hpp"
#include "common/random.hpp"

namespace gsofa {

/// Hash of the position (i, j): splitmix64 of i * 2^32 + j.
constexpr std::uint64_t entry_hash(index_t i, index_t j) {
  const std::uint64_t position = (static_cast<std::uint64_t>(static_cast<std::uint32_t>(i)) << 32) |
                                 static_cast<std::uint32_t>(j);
  return mix64(position + 0x9e3779b97f4a7c15ULL);
}

/// Order-independent digest of row i: the sum modulo 2^64 of the hashes of its entries. A repeated
/// entry changes the digest. The digest of a pattern is the sum over its rows, so the digests of L,
/// of U and of parts computed by different threads add up.
std::uint64_t row_digest(index_t i, std::span<const index_t> columns);

/// Sum of row_digest over all rows.
std::uint64_t pattern_digest(const pattern_view& a);

}  // namespace gsofa
