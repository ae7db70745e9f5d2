// labels: oracle
// program: emulated
// The elimination of panels on the emulated device against the elimination on the host, on the same
// panels: masks that hold A become the same masks of L + U.
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "common/generators.hpp"
#include "harness/check/test_patterns.hpp"
#include "variants/panels/eliminate/eliminate.hpp"
#include "variants/panels/elimination.hpp"

using namespace gsofa;
namespace host = gsofa::panels;

namespace {

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
      by.sweep(by.factor(j), 0, s.blocks[at(j)].size(), max_index);
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

bool same_masks(const host::panel_set& s, const std::vector<panels::mask_pair>& found) {
  std::size_t at_position = 0;
  for (const auto& masks : s.masks) {
    for (const auto& m : masks) {
      const panels::mask_pair& other = found[at_position++];
      if (m.upper != other.upper || m.lower != other.lower) return false;
    }
  }
  return at_position == found.size();
}

}  // namespace

TEST_CASE("panels that warps, blocks and clusters eliminate have the masks of the host") {
  std::vector<named_pattern> patterns = special_patterns();
  for (std::uint64_t k = 0; k < 40; ++k) patterns.push_back(random_pattern(60, k));
  for (const char* spec : {"grid7:nx=5,oneway=1", "grid27:nx=4,drop=0.3", "dg:nx=3,nz=1",
                           "convection:nx=5,conductive=0.3", "random:n=120,degree=3,seed=2"}) {
    patterns.push_back({spec, generate(spec)});
  }
  int turn = 0;
  offset_t tasks = 0;
  for (const auto& [name, a] : patterns) {
    if (a.n_rows == 0) continue;
    CAPTURE(name);
    for (const int width : {64, 5, 1}) {
      CAPTURE(width);
      host_panels expected(a, width);
      device_panels found(expected.s);
      ++turn;
      panels::panel_elimination elimination;
      gpu::memory_budget budget;
      budget.set_limit(offset_t{1} << 26);
      elimination.prepare(a.n_rows,
                          {.warps_per_block = 1 + turn % 5,
                           .warp_positions = turn % 2 == 0 ? 8 : 20,
                           .few_panels = turn % 7 == 0 ? 16 : 0,
                           .cluster_positions = turn % 3 == 0 ? 1 << 20 : 24,
                           .blocks_per_cluster = 1 + turn % 4,
                           .far_targets = static_cast<panels::handing_over>(turn % 3),
                           .most_far_work = turn % 4 * 30,
                           .sharing_positions = 0,
                           .near_steps_of_blocks = turn % 2,
                           .near_steps_of_clusters = turn % 2},
                          budget);
      simt::emulator::set_seed(static_cast<std::uint64_t>(turn));
      elimination.run(found.input, {0, expected.s.panels()});
      tasks += elimination.tasks();
      expected.eliminate();
      CHECK(same_masks(expected.s, found.masks));
    }
  }
  CHECK(tasks > 100);
}
