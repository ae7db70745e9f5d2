#pragma once

/// The masks of a position, the same on the host and on the device.

#include <cstdint>

namespace gsofa::panels {

/// A set of vertices of one panel: bit c is vertex begin + c.
using mask_t = std::uint64_t;
inline constexpr int mask_bits = 64;

/// What position z of a panel with vertices b .. b+w-1 says about f = F[z].
struct alignas(16) mask_pair {
  mask_t upper;  ///< bit c: U(b+c, f) != 0, f > b+c
  mask_t lower;  ///< bit c: L(f, b+c) != 0, f > b+c
};

constexpr mask_t bit(int c) { return mask_t{1} << c; }
/// Bits 0 .. c-1, for 0 <= c <= 63.
constexpr mask_t below(int c) { return bit(c) - 1; }
/// Bits c+1 .. 63, for 0 <= c <= 63.
constexpr mask_t above(int c) { return ~mask_t{0} << 1 << c; }

}  // namespace gsofa::panels
