#pragma once

#include <optional>
#include <span>
#include <vector>

#include "common/types.hpp"

namespace gsofa {

/// Panels begin .. end - 1.
struct panel_range {
  index_t begin, end;
};

/// Panels that are eliminated together, and the panels that need a place from then on: those of the
/// range and the ancestors of its last panel, as far as they had none before.
struct panel_wave {
  panel_range panels;
  std::vector<index_t> fresh;   ///< panels that are assigned a place
  std::vector<offset_t> place;  ///< of the first position of each
};

/// Divides the panels of a tree, children before parents and subtrees contiguous, into ranges, such
/// that the positions of a range and of all ancestors of its panels fit in `room`. lengths: number
/// of positions of each panel; parent: -1 for roots. A range takes as many panels as fit. Returns
/// nullopt where a single panel and its ancestors do not find places. O(panels + waves * depth).
///
/// An ancestor of a panel before b that is not before b itself is an ancestor of panel b - 1: its
/// subtree is contiguous. So what a wave has to hold is its range and one path.
std::optional<std::vector<panel_wave>> plan_waves(std::span<const index_t> lengths,
                                                  std::span<const index_t> parent, offset_t room);

/// The most positions of a panel and its ancestors: no room below this one is enough.
offset_t longest_path(std::span<const index_t> lengths, std::span<const index_t> parent);

}  // namespace gsofa
