// gpu_maxid_separate_queues: gpu_maxid with a frontier queue for every source.
//
// A block serves one source at a time from that queue instead of all warps from a combined one.
// Kernels, invariants and the encoding of every array: variants/maxid/gpu_maxid.cu.

#include "variants/device/gpu_variants.hpp"

GSOFA_REGISTER_VARIANT({
    .name = "gpu_maxid_separate_queues",
    .device = "gpu",
    .summary = "gpu_maxid with one frontier queue per source",
    .citation = "paper Section 4 (combined frontierQueue)",
    .options = gsofa::gpu::maxid_options(),
    .unavailable = gsofa::gpu::unavailable,
    .create = [] { return gsofa::gpu::make_maxid({.separate_queues = true}); },
});
