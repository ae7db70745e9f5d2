// planted_gpu_lost_update: deliberately wrong; minima of maxId get lost on the GPU.
//
// maxId is lowered by a load and a store, between which another thread's minimum can be
// overwritten. Every verification must reject it on some matrix of the small suite. Kernels,
// invariants and the encoding of every array: variants/maxid/gpu_maxid.cu.

#include "variants/device/gpu_variants.hpp"

GSOFA_REGISTER_VARIANT({
    .name = "planted_gpu_lost_update",
    .device = "gpu",
    .summary = "deliberately wrong: minima of maxId get lost on the GPU",
    .citation = "DESIGN: every oracle must be able to fail",
    .options = gsofa::gpu::maxid_options(),
    .planted = "minima of maxId get lost on the GPU",
    .unavailable = gsofa::gpu::unavailable,
    .create = [] { return gsofa::gpu::make_maxid({.lose_updates = true}); },
});
