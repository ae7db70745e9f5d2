// gpu_maxid_scan_enqueue: gpu_maxid that enqueues by prefix sums.
//
// Per level a scan of the frontiers' degrees gives every edge a place, a selection packs them
// (CUB). Kernels, invariants and the encoding of every array: variants/maxid/gpu_maxid.cu.

#include "variants/device/gpu_variants.hpp"

GSOFA_REGISTER_VARIANT({
    .name = "gpu_maxid_scan_enqueue",
    .device = "gpu",
    .summary = "gpu_maxid with prefix sums (CUB) instead of atomic enqueues",
    .citation = "paper Section 4 (atomic enqueue)",
    .options = gsofa::gpu::maxid_options(),
    .unavailable = gsofa::gpu::unavailable,
    .create = [] { return gsofa::gpu::make_maxid({.scan_enqueue = true}); },
});
