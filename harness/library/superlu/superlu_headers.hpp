#pragma once

// The header of SuperLU_DIST, and what differs between its versions.

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wconversion"
#include <superlu_ddefs.h>
#pragma GCC diagnostic pop

#include <type_traits>

namespace gsofa::superlu {

template <class Routine>
struct fourth_parameter;
template <class R, class A, class B, class C, class D, class... More>
struct fourth_parameter<R(A, B, C, D, More...)> {
  using type = D;
};

/// An entry of a column permutation: of int_t up to version 8 of SuperLU_DIST, of int from 9 on.
using column_index = std::remove_pointer_t<fourth_parameter<decltype(symbfact)>::type>;

template <class Routine>
struct seventh_parameter;
template <class R, class A, class B, class C, class D, class E, class F, class G, class... More>
struct seventh_parameter<R(A, B, C, D, E, F, G, More...)> {
  using type = G;
};

/// An entry of a row permutation.
using row_index = std::remove_pointer_t<seventh_parameter<decltype(dldperm_dist)>::type>;

}  // namespace gsofa::superlu
