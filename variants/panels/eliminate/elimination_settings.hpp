#pragma once

/// Settings of the elimination on the GPU, and the words of memory that its launches share.

#include <cstddef>
#include <cstdint>

#include "common/types.hpp"

namespace gsofa::panels {

/// Whether blocks and clusters hand over updates of far targets; `automatic`: from the point on
/// where the update rounds of those that do not have cost most_far_work.
enum class handing_over { automatic, on, off };

/// How panels are divided among warps, blocks and clusters.
struct elimination_settings {
  int warps_per_block = 16;
  index_t warp_positions = 128;  ///< a warp eliminates panels of at most this many positions
  index_t few_panels = 16;       ///< per multiprocessor: blocks eliminate all of at most so many
  index_t cluster_positions = 2048;  ///< a cluster eliminates panels of more positions
  int blocks_per_cluster = 4;        ///< 1: no clusters
  handing_over far_targets = handing_over::automatic;
  /// Units as of most_update_work; -1: the number of panels. A round for every eighth panel.
  std::int64_t most_far_work = -1;
  /// Or from the second launch on, if those of warps have cost more for each of their panels:
  /// nearly four rounds of one step.
  index_t fair_work = 42;
  index_t sharing_positions = 512;  ///< `automatic` is `off` where no panel has more positions
  /// Workers that hand over update targets of the first round themselves as far as their positions
  /// are so many for each thread, in groups of four; the nearest one in any case.
  index_t near_steps_of_blocks = 2;
  index_t near_steps_of_clusters = 1;
  index_t most_tasks = -1;  ///< room for so many handed over; -1: an eighth of n, at least 1,024
  /// Limit of the work of all update rounds: 8 for a round, 3 for a step of a sweep; -1: none.
  std::int64_t most_update_work = -1;
};

/// What the launches of one wave count in device memory. All words are zero before the first wave;
/// before every later wave the first words_of_wave are set to zero again.
struct elimination_control {
  static constexpr int lists = 4;  ///< the last one remains empty
  std::uint32_t leaf_ticket;       ///< of the first launch: panels that warps have drawn
  std::uint32_t ticket[lists];     ///< panels drawn from each list
  std::uint32_t count[lists];      ///< panels on each list
  std::uint32_t unused;
  /// The work of the update rounds of warps, less fair_work for each of their panels, mod 2^64.
  unsigned long long excess;
  unsigned long long update_work;  ///< of the update rounds of all waves

  static constexpr offset_t words_of_wave = 12;
};
static_assert(offsetof(elimination_control, update_work) == 4 * elimination_control::words_of_wave);

}  // namespace gsofa::panels
