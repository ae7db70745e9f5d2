#pragma once

#include <functional>
#include <limits>

#include "common/pattern.hpp"

namespace gsofa {

/// Reduces a square pattern with structurally nonzero diagonal for which `fails` holds to one from
/// which neither a vertex (row and column) nor an off-diagonal entry can be taken without losing
/// the failure. `fails` is called O(n^2 + nnz^2) times at worst, and not once `seconds` have
/// passed: what has been reached by then is returned. Source: Zeller & Hildebrandt, Simplifying and
/// isolating failure-inducing input, TSE 2002.
pattern shrink(pattern a, const std::function<bool(const pattern&)>& fails,
               double seconds = std::numeric_limits<double>::infinity());

}  // namespace gsofa
