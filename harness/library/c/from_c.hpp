#pragma once

// Patterns and options of gsofa.h as those of gsofa.hpp.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "gsofa/gsofa.h"
#include "gsofa/gsofa.hpp"

namespace gsofa::library {

/// The caller's options, with defaults for members that its version of the structure lacks. Throws
/// invalid_input if it sets a member that this version does not know.
gsofa_options known_options(const gsofa_options* given);

gsofa_order_options known_options(const gsofa_order_options* given);

/// The same for a pattern of order n. Throws invalid_input.
analysis_options options_of(const gsofa_options& o, std::int64_t n);
order_options options_of(const gsofa_order_options& o, std::int64_t n);

/// n as an Index. Throws analysis_error (overflow).
template <class Index>
Index order_of(std::int64_t n) {
  if (std::in_range<Index>(n)) return static_cast<Index>(n);
  throw analysis_error(failure::overflow,
                       "pattern: order: " + std::to_string(n) + " does not fit in 32 bits");
}

/// There are as many indices as the last pointer says; analyze() checks that no other pointer is
/// larger. Throws invalid_input where an array is missing, analysis_error (overflow).
template <template <class, class> class View, class Offset, class Index>
View<Offset, Index> view_of(const gsofa_pattern& a) {
  const auto order = order_of<Index>(a.n);
  // analyze() refuses these orders without reading the arrays.
  if (a.n < 0 || !std::in_range<std::int32_t>(a.n)) return {order, {}, {}};
  const bool columns = a.format == GSOFA_CSC;
  if (a.pointers == nullptr) throw invalid_input(columns ? "col_ptr is NULL" : "row_ptr is NULL");
  const auto* const pointers = static_cast<const Offset*>(a.pointers);
  const auto n = static_cast<std::size_t>(a.n);
  const auto nnz = static_cast<std::size_t>(std::max<Offset>(pointers[n], 0));
  if (nnz > 0 && a.indices == nullptr) {
    throw invalid_input(columns ? "row_idx is NULL" : "col_idx is NULL");
  }
  return {order, {pointers, n + 1}, {static_cast<const Index*>(a.indices), nnz}};
}

/// Calls call(Offset(), Index()) with the integers that a gsofa_index_type names. Throws
/// invalid_input.
template <class Call>
void with_integers(int index_type, const Call& call) {
  using i32 = std::int32_t;
  using i64 = std::int64_t;
  switch (index_type) {
    case GSOFA_INDEX_64_32:
      return call(i64(), i32());
    case GSOFA_INDEX_32_32:
      return call(i32(), i32());
    case GSOFA_INDEX_64_64:
      return call(i64(), i64());
    default:
      throw invalid_input("index_type: " + std::to_string(index_type) + " is no gsofa_index_type");
  }
}

/// Calls call(view) with the view of gsofa.hpp that the pattern describes.
template <class Call>
void with_view(const gsofa_pattern& a, const Call& call) {
  if (a.format != GSOFA_CSR && a.format != GSOFA_CSC) {
    throw invalid_input("format: " + std::to_string(a.format) + " is no gsofa_format");
  }
  with_integers(a.index_type, [&]<class Offset, class Index>(Offset, Index) {
    a.format == GSOFA_CSC ? call(view_of<basic_csc_view, Offset, Index>(a))
                          : call(view_of<basic_csr_view, Offset, Index>(a));
  });
}
template <class Call>
void with_view(const gsofa_device_pattern& a, const Call& call) {
  with_integers(a.index_type, [&]<class Offset, class Index>(Offset, Index) {
    call(basic_device_csr_view<Offset, Index>{order_of<Index>(a.n), a.nnz,
                                              static_cast<const Offset*>(a.pointers),
                                              static_cast<const Index*>(a.indices), a.stream});
  });
}

}  // namespace gsofa::library
