#pragma once

#include <string>

#include "common/prepared.hpp"

namespace gsofa {

/// Kind of a matrix whose place says no more (matrix_location::kind), as records, tables and
/// figures name it: "stand-in"; "power grid" (gen:kkt) or "generated" for a generator; otherwise
/// "real".
std::string matrix_kind(const provenance& p);

}  // namespace gsofa
