#pragma once

#include "gsofa/gsofa.hpp"
#include "harness/library/cpp/elimination_input.hpp"

namespace gsofa::library {

/// What eliminating `e`, which permute_for_elimination() has made of `in`, takes at most; `out` has
/// the orders and nnz_a.
fill_estimate estimate_of(const checked_input& in, const analysis_options& options,
                          const elimination_input& e, const workspace& w, const analysis& out);

}  // namespace gsofa::library
