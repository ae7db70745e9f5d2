// gpu_maxid_no_bubble_removal: gpu_maxid with |V| entries of maxId for every source.
//
// Entries at and above the source are never used: the bubble.
// Kernels, invariants and the encoding of every array: variants/maxid/gpu_maxid.cu.

#include "variants/device/gpu_variants.hpp"

GSOFA_REGISTER_VARIANT({
    .name = "gpu_maxid_no_bubble_removal",
    .device = "gpu",
    .summary = "gpu_maxid with |V| maxId entries per source",
    .citation = "paper Section 6",
    .options = gsofa::gpu::maxid_options(),
    .unavailable = gsofa::gpu::unavailable,
    .create = [] { return gsofa::gpu::make_maxid({.bubble_removal = false}); },
});
