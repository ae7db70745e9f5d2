#pragma once

#include "gsofa/gsofa.hpp"
#include "harness/library/cpp/input.hpp"

namespace gsofa::library {

/// estimate() of gsofa.hpp.
fill_estimate estimate_given(const given_pattern& a, const analysis_options& options);

}  // namespace gsofa::library
