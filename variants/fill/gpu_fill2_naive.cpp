// gpu_fill2_naive: fill2 with one source per thread.
//
// The straightforward port that the paper compares with: as many sources as memory allows, each
// searched by one thread with its own threshold scan. Cost: 12|V| bytes per concurrent source.
// Kernels, invariants and the encoding of every array: variants/fill/gpu_fill2_naive.cu.

#include "variants/device/gpu_variants.hpp"

GSOFA_REGISTER_VARIANT({
    .name = "gpu_fill2_naive",
    .device = "gpu",
    .summary = "fill2 with one source per thread",
    .citation = "paper Section 7, Figure 9",
    .options = gsofa::gpu::fill2_naive_options(),
    .unavailable = gsofa::gpu::unavailable,
    .create = [] { return gsofa::gpu::make_fill2_naive(); },
});
