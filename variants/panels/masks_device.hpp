#pragma once

/// Stage 5 on the device: the masks of the entries of A.

#include "variants/panels/panel_arrays.hpp"

namespace gsofa::panels {

#if defined(GSOFA_GPU)

/// Sets the bits of the entries of A in the panels, whose masks are empty.
void set_masks(const matrix_view& a, const panel_arrays& p);

/// The same in the panels from `from` on that have a place. A panel that had one in the wave before
/// is not factored yet, and has these bits already.
void set_masks_of_wave(const matrix_view& a, const panel_arrays& p, index_t from);

#endif

}  // namespace gsofa::panels
