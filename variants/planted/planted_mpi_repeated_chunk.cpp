// planted_mpi_repeated_chunk: deliberately wrong;
// the last chunk of a node is counted twice.
//
// The distributed driver with its own check of chunks turned off, so that the verification of
// results must find the fault, with any number of ranks, one included.

#include "variants/maxid/distributed/maxid_cpu_variant.hpp"

GSOFA_REGISTER_VARIANT({
    .name = "planted_mpi_repeated_chunk",
    .device = "mpi",
    .summary = "deliberately wrong: the last chunk of a node is counted twice",
    .citation = "variants/README.md: every oracle must be able to fail",
    .options = gsofa::maxid::planted_distribution_options(),
    .distributed = true,
    .planted = "the last chunk of a node is counted twice",
    .create =
        [] {
          return std::make_unique<gsofa::maxid::maxid_cpu_variant>(
              gsofa::maxid::distribution_fault::repeated_chunk);
        },
});
