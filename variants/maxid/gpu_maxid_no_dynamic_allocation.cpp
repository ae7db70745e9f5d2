// gpu_maxid_no_dynamic_allocation: gpu_maxid with a fixed division of the memory.
//
// The queues never take what maxId does not need yet; they stay as small as the last batch needs.
// Kernels, invariants and the encoding of every array: variants/maxid/gpu_maxid.cu.

#include "variants/device/gpu_variants.hpp"

GSOFA_REGISTER_VARIANT({
    .name = "gpu_maxid_no_dynamic_allocation",
    .device = "gpu",
    .summary = "gpu_maxid with a fixed division of memory",
    .citation = "paper Section 6, Figure 13",
    .options = gsofa::gpu::maxid_options(),
    .unavailable = gsofa::gpu::unavailable,
    .create = [] { return gsofa::gpu::make_maxid({.dynamic_allocation = false}); },
});
