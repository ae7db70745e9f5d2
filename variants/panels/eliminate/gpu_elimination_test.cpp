// labels: oracle
// program: emulated
// The elimination of panels on the emulated device against the elimination on the host, on the same
// panels: masks that hold A become the same masks of L + U.
#include <doctest/doctest.h>

#include <vector>

#include "common/generators.hpp"
#include "harness/check/test_patterns.hpp"
#include "variants/panels/eliminate/host_and_device_panels.hpp"

using namespace gsofa;
using namespace gsofa::testing;

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
