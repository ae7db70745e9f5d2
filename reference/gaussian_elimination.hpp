#pragma once

#include <cstdint>

#include "common/pattern.hpp"

namespace gsofa::reference {

/// Largest orders that the dense oracles accept.
inline constexpr index_t max_boolean_order = 6000;
inline constexpr index_t max_prime_field_order = 600;

/// Pattern of L+U (unit diagonal of L not stored, diagonal of U present) by right-looking Gaussian
/// elimination without pivoting on a dense Boolean matrix: step k adds row k to every later row
/// that has an entry in column k. O(n^3) time, n^2 bytes.
/// Throws input_error if `a` is not square, n > max_boolean_order, or a diagonal position of `a`
/// is structurally zero.
pattern eliminate_boolean(const pattern_view& a);

/// The same pattern by numerical elimination over the integers modulo p = 2^61 - 1, on values
/// drawn uniformly from 1..p-1 with `seed`; a position belongs to L+U iff its value is not 0.
///
/// After k steps the value at (i, j), k <= min(i, j), is the ratio of the minors of rows 0..k-1, i
/// and columns 0..k-1, j and of the leading k x k block. Both are polynomials in the entries of A
/// whose monomials are distinct permutations and so cannot cancel; hence a position outside the
/// fill is 0 with certainty, and a position of the fill is 0 only at a root of a nonzero polynomial
/// of degree at most n, with probability at most n / (p - 1) (Schwartz 1980; Zippel 1979). Over all
/// positions and pivots that is below n^3 / (p - 1) < 1e-10 for n <= 600.
///
/// O(n^3) field operations, 8 n^2 bytes. Throws input_error as eliminate_boolean does, with the
/// limit max_prime_field_order; throws error (run_failed) in the improbable case of a zero pivot.
pattern eliminate_prime_field(const pattern_view& a, std::uint64_t seed);

}  // namespace gsofa::reference
