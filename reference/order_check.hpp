#pragma once

#include <string>

#include "common/ordering.hpp"

namespace gsofa::reference {

/// The first fault of an order of a square pattern, in one line; empty if the order is correct. An
/// order must hold each vertex once; its separator tree, if it has one, must own each position
/// once, have children before parents, and separate, so that every entry of A joins vertices of one
/// node or of a node and one of its ancestors. O(nnz(A) times the depth of the tree).
std::string fault_of_order(const pattern_view& a, const ordering& o);

}  // namespace gsofa::reference
