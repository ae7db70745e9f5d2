// mpi_maxid: the paper's algorithm on all GPUs of all nodes (Section 5).
//
// One process (rank) drives the GPUs of its node, a host thread each; chunks of chunk_size
// consecutive sources go to nodes and GPUs by one of the paper's three static schedules, or are
// taken from a shared counter in order of falling predicted work. A chunk stays on one node: where
// its rows are interleaved over the node's GPUs, supernode detection reads the U counts and L(s, r)
// of the other GPUs' rows through managed memory or peer access. Counts, digests and supernodes do
// not depend on the number of ranks, GPUs or batches.
// Cost: the work of gpu_maxid divided by the GPUs; per GPU the memory of gpu_maxid.
// Engine and the encoding of its arrays: variants/maxid/mpi_maxid.cu; search:
// variants/maxid/maxid_search.cu; schedules: variants/maxid/distributed/.

#include "variants/device/gpu_variants.hpp"

GSOFA_REGISTER_VARIANT({
    .name = "mpi_maxid",
    .device = "mpi",
    .summary = "the maxId algorithm on all GPUs of all ranks of an MPI job",
    .citation = "paper Section 5 (scheduling, sharing), Sections 4 and 6 (algorithm)",
    .options = gsofa::gpu::distributed_maxid_options(),
    .distributed = true,
    .unavailable = gsofa::gpu::unavailable,
    .create = [] { return gsofa::gpu::make_distributed_maxid(); },
});
