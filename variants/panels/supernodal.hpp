#pragma once

#include "common/supernodal.hpp"
#include "variants/panels/panels.hpp"

namespace gsofa::detail {

/// Supernodes of columns from the masks of factored panels, in time proportional to positions, row
/// lists and segments. The vertices must have the caller's numbering.
supernodal_pattern supernodal_of_panels(const panel_set& s, const supernode_rule& rule);

}  // namespace gsofa::detail
