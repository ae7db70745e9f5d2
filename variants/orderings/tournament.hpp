#pragma once

#include "common/ordering.hpp"
#include "variants/orderings/choose.hpp"

namespace gsofa::orders {

/// Computes orders of a square pattern by the candidates of choose.hpp, counts what a factorization
/// in each takes, and returns the best. The candidate that takes the least time is first; another
/// one is computed if it is expected to save more time than it takes. Work is counted, so that the
/// result does not depend on the machine. ordering::candidates lists the orders that were computed.
/// With weights, dissections contend alone. Throws as compute_order().
ordering tournament(const pattern_view& a, const order_settings& settings, const purpose& use);

}  // namespace gsofa::orders
