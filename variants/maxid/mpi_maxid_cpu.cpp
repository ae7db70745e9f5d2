// mpi_maxid_cpu: the paper's algorithm on many nodes, with host threads in place of GPUs.
//
// One process (rank) is a node, and its host threads take the role of the node's GPUs (paper
// Section 5): chunks of chunk_size consecutive sources go to nodes and workers by one of the
// paper's three static schedules, or are taken from a shared counter in order of falling predicted
// work, which the paper does not have. A chunk stays on one node, so that supernode detection needs
// no message. Also runs as one process without MPI. Invariants: exactly one rank computes each
// chunk, once; counts, digests and supernodes do not depend on the number of ranks, workers or
// batches. Encoding of maxId, fill and the queue: variants/maxid/maxid.hpp. Cost: the work of
// cpu_maxid divided by the workers; per rank O(|V|) bytes of results, 8|V|#C bytes of state per
// worker, and the entries of its own rows if the pattern is requested; rank 0 receives 17 bytes per
// row.

#include "variants/maxid/distributed/maxid_cpu_variant.hpp"

GSOFA_REGISTER_VARIANT({
    .name = "mpi_maxid_cpu",
    .device = "mpi",
    .summary = "the maxId algorithm on all ranks of an MPI job and their host threads",
    .citation = "paper Section 5 (scheduling), Sections 4 and 6 (algorithm)",
    .options = gsofa::maxid::maxid_cpu_variant::options(),
    .multithreaded = true,
    .distributed = true,
    .create = [] { return std::make_unique<gsofa::maxid::maxid_cpu_variant>(); },
});
