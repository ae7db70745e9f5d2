#pragma once

#include <optional>

namespace gsofa {

/// True if a launcher such as mpirun started this process; calls no MPI routine.
bool has_launcher();

/// The rank of this process as its launcher states it, 0 without a launcher; calls no MPI routine.
int launched_rank();

/// The number of ranks that the launcher started; nullopt without a launcher. Calls no MPI routine.
std::optional<int> launched_ranks();

/// Processes of the job as the launcher counts them; 1 where it does not say.
struct job_size {
  int of_node = 1;
  int of_job = 1;
  bool is_known = false;  ///< the launcher says both
};
job_size size_of_job();

/// Seconds after which a collective that has not ended is taken to hang, though some rank is still
/// at work: GSOFA_MPI_LIMIT of the environment, 7,200 by default; 0: no limit. Throws input_error
/// if the variable is no number of seconds.
double collective_limit();

}  // namespace gsofa
