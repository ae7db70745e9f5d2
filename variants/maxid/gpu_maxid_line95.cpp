// gpu_maxid_line95: gpu_maxid that tests fill(w) before it lowers maxId(w).
//
// Saves atomics on vertices that are fill-ins already, costs a load on all others.
// Kernels, invariants and the encoding of every array: variants/maxid/gpu_maxid.cu.

#include "variants/device/gpu_variants.hpp"

GSOFA_REGISTER_VARIANT({
    .name = "gpu_maxid_line95",
    .device = "gpu",
    .summary = "gpu_maxid with line 9.5: fill is tested before maxId",
    .citation = "paper Section 4, Figure 19",
    .options = gsofa::gpu::maxid_options(),
    .unavailable = gsofa::gpu::unavailable,
    .create = [] { return gsofa::gpu::make_maxid({.line_9_5 = true}); },
});
