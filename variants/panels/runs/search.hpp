#pragma once

/// The fall-back: the host searches rows one after another, in memory that grows with L + U instead
/// of chol(A + A^T).

#include "variants/device/batch_rows.hpp"
#include "variants/support/gilbert_peierls.hpp"

namespace gsofa::panels {

#if defined(GSOFA_GPU)

using namespace gsofa::gpu;

/// Tells the user of the search, and of the bytes of the budget with which there would be none.
void announce_search(const device_rows& a, offset_t bytes_missing, const run_context& context);

/// The rows of a matrix on the device, on the host.
pattern on_host(const device_rows& a);

#endif

}  // namespace gsofa::panels
