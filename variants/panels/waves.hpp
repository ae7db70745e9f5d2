#pragma once

#include <optional>
#include <span>
#include <vector>

#include "common/types.hpp"

namespace gsofa::panels {

/// Panels begin .. end - 1.
struct panel_range {
  index_t begin, end;
};

/// Panels that are eliminated together, and the panels that get a place for this wave: the panels
/// of the range and the ancestors of its last panel, except those that have a place already.
struct panel_wave {
  panel_range panels;
  std::vector<index_t> fresh;   ///< panels that get a place
  std::vector<offset_t> place;  ///< place of the first position of each
};

/// Divides panels, numbered in postorder, into ranges such that the positions of a range and of all
/// ancestors of its panels fit in `room` (PROOFS.md, "Waves"). lengths: number of positions of each
/// panel; parent: -1 for roots. Each range takes as many panels as fit. Returns nullopt if a single
/// panel and its ancestors find no places. O(panels + waves * depth).
std::optional<std::vector<panel_wave>> plan_waves(std::span<const index_t> lengths,
                                                  std::span<const index_t> parent, offset_t room);

/// The largest number of positions of a panel and its ancestors. plan_waves() needs at least this
/// much room.
offset_t longest_path(std::span<const index_t> lengths, std::span<const index_t> parent);

}  // namespace gsofa::panels
