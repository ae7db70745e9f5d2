#pragma once

#include <string>

#include "common/prepared.hpp"

namespace gsofa {

/// Kind of a matrix whose place says no more (matrix_location::kind), as records, tables and
/// figures name it: "stand-in"; for a generator "power grid" (gen:kkt), "circuit" (gen:circuit,
/// gen:harmonic), "space x time" (gen:space_time_kkt) or "generated"; otherwise "real".
std::string matrix_kind(const provenance& p);

}  // namespace gsofa
