#pragma once

#include "variants/device/runtime.hpp"

#if defined(GSOFA_GPU)

namespace gsofa::gpu {

/// Vertices by new position, children before parents, as postorder() of common/preprocess.hpp: the
/// children of a vertex and the roots in ascending order. parent[v] > v or -1. By pointer doubling
/// (Wyllie 1979): O(n log n) work in 2 log n launches, for any height of the forest.
device_array<index_t> postorder(index_t n, const index_t* parent, memory_budget& budget);

}  // namespace gsofa::gpu

#endif
