#pragma once

#include <memory>

#include "common/variant.hpp"

namespace gsofa {

/// A variant that will be prepared for a pattern of order n: info.create(), but for n = 0, where
/// there is nothing to factorize, an object that returns the empty result without the algorithm.
std::unique_ptr<variant> create_for(const variant_info& info, index_t n);

}  // namespace gsofa
