#pragma once

/// Tables of column blocks in shared memory.

#include "variants/device/matrix_entries.hpp"
#include "variants/panels/boundaries.hpp"
#include "variants/panels/device_tuning.hpp"

namespace gsofa::panels {

#if defined(GSOFA_GPU)

inline constexpr std::uint64_t no_key = 0;

inline constexpr std::uint32_t near_slots = list_tuning::near_slots;

GSOFA_DEVICE std::uint32_t near_slot(std::uint64_t key) {
  const std::uint32_t mixed = static_cast<std::uint32_t>(key >> 32) * 0x9e3779b1U +
                              static_cast<std::uint32_t>(key) * 0x85ebca6bU;
  return (mixed >> 16) % near_slots;
}

/// Launches a kernel on entries that has a table in shared memory, behind what for_each_lane()
/// needs.
template <class Table, class... P, class... A>
void launch_with_table(void (*kernel)(matrix_view, P...), const matrix_view& a, A... arguments) {
  launch_overlapping(kernel, blocks_for((a.nnz - 1) / a.per_thread + 1), threads_per_block,
                     sizeof(row_window) + sizeof(Table), a, arguments...);
}

#endif

}  // namespace gsofa::panels
