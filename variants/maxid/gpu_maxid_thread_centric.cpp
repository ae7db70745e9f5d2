// gpu_maxid_thread_centric: gpu_maxid with a thread instead of a warp per frontier.
//
// Each lane walks its own adjacency list; places in the queue are taken lane by lane.
// Kernels, invariants and the encoding of every array: variants/maxid/gpu_maxid.cu.

#include "variants/device/gpu_variants.hpp"

GSOFA_REGISTER_VARIANT({
    .name = "gpu_maxid_thread_centric",
    .device = "gpu",
    .summary = "gpu_maxid with a thread instead of a warp per frontier",
    .citation = "paper Section 4",
    .options = gsofa::gpu::maxid_options(),
    .unavailable = gsofa::gpu::unavailable,
    .create = [] { return gsofa::gpu::make_maxid({.thread_centric = true}); },
});
