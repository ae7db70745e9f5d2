#include "common/digest.hpp"

namespace gsofa {

std::uint64_t row_digest(index_t i, std::span<const index_t> columns) {
  std::uint64_t sum = 0;
  for (const index_t j : columns) sum += entry_hash(i, j);
  return sum;
}

std::uint64_t pattern_digest(const pattern_view& a) {
  std::uint64_t sum = 0;
  for (index_t i = 0; i < a.n_rows; ++i) sum += row_digest(i, a.row(i));
  return sum;
}

}  // namespace gsofa
