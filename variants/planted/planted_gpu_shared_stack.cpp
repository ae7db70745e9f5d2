// planted_gpu_shared_stack: deliberately wrong; neighbouring threads share a stack on the GPU.
//
// fill2 with one source per thread, where the threads 2k and 2k + 1 have one stack between them and
// nothing that keeps them apart. Right as long as one runs at a time from its begin to its end, as
// between two barriers of the emulator that switches threads at barriers only.
// Kernels, invariants and the encoding of every array: variants/fill/gpu_fill2_naive.cu.

#include "variants/device/gpu_variants.hpp"

GSOFA_REGISTER_VARIANT({
    .name = "planted_gpu_shared_stack",
    .device = "gpu",
    .summary = "deliberately wrong: neighbouring threads share a stack on the GPU",
    .citation = "DESIGN: every oracle must be able to fail",
    .options = gsofa::gpu::fill2_naive_options(),
    .planted = "neighbouring threads share a stack on the GPU",
    .unavailable = gsofa::gpu::unavailable_to_races,
    .create = [] { return gsofa::gpu::make_fill2_naive({.shared_stack = true}); },
});
