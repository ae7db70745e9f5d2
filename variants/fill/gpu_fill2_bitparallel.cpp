// gpu_fill2_bitparallel: fill2 on 8 to 32 consecutive sources at once, a bit each.
//
// A block per group of sources; thresholds ascend over the union of their rows; barren thresholds
// are told apart a tile at a time. Cost: 1 to 4 bytes per vertex and block, |V|/8 bytes per source.
// Kernels, invariants and the encoding of every array: variants/fill/gpu_fill2_bitparallel.cu.

#include "variants/device/gpu_variants.hpp"

GSOFA_REGISTER_VARIANT({
    .name = "gpu_fill2_bitparallel",
    .device = "gpu",
    .summary = "fill2 on 8 to 32 consecutive sources at once, one bit each",
    .citation = "Rose & Tarjan 1978; bit-parallel search as in Then et al. 2014",
    .options = gsofa::gpu::fill2_bitparallel_options(),
    .unavailable = gsofa::gpu::unavailable,
    .create = [] { return gsofa::gpu::make_fill2_bitparallel(); },
});
