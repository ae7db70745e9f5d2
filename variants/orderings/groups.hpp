#pragma once

#include <span>

#include "common/ordering.hpp"
#include "common/pattern.hpp"

namespace gsofa::orders {

/// A fill-reducing order of a square pattern in which every vertex comes after all vertices of
/// lower groups, as the constraint sets of CAMD: minimum fill that takes pivots of the lowest group
/// that is left. Where that needs many operations, the first group is also dissected, and the
/// better of both orders is returned. With settings.tree_levels > 0 the order is the dissection;
/// the root of its separator tree holds all later groups. group: of each vertex, 0 or more.
/// settings.options is not read. Throws as compute_order().
ordering order_in_groups(const pattern_view& a, std::span<const index_t> group,
                         const order_settings& settings);

}  // namespace gsofa::orders
