// gpu_maxid_no_range_reuse: gpu_maxid that re-initialises maxId for every batch.
//
// Without value windows every batch begins by setting its maxId arrays to infinity.
// Kernels, invariants and the encoding of every array: variants/maxid/gpu_maxid.cu.

#include "variants/device/gpu_variants.hpp"

GSOFA_REGISTER_VARIANT({
    .name = "gpu_maxid_no_range_reuse",
    .device = "gpu",
    .summary = "gpu_maxid that re-initialises maxId for every batch",
    .citation = "paper Section 4, Figure 12",
    .options = gsofa::gpu::maxid_options(),
    .unavailable = gsofa::gpu::unavailable,
    .create = [] { return gsofa::gpu::make_maxid({.range_reuse = false}); },
});
