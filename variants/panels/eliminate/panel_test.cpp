// labels: oracle
// program: emulated
// Each step of factor_and_update() on one panel against its host twin: the same panels, all panels
// below eliminated by the host.
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "common/generators.hpp"
#include "harness/check/test_patterns.hpp"
#include "variants/panels/eliminate/host_and_device_panels.hpp"
#include "variants/panels/eliminate/tasks.cuh"

using namespace gsofa;
using namespace gsofa::testing;
using namespace gsofa::panels::elimination;
using panels::mask_pair;
using panels::mask_t;

namespace {

// The steps up to one of them, in the order of factor_and_update().
enum class step { factor_diagonal, factor_boundary, factor_boundary_and_update, all };

template <tier Tier>
void run_step(const elimination_view& view, index_t j, step last, int& later_rounds) {
  const panel_place place = place_of(view.panels, j);
  const current_panel panel =
      current_panel_of<Tier>(view, j, place, *simt::shared_memory<worker_memory<Tier>>());
  if (panel.leads) panel.state.excess = 0;
  if (last == step::all) {
    factor_and_update<Tier>(panel);
    return;
  }
  offset_t round = place.column_block_begin;
  panel_masks loaded = load_panel<Tier>(panel, target_of_warp<Tier>(panel, round));
  set_target<Tier>(panel, target_of_warp<Tier>(panel, round));
  factor_diagonal<Tier>(panel, loaded.diagonal);
  if (last == step::factor_diagonal || !panel.has_boundary()) return;
  const panel_closures closures(panel);
  if (last == step::factor_boundary) {
    factor_boundary_and_update<Tier>(panel, closures, 0);
    return;
  }
  mask_t unpruned = unpruned_inside(panel.diagonal, place.width);
  factor_targets(closures, loaded.targets);
  const std::uint32_t active = find_routes<Tier>(panel, loaded.targets, round, unpruned);
  factor_boundary_and_update<Tier>(panel, closures, active);
  worker<Tier>::sync_wide();
  // All other targets: whether their rows have entries in the boundary does not matter.
  for (round += worker<Tier>::warps(); round < place.column_block_end;
       round += worker<Tier>::warps()) {
    const lane_masks targets = load_targets(panel, target_of_warp<Tier>(panel, round));
    set_target<Tier>(panel, target_of_warp<Tier>(panel, round));
    update_targets<Tier>(panel, find_routes<Tier>(panel, targets, round, unpruned));
    worker<Tier>::sync();
    if (panel.leads) ++later_rounds;
  }
}

template <tier Tier>
void run_step(const elimination_view& view, index_t j, unsigned warps, step last,
              int& later_rounds) {
  simt::emulator::run_grid(1, warps * 32, sizeof(worker_memory<Tier>), false,
                           [&] { run_step<Tier>(view, j, last, later_rounds); });
}

// The masks of panel j: of its own vertices, and of its boundary.
struct panel_parts {
  std::vector<mask_pair> own, boundary;
};

bool same(const std::vector<mask_pair>& a, const std::vector<mask_pair>& b) {
  return std::ranges::equal(a, b, [](const mask_pair& x, const mask_pair& y) {
    return x.upper == y.upper && x.lower == y.lower;
  });
}

panel_parts parts_of(const host::panel_set& s, index_t j, const std::vector<mask_pair>& masks) {
  const auto begin = masks.begin() + s.position_begin[at(j)];
  const auto boundary = begin + s.width(j);
  return {{begin, boundary}, {boundary, begin + s.length(j)}};
}

}  // namespace

TEST_CASE("every step does to a panel what its host twin does") {
  std::vector<named_pattern> patterns;
  for (std::uint64_t k = 0; k < 12; ++k) patterns.push_back(random_pattern(50, k));
  for (const char* spec : {"grid7:nx=4,oneway=1", "dg:nx=2,nz=1", "convection:nx=4,conductive=0.3",
                           "random:n=70,degree=3,seed=2"}) {
    patterns.push_back({spec, generate(spec)});
  }
  unsigned turn = 0;
  int later_rounds = 0, with_boundary = 0;
  for (const auto& [name, a] : patterns) {
    CAPTURE(name);
    for (const int width : {64, 5, 2}) {
      CAPTURE(width);
      host_panels expected(a, width);
      host::panel_eliminator by(expected.s);
      for (index_t j = 0; j < expected.s.panels(); ++j) {
        CAPTURE(j);
        device_panels found(expected.s);
        const std::vector<mask_pair> before = found.masks;
        const host::factored_panel& f = by.factor(j);
        by.factor_boundary_and_update(f, 0, expected.s.blocks[at(j)].size(), max_index);
        const std::vector<mask_pair> after = device_panels(expected.s).masks;
        if (++turn % 3 != 0) continue;
        const panel_parts truth = parts_of(expected.s, j, after);
        with_boundary += truth.boundary.empty() ? 0 : 1;
        for (const step last : {step::factor_diagonal, step::factor_boundary,
                                step::factor_boundary_and_update, step::all}) {
          CAPTURE(static_cast<int>(last));
          found.masks = before;
          elimination_view view{};
          view.panels = found.input.panels;
          view.schedule.children = found.children.data();
          view.schedule.most_far_work = ~0ULL;
          unsigned long long far_work = 0, counters[elimination_counters] = {};
          view.schedule.far_work = &far_work;
          view.counters = counters;
          if (turn % 2 == 0) {
            run_step<tier::warp>(view, j, 1, last, later_rounds);
          } else {
            run_step<tier::block>(view, j, 1 + turn % 4, last, later_rounds);
          }
          const panel_parts here = parts_of(expected.s, j, found.masks);
          CHECK(same(here.own, truth.own));
          if (last != step::factor_diagonal) CHECK(same(here.boundary, truth.boundary));
          if (last >= step::factor_boundary_and_update) CHECK(same(found.masks, after));
        }
      }
    }
  }
  CHECK(later_rounds > 50);
  CHECK(with_boundary > 50);
}
