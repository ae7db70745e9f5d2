// labels: oracle
// program: emulated
// Counts of symmetric patterns from the elimination tree, on the emulator.
#include <doctest/doctest.h>

#include <map>

#include "common/generators.hpp"
#include "common/mask_pattern.hpp"
#include "common/ordering.hpp"
#include "common/preprocess.hpp"
#include "common/random.hpp"
#include "variants/device/emulated_cases.hpp"
#include "variants/panels/runs/settings.hpp"
#include "variants/panels/tree_counts.hpp"

using namespace gsofa;
using namespace gsofa::testing;

namespace {

run_settings counts_alone() {
  return settings_with(find_variant("gpu_bitmap_panels"), want::counts,
                       {{"memory_budget_mb", "40"}});
}

}  // namespace

TEST_CASE("rows of symmetric patterns are counted by the elimination tree") {
  std::vector<subject> all = subjects(150, 120);
  for (subject& s : all) s = subject_of(symmetrized(s.a, diagonal::keep), s.name);
  for (const char* spec :
       {"grid7:nx=5", "elasticity3d:nx=3", "grid5:nx=34", "dissected:nx=7", "dissected:nx=11"}) {
    all.push_back(subject_of(generate(spec), spec));
  }
  std::map<std::string, int> seen;
  std::uint64_t runs = 0;
  for (const subject& s : all) {
    CAPTURE(s.name);
    run_settings settings = counts_alone();
    ++runs;
    if (runs % 3 != 0) settings.wants |= want::supernodes;
    settings.chunk_size = std::vector<index_t>{128, 0, 5, 1}[runs % 4];
    simt::emulator::set_seed(runs);
    run_context context;
    const auto v = panels::make_bitmap_panels({});
    CHECK(fault(*v, s, settings, context) == "");
    // The numbering need not be a postorder.
    ++seen[context.derived["counted_by_tree"] != 0 ? "counted" : "panels"];
  }
  CHECK(seen["counted"] > 30);
  CHECK(seen["panels"] > 10);
}

TEST_CASE("rows of other patterns are not, however few entries have no partner") {
  for (const char* spec : {"grid5:nx=7", "dissected:nx=5"}) {
    const pattern a = generate(spec);
    std::vector<std::pair<index_t, index_t>> entries;
    for (index_t i = 0; i < a.n_rows; ++i) {
      for (offset_t e = a.row_ptr[static_cast<std::size_t>(i)];
           e < a.row_ptr[static_cast<std::size_t>(i) + 1]; ++e) {
        entries.emplace_back(i, a.col_idx[static_cast<std::size_t>(e)]);
      }
    }
    for (std::size_t left_out = 0; left_out < entries.size(); left_out += 5) {
      if (entries[left_out].first == entries[left_out].second) continue;
      triplets rest{a.n_rows, a.n_rows, {}, {}};
      for (std::size_t k = 0; k < entries.size(); ++k) {
        if (k == left_out) continue;
        rest.rows.push_back(entries[k].first);
        rest.cols.push_back(entries[k].second);
      }
      const subject s = subject_of(from_triplets(rest, duplicates::reject), spec);
      CAPTURE(left_out);
      run_context context;
      const auto v = panels::make_bitmap_panels({});
      CHECK(fault(*v, s, counts_alone(), context) == "");
      CHECK(context.derived["counted_by_tree"] == 0);
    }
  }
}

TEST_CASE("masks are found on demand, and a matrix that is no longer symmetric is noticed") {
  const subject grid = subject_of(generate("dissected:nx=5"), "grid");
  const run_settings settings = counts_alone();
  const auto v = panels::make_bitmap_panels({});
  run_context context;
  CHECK(fault(*v, grid, settings, context) == "");
  CHECK(context.derived["counted_by_tree"] == 1);
  // The first entry off the diagonal moves to another column: as many entries, none symmetric.
  pattern moved = grid.a;
  const auto last = static_cast<std::size_t>(moved.row_ptr[1]) - 1;
  REQUIRE(moved.col_idx[last] + 1 < moved.n_rows);
  ++moved.col_idx[last];
  const subject other = subject_of(moved, "moved");
  context.derived.clear();
  CHECK(fault(*v, other, settings, context) == "");
  CHECK(context.derived["counted_by_tree"] == 0);
  const auto again = panels::make_bitmap_panels({});
  CHECK(fault(*again, grid, settings, context) == "");
  mask_pattern masks;
  CHECK(dynamic_cast<gives_masks&>(*again).masks_into(masks));
  CHECK(reference::compare(grid.truth, again->collect(settings.wants), settings.wants, 128).ok);
}
