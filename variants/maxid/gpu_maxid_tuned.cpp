// gpu_maxid_tuned: maxId in windows of thresholds, a block per source in shared memory.
//
// 16-bit maxId relative to the window, fill and pending bitmaps, groups of 4 to 32 lanes per
// frontier by mean degree, largest sources first. Cost: 2.25|V| bytes of shared memory per block,
// |V|/8 bytes per source for the rows.
// Kernels, invariants and the encoding of every array: variants/maxid/gpu_maxid_tuned.cu.

#include "variants/device/gpu_variants.hpp"

GSOFA_REGISTER_VARIANT({
    .name = "gpu_maxid_tuned",
    .device = "gpu",
    .summary = "maxId in threshold windows, a block per source, state in shared memory",
    .citation = "after the paper Section 4; windows as in Meyer & Sanders 2003",
    .options = gsofa::gpu::maxid_tuned_options(),
    .unavailable = gsofa::gpu::unavailable,
    .create = [] { return gsofa::gpu::make_maxid_tuned(); },
});
