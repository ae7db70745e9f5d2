#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/pattern.hpp"

namespace gsofa {

/// A pattern with a name for messages.
struct named_pattern {
  std::string name;
  pattern a;  ///< square, diagonal structurally nonzero
};

/// Shapes at which symbolic factorization goes wrong first: order 1, diagonal, dense, arrows,
/// tridiagonal, triangular, cyclic, blocks, word and chunk boundaries, the worked example.
std::vector<named_pattern> special_patterns();

/// Pattern number `k` of the stream of `seed`: order 1 to 40, sometimes up to 200, of changing
/// structure (uniform, banded, hubs, blocks, triangular with few entries opposite, symmetric,
/// relabelled chains). Depends on (seed, k) only, on every platform.
named_pattern random_pattern(std::uint64_t seed, std::uint64_t k);

/// Orders next to 2^15 and 2^16, and one beyond, at which narrow integers fail first: blocks of
/// three, each linked to the next one above the diagonal; entry (n-1, 0), by which the last row
/// fills; a sparse last column. L+U has about 7 n entries, and a search from any row but the last
/// ends after a few steps.
std::size_t large_pattern_count();
named_pattern large_pattern(std::size_t k);

/// Rows of 1 and, for zeros, dots, with the numbers of rows and columns from 0, for a message.
std::string picture(const pattern_view& a);

}  // namespace gsofa
