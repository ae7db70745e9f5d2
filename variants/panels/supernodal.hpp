#pragma once

#include "common/supernodal.hpp"
#include "variants/panels/panels.hpp"

namespace gsofa::detail {

/// What the search for supernodes needs for each vertex.
struct supernodal_scratch {
  std::vector<std::uint8_t> joins;
  std::vector<index_t> supernode, last;
  std::vector<offset_t> next;
};

/// Supernodes of columns from the masks of factored panels, in time proportional to positions, row
/// lists and segments. The vertices must have the caller's numbering.
/// Arrays of `scratch` and `out` are used again.
void supernodal_of_panels(const panel_set& s, const supernode_rule& rule,
                          supernodal_scratch& scratch, supernodal_pattern& out);

}  // namespace gsofa::detail
