// planted_gpu_stale_window: deliberately wrong; maxId values of the batch before are taken for
// valid on the GPU.
//
// All batches share one value window. Batches are of four sources.
// Every verification must reject it on some matrix of the small suite.
// Kernels, invariants and the encoding of every array: variants/maxid/gpu_maxid.cu.

#include "variants/device/gpu_variants.hpp"

GSOFA_REGISTER_VARIANT({
    .name = "planted_gpu_stale_window",
    .device = "gpu",
    .summary =
        "deliberately wrong: maxId values of the batch before are taken for valid on the GPU",
    .citation = "DESIGN: every oracle must be able to fail",
    .options =
        [] {
          auto options = gsofa::gpu::maxid_options();
          options[0].default_value = std::int64_t{4};  // batches of four sources
          return options;
        }(),
    .planted = "maxId values of the batch before are taken for valid on the GPU",
    .unavailable = gsofa::gpu::unavailable,
    .create = [] { return gsofa::gpu::make_maxid({.stale_windows = true}); },
});
