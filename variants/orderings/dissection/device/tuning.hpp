#pragma once

// Tuning of the stages of nested dissection on a device. Every constant has the value of the device
// and that of the emulator, where small graphs must take every path. No order depends on any of
// them.

#include <array>
#include <cstddef>

#include "common/types.hpp"

namespace gsofa::orders::device {

/// The value for this compilation: by nvcc for a device, by a host compiler for the emulator.
template <class T>
constexpr T by_target([[maybe_unused]] const T& device, [[maybe_unused]] const T& emulator) {
#if defined(__CUDACC__)
  return device;
#else
  return emulator;
#endif
}
inline constexpr bool is_emulated = by_target(false, true);

/// match.cu
struct match_tuning {
  /// Vertices of a graph that one block matches.
  static constexpr index_t small_graph = by_target(2048, 100);
  /// Words of the bit set of a window of vertices, in which the guests of a long row are found.
  static constexpr unsigned bitmap_words = by_target(1024U, 2U);
};

/// contract.cu
struct contract_tuning {
  /// Slots of the table of a group of lanes, for the row of one coarse vertex.
  static constexpr unsigned table_slots = by_target(128U, 32U);
};

/// first_cut.cu
struct first_cut_tuning {
  /// Vertices of a graph whose first separator needs shared memory only.
  static constexpr index_t near_order = by_target(512, 64);
};

/// project.cu
struct project_tuning {
  static constexpr index_t items_per_thread = 8;
};

/// refine.cu
struct refine_tuning {
  /// A trial with at least this many vertices is large: a block of its own kind refines it.
  static constexpr index_t large_order = by_target(4096, 1000);
  /// Threads of a block that refines a large trial: where S is large, where S is small, and where
  /// there are more large trials than multiprocessors.
  static constexpr int threads_of_rounds = by_target(1024, 96);
  static constexpr int threads_of_steps = by_target(512, 64);
  static constexpr int threads_of_many = by_target(256, 64);
  /// Candidates in shared memory: of a large trial in rounds where there are few such trials, where
  /// there are many, in steps; of a small trial, at most; of a small trial whose graph is in global
  /// memory.
  static constexpr index_t near_of_few = by_target(8192, 128);
  static constexpr index_t near_of_many = by_target(4096, 128);
  static constexpr index_t near_of_steps = by_target(2048, 128);
  static constexpr index_t most_near_slots = by_target(1024, 512);
  static constexpr index_t far_room = 256;
  /// Small trials whose graphs are in shared memory come in at most this many waves.
  static constexpr index_t most_waves = 3;
  /// Bytes of shared memory of a block on the emulator: not all graphs fit.
  static constexpr std::size_t emulated_shared_bytes = 24 * 1024;
  /// Bytes of shared memory that the system takes of each block.
  static constexpr std::size_t block_overhead = 1024;
};

/// leaves.cu
struct leaf_tuning {
  /// Entries of a row that lanes of a group share; a block takes a longer row.
  static constexpr offset_t long_row = by_target<offset_t>(256, 12);
  static constexpr int threads = by_target(128, 64);
  static constexpr int threads_of_large = by_target(256, 96);
  /// Bytes of shared memory of the classes of leaves; a leaf that needs more has its rows in global
  /// memory.
  static constexpr std::array<std::size_t, 4> shared_classes =
      by_target<std::array<std::size_t, 4>>({14 * 1024, 28 * 1024, 56 * 1024, 110 * 1024},
                                            {1024, 2048, 4096, 8192});
};

/// flow.cu
struct flow_tuning {
  /// Blocks of the cluster of a part, at most.
  static constexpr int most_blocks = by_target(8, 2);
  static constexpr int threads = by_target(1024, 64);
  static constexpr int threads_of_many = by_target(256, 32);
};

/// levels.cu
struct level_tuning {
  static constexpr int threads = by_target(512, 64);
};

}  // namespace gsofa::orders::device
