#pragma once

/// Tuning constants of the stages on the device. The emulator has its own values: on it, small
/// patterns must come to every limit, and threads cost time.

#include <cstdint>

#include "common/types.hpp"

namespace gsofa::panels {

/// The value of a constant on the device and on the emulator.
template <class T>
constexpr T tuned([[maybe_unused]] T device, [[maybe_unused]] T emulator) {
#if defined(__CUDACC__)
  return device;
#else
  return emulator;
#endif
}

/// Lists (lists.cu, masks.cu).
struct list_tuning {
  /// Patterns with at least this many vertices find boundaries per target panel; on smaller
  /// patterns the extra host synchronisations would dominate.
  static constexpr index_t many_vertices = tuned<index_t>(400'000, 24);
  /// Places of the table of column blocks: at least these, and these per vertex. Most inputs have
  /// fewer column blocks than vertices.
  static constexpr offset_t least_capacity = tuned<offset_t>(1024, 8);
  static constexpr offset_t blocks_per_vertex = tuned<offset_t>(2, 0);
  /// Places of the tables in shared memory.
  static constexpr std::uint32_t near_slots = tuned<std::uint32_t>(512, 4);
};

/// Closed masks (close.cu).
struct close_tuning {
  static constexpr int threads = tuned(256, 64);  ///< of a block
};

/// Counts and rows (counts.cu, rows.cu).
struct result_tuning {
  static constexpr int threads = tuned(256, 64);  ///< of a block that counts
  /// Blocks that write rows have at least this many entries each; with fewer they take longer.
  static constexpr offset_t entries_of_a_block = tuned<offset_t>(40'000, 400);
};

}  // namespace gsofa::panels
