#pragma once

#include "gsofa/gsofa.hpp"
#include "harness/library/cpp/input.hpp"

namespace gsofa::library {

/// profile() of gsofa.hpp.
fill_profile profile_given(const given_pattern& a, std::int32_t cells,
                           const analysis_options& options);

}  // namespace gsofa::library
