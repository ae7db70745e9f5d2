#pragma once

/// The barrier of a grid, for kernels that launch_cooperative() launches. Separate from simt.hpp
/// because nvcc takes as long for CUDA's header as for everything else that most kernels need.

#include "variants/device/simt.hpp"

#if defined(__CUDACC__)

#include <cooperative_groups.h>

namespace gsofa::simt {

GSOFA_DEVICE void sync_grid() { cooperative_groups::this_grid().sync(); }

}  // namespace gsofa::simt

#endif
