#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/pattern.hpp"

namespace gsofa::library {

/// Arrays that hold what cannot be read in place from the caller's.
struct input_arrays {
  std::vector<offset_t> row_ptr;
  std::vector<index_t> col_idx;
};

/// A square pattern of the caller, checked.
struct checked_input {
  pattern_view a;                ///< rows strictly ascending; the caller's arrays where they are
  index_t missing = 0;           ///< zeros on the diagonal
  index_t coupled = 0;           ///< vertices whose row or column has an entry off the diagonal
  index_t isolated_missing = 0;  ///< zeros on the diagonal of the other vertices
  std::vector<std::uint64_t> is_coupled;  ///< bit v % 64 of word v / 64

  [[nodiscard]] bool has_edge(index_t v) const {
    return (is_coupled[at(v / 64)] >> (v % 64) & 1U) != 0;
  }
};

/// How messages name what the caller gave.
struct input_names {
  const char* pointers;  ///< "row_ptr"
  const char* indices;   ///< "col_idx"
  const char* major;     ///< "row"
  const char* minor;     ///< "column"
};
inline constexpr input_names by_rows{"row_ptr", "col_idx", "row", "column"};
inline constexpr input_names by_columns{"col_ptr", "row_idx", "column", "row"};

/// Checks compressed rows (or columns, which become rows) of a square pattern of order n. Arrays of
/// the types of pattern_view are read in place unless a row is unsorted or has duplicates; of the
/// others copies are made in `arrays`, which must outlive the result. O(n + nnz), and sorting.
/// Throws input_error for the first fault, overflow_error for an order beyond 2^31 - 1.
/// Instantiated for (int64, int32), (int32, int32) and (int64, int64).
template <class Offset, class Index>
checked_input check_input(Index n, std::span<const Offset> ptr, std::span<const Index> idx,
                          const input_names& names, input_arrays& arrays);

/// Sets missing, coupled and isolated_missing from `in.a`.
void find_isolated(checked_input& in);

}  // namespace gsofa::library
