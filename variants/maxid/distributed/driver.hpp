#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/mpi_context.hpp"
#include "common/variant.hpp"
#include "variants/maxid/distributed/engine.hpp"

namespace gsofa::maxid {

/// A fault for the self-test of verification to find; never set by an honest variant.
enum class distribution_fault {
  none,
  lost_chunk,      ///< no worker finds the chunk that begins a worker's second batch share
  repeated_chunk,  ///< a node finds and counts its last chunk twice
};

/// The options that all variants on this driver have: schedule.
std::vector<option_spec> distribution_options();

/// Runs the rows of a matrix on the workers of all ranks of the job (paper Section 5). Collective:
/// every rank makes one, and calls run() and collect() alike.
///
/// Chunks of chunk_size consecutive rows are the unit of scheduling and of supernode detection:
/// a chunk is found and searched for supernodes by one node, so that no message is needed before
/// the results are gathered. Every rank holds the O(n) arrays of counts, digests and supernode
/// marks, and the entries of its own rows if the pattern is requested.
class distributed_driver {
 public:
  /// `a` and `engine` outlive this. The driver reads the option schedule. Adds the quantities of
  /// the paper's equation to context.derived.
  distributed_driver(const pattern_view& a, const run_settings& settings, node_engine& engine,
                     run_context& context, distribution_fault fault = distribution_fault::none);
  ~distributed_driver();

  /// The timed part. If any worker of any rank throws, all workers stop at their next batch and all
  /// ranks throw alike.
  void run(run_context& context);
  /// Rank 0: counts, digests and supernodes of all rows; another rank: empty arrays. Every rank:
  /// its own rows of the pattern, listed in result::pattern_rows if there are several ranks. Throws
  /// error if no rank or several found some row.
  result collect(want_set wants);

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace gsofa::maxid
