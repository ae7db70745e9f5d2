#pragma once

#include <memory>

#include "common/variant.hpp"

namespace gsofa {

/// A variant for a pattern of order n: info.create() for n > 0, and for n = 0 an object that
/// returns the empty result without running the algorithm.
std::unique_ptr<variant> create_for(const variant_info& info, index_t n);

}  // namespace gsofa
