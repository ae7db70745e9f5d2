#pragma once

/// Stage 6 of symmetric patterns on the device: masks of A -> masks of L + U without elimination.

#include "variants/panels/panel_arrays.hpp"

namespace gsofa::panels {

#if defined(GSOFA_GPU)

/// Where the entries of the rows of L and U are counted; null: they are not.
struct row_counts {
  std::uint32_t* l = nullptr;
  std::uint32_t* u = nullptr;
};

/// Completes the masks of the panels of one wave, which hold A; waves ascend. Adds the entries of
/// these panels to `counts`, as count_rows() does. Masks and counts are those of L and U unless
/// `refuted`, in pinned memory of the host, becomes 1: L was not U transposed. Asynchronous.
void close_masks(const panel_arrays& p, panel_range wave, row_counts counts,
                 std::uint32_t* refuted);

#endif

}  // namespace gsofa::panels
