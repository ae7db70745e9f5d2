// gpu_maxid_no_external_frontier: gpu_maxid whose queues hold |V|#C entries each.
//
// Nothing needs to be spilled; a budget is met by fewer concurrent sources alone.
// Kernels, invariants and the encoding of every array: variants/maxid/gpu_maxid.cu.

#include "variants/device/gpu_variants.hpp"

GSOFA_REGISTER_VARIANT({
    .name = "gpu_maxid_no_external_frontier",
    .device = "gpu",
    .summary = "gpu_maxid with queues of |V|#C entries, none spilled",
    .citation = "paper Section 6, Tables 2 and 3",
    .options = gsofa::gpu::maxid_options(),
    .unavailable = gsofa::gpu::unavailable,
    .create = [] { return gsofa::gpu::make_maxid({.external_frontier = false}); },
});
