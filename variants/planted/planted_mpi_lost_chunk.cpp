// planted_mpi_lost_chunk: deliberately wrong;
// chunks that do not divide evenly among the workers are done by nobody.
//
// The distributed driver with its own check of chunks turned off, so that the verification of
// results must find the fault, with any number of ranks, one included.

#include "variants/maxid/distributed/maxid_cpu_variant.hpp"

GSOFA_REGISTER_VARIANT({
    .name = "planted_mpi_lost_chunk",
    .device = "mpi",
    .summary =
        "deliberately wrong: chunks that do not divide evenly among the workers are done by nobody",
    .citation = "variants/README.md: every oracle must be able to fail",
    .options = gsofa::maxid::planted_distribution_options(),
    .distributed = true,
    .planted = "chunks that do not divide evenly among the workers are done by nobody",
    .create =
        [] {
          return std::make_unique<gsofa::maxid::maxid_cpu_variant>(
              gsofa::maxid::distribution_fault::lost_chunk);
        },
});
