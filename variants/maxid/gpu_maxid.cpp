// gpu_maxid: the paper's algorithm with all its optimisations.
//
// Many sources at once share one frontier queue of (vertex, source slot); a warp expands a
// frontier; maxId falls by atomicMin; value windows instead of re-initialisation; maxId arrays of
// s entries; one arena for maxId, fill and the queues; queues spill to host memory; line 9.5 off.
// Cost: 4|V|#C bytes of fill, at most 4|V|#C of maxId, 16 bytes per queue place.
// Kernels, invariants and the encoding of every array: variants/maxid/gpu_maxid.cu.

#include "variants/device/gpu_variants.hpp"

GSOFA_REGISTER_VARIANT({
    .name = "gpu_maxid",
    .device = "gpu",
    .summary = "the paper's maxId algorithm, all optimisations on, line 9.5 off",
    .citation = "paper Sections 4 to 6, Figures 5 to 8",
    .options = gsofa::gpu::maxid_options(),
    .unavailable = gsofa::gpu::unavailable,
    .create = [] { return gsofa::gpu::make_maxid({}); },
});
