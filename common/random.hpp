#pragma once

#include <cstdint>

namespace gsofa {

/// Finalizer of splitmix64: a bijection of 64-bit words without visible structure.
/// Source: Steele, Lea & Flood, Fast splittable pseudorandom number generators, OOPSLA 2014.
constexpr std::uint64_t mix64(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// Stateless random word of a key (a, b) under `seed`: equal for every call, so that an edge can be
/// decided from either end, and rows in any order.
constexpr std::uint64_t keyed_random(std::uint64_t seed, std::uint64_t a, std::uint64_t b) {
  return mix64(mix64(mix64(seed + 0x9e3779b97f4a7c15ULL) ^ a) + 0xd1b54a32d192ed03ULL * (b + 1));
}

/// A probability as a 53-bit threshold. Comparisons use integers only, so that floating point
/// cannot change a decision. Exact for 0 and 1.
class probability {
 public:
  constexpr probability() = default;
  constexpr explicit probability(double p)
      : threshold_(static_cast<std::uint64_t>(p * 9007199254740992.0)) {}
  [[nodiscard]] constexpr bool holds(std::uint64_t word) const { return (word >> 11) < threshold_; }
  [[nodiscard]] constexpr bool never() const { return threshold_ == 0; }

 private:
  std::uint64_t threshold_ = 0;
};

/// Seeded generator splitmix64: integers only, the same sequence on every platform (unlike the
/// distributions of <random>).
class random_source {
 public:
  constexpr explicit random_source(std::uint64_t seed) : state_(seed) {}

  /// Next 64 random bits.
  constexpr std::uint64_t operator()() { return mix64(state_ += 0x9e3779b97f4a7c15ULL); }

  /// An integer in [0, bound), bound in [1, 2^32]; 0 for bound 0. Multiply-shift of 32 random
  /// bits: biased by less than bound / 2^32.
  constexpr std::uint64_t below(std::uint64_t bound) { return (((*this)() >> 32) * bound) >> 32; }

  /// An integer in [low, high], high - low < 2^32.
  constexpr std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low) + 1));
  }

  /// True with probability p.
  constexpr bool chance(probability p) { return p.holds((*this)()); }

 private:
  std::uint64_t state_;
};

}  // namespace gsofa
