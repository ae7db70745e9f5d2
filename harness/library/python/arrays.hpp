#pragma once

// NumPy arrays for the library, and arrays of the library for NumPy.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gsofa/gsofa.hpp"

namespace gsofa::python {

namespace nb = nanobind;

template <class T>
using input = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// A read-only NumPy array that owns `values`; nobody can make it writeable, since its memory is
// that of a capsule.
template <class T>
nb::object array_of(std::vector<T>&& values) {
  auto* const owned = new std::vector<T>(std::move(values));
  owned->reserve(1);  // NumPy takes an array without an address for a writeable one
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(
      nb::ndarray<nb::numpy, const T, nb::ndim<1>>(owned->data(), {owned->size()}, owner));
}

// A read-only copy.
template <class T>
nb::object frozen(const input<T>& values) {
  return array_of(std::vector<T>(values.data(), values.data() + values.size()));
}

// `count` ones, read-only.
inline nb::object ones(std::size_t count) { return array_of(std::vector<double>(count, 1.0)); }

inline csr_view view_of(const input<std::int64_t>& row_ptr, const input<std::int32_t>& col_idx) {
  if (row_ptr.size() < 1 || row_ptr.size() > std::size_t{1} << 31) {
    throw invalid_input("pattern: " + std::to_string(row_ptr.size()) +
                        " row pointers: the order must be in [0, 2147483647]");
  }
  return {static_cast<std::int32_t>(row_ptr.size()) - 1,
          {row_ptr.data(), row_ptr.size()},
          {col_idx.data(), col_idx.size()}};
}

inline nb::tuple rows_of(csr_pattern& p) {
  return nb::make_tuple(array_of(std::move(p.row_ptr)), array_of(std::move(p.col_idx)));
}

}  // namespace gsofa::python
