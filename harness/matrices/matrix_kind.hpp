#pragma once

#include <string>

#include "common/prepared.hpp"

namespace gsofa {

/// Kind of a matrix as records, tables and figures name it: "stand-in"; "original" for a matrix of
/// the paper and the kind of a bundled matrix, both by sha256; "power grid" (gen:kkt) or
/// "generated" for a generator; otherwise "real".
std::string matrix_kind(const provenance& p);

}  // namespace gsofa
