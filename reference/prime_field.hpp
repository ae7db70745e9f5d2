#pragma once

#include <cstdint>

/// Arithmetic in the field of integers modulo the Mersenne prime 2^61 - 1. Arguments and results
/// lie in [0, prime).
namespace gsofa::reference::prime_field {

inline constexpr std::uint64_t prime = (std::uint64_t{1} << 61) - 1;

__extension__ typedef unsigned __int128 wide_t;

/// x y; as 2^61 = 1 in the field, the high and the low 61 bits of the product may be added.
constexpr std::uint64_t multiply(std::uint64_t x, std::uint64_t y) {
  const wide_t product = static_cast<wide_t>(x) * y;
  const std::uint64_t sum =
      static_cast<std::uint64_t>(product & prime) + static_cast<std::uint64_t>(product >> 61);
  return sum >= prime ? sum - prime : sum;
}

/// x - y.
constexpr std::uint64_t subtract(std::uint64_t x, std::uint64_t y) {
  return x >= y ? x - y : x + prime - y;
}

/// 1 / x for x != 0: x^(prime - 2), by Fermat's little theorem.
constexpr std::uint64_t inverse(std::uint64_t x) {
  std::uint64_t power = 1;
  for (std::uint64_t exponent = prime - 2; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) power = multiply(power, x);
    x = multiply(x, x);
  }
  return power;
}

}  // namespace gsofa::reference::prime_field
