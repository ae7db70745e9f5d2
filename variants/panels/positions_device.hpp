#pragma once

/// Stage 4 on the device: column blocks -> position lists, places in the lists of parents, empty
/// masks.

#include "variants/panels/panel_arrays.hpp"

namespace gsofa::panels {

#if defined(GSOFA_GPU)

/// Writes them for all panels.
void write_positions(const panel_arrays& p);

/// Panels that are assigned a place, and the places.
struct fresh_panels {
  index_t count;
  const index_t* panel;
  const offset_t* begin;
};

/// Assigns the panels their places and writes their positions.
void write_positions(const panel_arrays& p, const fresh_panels& fresh);

#endif

}  // namespace gsofa::panels
