// planted_gpu_dropped_spill: deliberately wrong; spilled frontiers are forgotten on the GPU.
//
// What the queues could not hold is not searched. The queues have two entries.
// Every verification must reject it on some matrix of the small suite.
// Kernels, invariants and the encoding of every array: variants/maxid/gpu_maxid.cu.

#include "variants/device/gpu_variants.hpp"

GSOFA_REGISTER_VARIANT({
    .name = "planted_gpu_dropped_spill",
    .device = "gpu",
    .summary = "deliberately wrong: spilled frontiers are forgotten on the GPU",
    .citation = "DESIGN: every oracle must be able to fail",
    .options =
        [] {
          auto options = gsofa::gpu::maxid_options();
          options[1].default_value = std::int64_t{2};  // queues of two entries
          return options;
        }(),
    .planted = "spilled frontiers are forgotten on the GPU",
    .unavailable = gsofa::gpu::unavailable,
    .create = [] { return gsofa::gpu::make_maxid({.drop_spills = true}); },
});
