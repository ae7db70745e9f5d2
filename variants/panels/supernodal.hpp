#pragma once

#include "common/supernodal.hpp"
#include "variants/panels/lists.hpp"

namespace gsofa::panels {

/// Arrays over the vertices that supernodal_of_panels() uses; kept between calls.
struct supernodal_scratch {
  std::vector<std::uint8_t> joins;
  std::vector<index_t> supernode, last;
  std::vector<offset_t> next;
};

/// Supernodes of columns from the masks of factored panels (PROOFS.md, "Supernodes of columns").
/// Before: the vertices are not relabelled. Reuses the arrays of `scratch` and `out`. O(positions +
/// rows + segments).
void supernodal_of_panels(const panel_set& s, const supernode_rule& rule,
                          supernodal_scratch& scratch, supernodal_pattern& out);

}  // namespace gsofa::panels
