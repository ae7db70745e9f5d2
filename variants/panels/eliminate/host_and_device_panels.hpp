#pragma once

/// The same panels on the host and in the arrays of the device, for tests on the emulator.

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "variants/panels/eliminate/eliminate.hpp"
#include "variants/panels/elimination.hpp"

namespace gsofa::testing {

namespace host = gsofa::panels;

// Panels of a pattern whose masks hold A.
struct host_panels {
  host::ordered_graph g;
  host::panel_set s;
  host::position_builder builder;

  host_panels(const pattern& a, int width) {
    g.build(a);
    host::cut_panels(g, width, s);
    REQUIRE(builder.build(g, s, max_index));
    if (!g.symmetric()) return;
    // The host works on one side of a symmetric pattern.
    for (const auto& masks : s.masks) {
      for (auto& m : masks) m.lower = m.upper;
    }
  }
  void eliminate() {
    host::panel_eliminator by(s);
    for (index_t j = 0; j < s.panels(); ++j) {
      by.factor_boundary_and_update(by.factor(j), 0, s.blocks[at(j)].size(), max_index);
    }
  }
};

// The same panels in the arrays of the device, whose memory is that of the host here.
struct device_panels {
  std::vector<index_t> above, single_child_steps, lengths, column_block_panel, column_block_first,
      columns, in_parent;
  std::vector<offset_t> column_block_begin{0};
  std::vector<std::uint64_t> column_block_mask;
  std::vector<panels::mask_pair> masks;
  std::vector<std::uint32_t> children, finished;
  panels::elimination_control control{};
  panels::elimination_input input{};

  explicit device_panels(const host::panel_set& s) {
    const auto count = static_cast<std::size_t>(s.panels());
    children.assign(count, 0);
    finished.assign(count, 0);
    for (const index_t parent : s.parent) {
      if (parent >= 0) ++children[at(parent)];
    }
    for (index_t j = 0; j < s.panels(); ++j) add_panel(s, j);
    panels::panel_view& p = input.panels;
    p.panels = s.panels();
    p.begin = s.begin.data();
    p.panel_of = s.panel_of.data();
    p.parent = s.parent.data();
    p.above = above.data();
    p.single_child_steps = single_child_steps.data();
    p.column_block_begin = column_block_begin.data();
    p.position_begin = s.position_begin.data();
    p.lengths = lengths.data();
    p.column_block_panel = column_block_panel.data();
    p.column_block_mask = column_block_mask.data();
    p.column_block_first = column_block_first.data();
    p.columns = columns.data();
    p.in_parent = in_parent.data();
    p.masks = masks.data();
    input.children = children.data();
    input.finished = finished.data();
    input.control = reinterpret_cast<std::uint32_t*>(&control);
    input.longest = lengths.empty() ? 0 : *std::ranges::max_element(lengths);
  }

 private:
  void add_panel(const host::panel_set& s, index_t j) {
    index_t steps = 0;
    bool single = true;
    index_t panel = s.parent[at(j)];
    for (index_t k = 0; k < panels::most_steps; ++k) {
      above.push_back(panel);
      if (panel < 0) continue;
      single = single && children[at(panel)] == 1;
      steps += single ? 1 : 0;
      panel = s.parent[at(panel)];
    }
    single_child_steps.push_back(steps);
    lengths.push_back(s.length(j));
    for (const auto& block : s.blocks[at(j)].subspan(1)) {
      column_block_panel.push_back(block.panel);
      column_block_mask.push_back(block.members);
      column_block_first.push_back(block.base);
    }
    column_block_begin.push_back(static_cast<offset_t>(column_block_panel.size()));
    for (const auto& m : s.masks[at(j)]) masks.push_back({m.upper, m.lower});
    for (const index_t f : s.list(j)) {
      columns.push_back(f);
      const bool is_boundary = f >= s.begin[at(j) + 1];
      in_parent.push_back(is_boundary ? s.place(s.parent[at(j)], f) : -1);
    }
  }
};

inline bool same_masks(const host::panel_set& s, const std::vector<panels::mask_pair>& found) {
  std::size_t at_position = 0;
  for (const auto& masks : s.masks) {
    for (const auto& m : masks) {
      const panels::mask_pair& other = found[at_position++];
      if (m.upper != other.upper || m.lower != other.lower) return false;
    }
  }
  return at_position == found.size();
}

}  // namespace gsofa::testing
