#pragma once

/// The barrier of a grid, for kernels that launch_cooperative() launches. Apart from simt.hpp,
/// since CUDA's header takes nvcc as long as all that most kernels need.

#include "variants/device/simt.hpp"

#if defined(__CUDACC__)

#include <cooperative_groups.h>

namespace gsofa::simt {

GSOFA_DEVICE void sync_grid() { cooperative_groups::this_grid().sync(); }

}  // namespace gsofa::simt

#endif
