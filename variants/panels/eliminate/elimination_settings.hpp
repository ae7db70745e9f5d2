#pragma once

/// Settings of the elimination on the GPU, and the control block that its launches share.

#include <cstdint>

#include "common/types.hpp"

namespace gsofa::panels {

/// Whether blocks and clusters hand over updates of far targets. `automatic`: they do once the
/// update rounds of workers that do not hand over have cost most_far_work.
enum class handing_over { automatic, on, off };

/// How panels are divided among warps, blocks and clusters. The values are those for a GPU and for
/// the emulator; tests set smaller values. Users set blocks_per_cluster and far_targets as options.
struct elimination_settings {
  int warps_per_block = 16;
  index_t warp_positions = 128;  ///< a warp eliminates panels of at most this many positions
  index_t few_panels = 16;  ///< per multiprocessor; blocks take all if there are no more panels
  index_t cluster_positions = 2048;  ///< a cluster eliminates panels of more positions
  int blocks_per_cluster = 4;        ///< 1: no clusters
  handing_over far_targets = handing_over::automatic;
  /// In units of work: 8 per update round, 3 per target and step of a sweep; -1: the number of
  /// panels, which is one round for every eighth panel.
  std::int64_t most_far_work = -1;
  /// Workers also hand over, from the second launch on, if the update rounds of warps have cost
  /// more than this per panel of warps. 42 is nearly four rounds of one step.
  index_t fair_work = 42;
  index_t sharing_positions = 512;  ///< `automatic` is `off` where no panel has more positions
  /// A worker that hands over updates its nearest target itself, and further targets of the first
  /// round while the positions of all these are at most 4 times this number per thread.
  index_t near_steps_of_blocks = 2;
  index_t near_steps_of_clusters = 1;
  index_t most_tasks = -1;  ///< room for tasks; -1: n / 8, at least 1,024
};

/// What the launches of one wave count in device memory. All words are zero before every wave.
struct elimination_control {
  static constexpr int lists = 4;  ///< the last one remains empty
  std::uint32_t leaf_ticket;       ///< of the first launch: panels that warps have drawn
  std::uint32_t ticket[lists];     ///< panels drawn from each list
  std::uint32_t count[lists];      ///< panels on each list
  std::uint32_t unused;
  /// The work of the update rounds of warps, less fair_work for each of their panels, mod 2^64.
  unsigned long long excess;

  static constexpr offset_t words = 12;
};
static_assert(sizeof(elimination_control) == 4 * elimination_control::words);

}  // namespace gsofa::panels
