#pragma once

/// Settings of the GPU variants of this family that tests vary and users need not.

#include <memory>

#include "common/variant.hpp"
#include "variants/panels/eliminate/elimination_settings.hpp"
#include "variants/panels/panel_arrays.hpp"

namespace gsofa::panels {

#if defined(GSOFA_GPU)

/// Whether masks are closed as those of a symmetric pattern before panels are eliminated: if A is
/// symmetric as far as counted, or never, or always.
enum class closing_masks : char { where_symmetric, never, always };

struct panel_tuning {
  elimination_settings elimination{};
  offset_t most_positions = 0;  ///< as in panel_limits
  bool waves = true;            ///< several, if not all positions are admitted at once
  closing_masks closing = closing_masks::where_symmetric;
  index_t many_vertices = list_tuning::many_vertices;  ///< as in panel_limits
};
std::unique_ptr<variant> make_bitmap_panels(const panel_tuning& tuning);

#endif

}  // namespace gsofa::panels
