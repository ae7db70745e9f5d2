// labels: oracle
// program: emulated
// Each stage on the host and on the device, on the same patterns: forest, cut, lists, masks, close
// and eliminate.
#include <doctest/doctest.h>

#include "common/mask_pattern.hpp"
#include "common/variant.hpp"
#include "variants/device/simt.hpp"
#include "variants/panels/runs/build.hpp"
#include "variants/panels/stage_cases.hpp"

using namespace gsofa;

namespace {

// The stages of the device up to masks that hold A. Device memory is host memory in this program.
struct device_stages {
  device_stages(const pattern& a, const panels::panel_limits& limits) {
    budget.set_limit(offset_t{1} << 28);
    matrix.upload(a, budget);
    structure.prepare(a.n_rows, budget);
    run_context context;
    REQUIRE(panels::build(panels::view_of(matrix), structure, waves, limits, budget, context));
    view = structure.view();
  }

  gpu::memory_budget budget;
  gpu::device_matrix matrix;
  panels::panel_arrays structure;
  panels::wave_places waves;
  panels::panel_view view{};
};

// Calls body(pattern, panel width, host forest, device stages) for all cases that the device takes,
// in two forms of the device: boundaries by a table, and per target panel.
template <class Body>
void on_all_cases(const Body& body) {
  std::uint64_t turn = 0;
  panels::ordered_graph g;
  for (const auto& [name, a] : panels::stage_cases()) {
    if (a.n_rows == 0) continue;  // the variants answer without a stage
    CAPTURE(name);
    g.build(a);
    for (const index_t width : {1, 3, 16, 64}) {
      CAPTURE(width);
      simt::emulator::set_seed(++turn);
      const index_t many = turn % 2 == 0 ? 1 : a.n_rows + 1;
      const device_stages device(a, {.width = width, .many_vertices = many});
      body(width, g, device);
    }
  }
}

// The panels of the device (first vertex of each, then n) with the lists and masks of the host.
panels::panel_set host_lists(const panels::ordered_graph& g, std::span<const index_t> begin) {
  panels::panel_set s;
  static_cast<panels::panel_tree&>(s) = panels::tree_of_cut(g, begin);
  panels::position_builder builder;
  REQUIRE(builder.build(g, s, max_index));
  return s;
}

}  // namespace

TEST_CASE("forest: host and device find the same elimination tree and the same postorder") {
  int relabelled = 0;
  int kept = 0;
  on_all_cases([&](index_t, const panels::ordered_graph& g, const device_stages& device) {
    REQUIRE(device.view.n == g.n);
    index_t differ = 0;
    for (index_t v = 0; v < g.n; ++v) {
      const auto parent = static_cast<index_t>(device.structure.tree_parent.data()[v]);
      differ += (parent < 0 || parent >= g.n ? -1 : parent) == g.parent[at(v)] ? 0 : 1;
      differ += device.view.caller(v) == g.caller(v) ? 0 : 1;
    }
    CHECK(differ == 0);
    ++(g.order.empty() ? kept : relabelled);
  });
  CHECK(relabelled > 80);
  CHECK(kept > 80);
}

TEST_CASE("cut: panels of host and device have one parent outside each") {
  int several = 0;
  on_all_cases([&](index_t width, const panels::ordered_graph& g, const device_stages& device) {
    panels::panel_tree host;
    panels::cut_panels(g, width, host);
    CHECK(panels::fault_of_cut(g, host, width) == "");
    const panels::panel_view& p = device.view;
    const panels::panel_tree tree = panels::tree_of_cut(g, {p.begin, at(p.panels) + 1});
    CHECK(panels::fault_of_cut(g, tree, width) == "");
    CHECK(std::equal(tree.panel_of.begin(), tree.panel_of.end(), p.panel_of));
    CHECK(std::equal(tree.parent.begin(), tree.parent.end(), p.parent));
    several += p.panels > 3 ? 1 : 0;
  });
  CHECK(several > 200);
}

TEST_CASE("lists: host and device find the same positions on the panels of the device") {
  index_t beyond = 0;
  on_all_cases([&](index_t, const panels::ordered_graph& g, const device_stages& device) {
    const panels::panel_view& p = device.view;
    const panels::panel_set s = host_lists(g, {p.begin, at(p.panels) + 1});
    bool same = true;
    for (index_t j = 0; same && j < s.panels(); ++j) {
      const std::vector<index_t> list = s.list(j);
      same = std::ranges::equal(
          list, std::span(p.columns + p.position_begin[j], static_cast<std::size_t>(p.length(j))));
      // The blocks of the host's list, the panel itself aside, are the column blocks of the device.
      offset_t q = p.column_block_begin[j];
      for (const panels::list_block& b : s.blocks[at(j)].subspan(1)) {
        same = same && q < p.column_block_begin[j + 1] && p.column_block_panel[q] == b.panel &&
               p.column_block_mask[q] == b.members && p.column_block_first[q] == b.base;
        ++q;
      }
      same = same && q == p.column_block_begin[j + 1];
      beyond += s.length(j) - s.width(j);
    }
    CHECK(same);
  });
  CHECK(beyond > 10'000);
}

TEST_CASE("masks: host and device set the same bits of A") {
  index_t set = 0;
  on_all_cases([&](index_t, const panels::ordered_graph& g, const device_stages& device) {
    const panels::panel_view& p = device.view;
    const panels::panel_set s = host_lists(g, {p.begin, at(p.panels) + 1});
    index_t differ = 0;
    for (index_t j = 0; j < s.panels(); ++j) {
      const panels::mask_pair* const found = p.masks + p.position_begin[j];
      for (std::size_t z = 0; z < s.masks[at(j)].size(); ++z) {
        const panels::mask_pair& m = s.masks[at(j)][z];
        differ += found[z].upper == m.upper && found[z].lower == m.lower ? 0 : 1;
        set += m.upper != 0 || m.lower != 0 ? 1 : 0;
      }
    }
    CHECK(differ == 0);
  });
  CHECK(set > 10'000);
}

namespace {

// Whether the device returns masks; differ: the masks that are not those of the host.
bool has_masks(const pattern& a, const char* width, index_t& differ) {
  const variant_info& info = find_variant("gpu_bitmap_panels");
  run_settings settings =
      settings_with(info, want::pattern, {{"panel_width", width}, {"memory_budget_mb", "40"}});
  settings.supernodal = true;
  run_context context;
  const auto v = info.create();
  v->prepare(a, settings, context);
  run_timed(*v, context);
  mask_pattern found;
  if (!dynamic_cast<gives_masks&>(*v).masks_into(found)) return false;
  panels::ordered_graph g;
  g.build(a);
  REQUIRE(g.order.empty());
  panels::panel_set s = host_lists(g, found.begin);
  REQUIRE(s.position_begin == found.position_begin);
  panels::eliminate_on_host(g, s);
  differ = 0;
  std::size_t p = 0;
  for (const std::span<panels::mask_pair> of_panel : s.masks) {
    for (const panels::mask_pair& m : of_panel) {
      differ += found.masks[p] == m.upper && found.masks[p + 1] == m.lower ? 0 : 1;
      p += 2;
    }
  }
  return true;
}

}  // namespace

TEST_CASE("close and eliminate: host and device find the same masks of L + U") {
  int symmetric = 0;
  int unsymmetric = 0;
  std::uint64_t turn = 0;
  for (const auto& [name, a] : panels::stage_cases()) {
    if (a.n_rows == 0) continue;
    CAPTURE(name);
    for (const char* width : {"1", "4", "64"}) {
      CAPTURE(width);
      simt::emulator::set_seed(++turn);
      index_t differ = 0;
      if (!has_masks(a, width, differ)) continue;
      CHECK(differ == 0);
      ++(transpose(a) == a ? symmetric : unsymmetric);
    }
  }
  CHECK(symmetric > 30);
  CHECK(unsymmetric > 60);
}
