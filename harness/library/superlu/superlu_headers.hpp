#pragma once

// The header of SuperLU_DIST, and what differs between its versions.

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wconversion"
#include <superlu_ddefs.h>
#pragma GCC diagnostic pop

#include <tuple>
#include <type_traits>

namespace gsofa::superlu {

template <class R, class... P>
std::tuple<P...> parameters_of(R (*)(P...));

/// An entry of a column permutation: of int_t up to version 8 of SuperLU_DIST, of int from 9 on.
using column_index =
    std::remove_pointer_t<std::tuple_element_t<3, decltype(parameters_of(&symbfact))>>;
/// An entry of a row permutation.
using row_index =
    std::remove_pointer_t<std::tuple_element_t<6, decltype(parameters_of(&dldperm_dist))>>;

}  // namespace gsofa::superlu
