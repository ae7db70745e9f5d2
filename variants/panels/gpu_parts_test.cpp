// labels: oracle
// program: emulated
// gpu_bitmap_panels_multi on the emulator: parts on one device, one host thread each.
#include <doctest/doctest.h>

#include <map>

#include "common/generators.hpp"
#include "common/pattern.hpp"
#include "variants/device/emulated_cases.hpp"
#include "variants/panels/runs/settings.hpp"

using namespace gsofa;
using namespace gsofa::testing;

namespace {

run_settings settings_of(int parts, const std::string& width) {
  const variant_info& info = find_variant("gpu_bitmap_panels_multi");
  run_settings settings;
  settings.options = option_set(info.options);
  settings.options.set(info.options, "gpus", std::to_string(parts));
  settings.options.set(info.options, "panel_width", width);
  settings.options.set(info.options, "memory_budget_mb", "40");
  settings.wants = info.gives;
  return settings;
}

std::vector<subject> all_subjects() {
  std::vector<subject> all = subjects(40, 120);
  for (const char* spec : {"grid5:nx=12", "grid7:nx=5", "grid7:nx=6,oneway=1", "dg:nx=4,nz=1",
                           "convection:nx=6,conductive=0.3", "elasticity3d:nx=3",
                           "batch:count=7,least=10,most=30,drop=0.2,oneway=0.3"}) {
    all.push_back(subject_of(generate(spec), spec));
    all.push_back(
        subject_of(symmetrized(all.back().a, diagonal::keep), std::string(spec) + " symmetrized"));
  }
  // A path: one chain of panels. No edges: as many trees as vertices.
  triplets path{90, 90, {}, {}};
  triplets none{50, 50, {}, {}};
  for (index_t i = 0; i < 90; ++i) {
    path.rows.insert(path.rows.end(), {i, i, std::max(i - 1, index_t{0})});
    path.cols.insert(path.cols.end(), {i, std::max(i - 1, index_t{0}), i});
    if (i < 50) none.rows.push_back(i), none.cols.push_back(i);
  }
  all.push_back(subject_of(from_triplets(path, duplicates::merge), "path"));
  all.push_back(subject_of(from_triplets(none, duplicates::merge), "no edges"));
  return all;
}

}  // namespace

TEST_CASE("any number of parts gives what one gives, eliminated and closed") {
  const std::vector<std::string> widths{"8", "64", "1", "3", "2", "16"};
  const std::vector<int> numbers{1, 2, 3, 5, 9};
  std::map<std::string, int> seen;
  std::uint64_t runs = 0;
  std::uint64_t turn = 0;
  for (const subject& s : all_subjects()) {
    CAPTURE(s.name);
    for (const int parts : numbers) {
      CAPTURE(parts);
      // Two of seven combinations, others of the next pattern.
      if (++turn % 7 % 3 != 1) continue;
      ++runs;
      run_settings settings = settings_of(parts, widths[runs % widths.size()]);
      settings.chunk_size = static_cast<index_t>(runs % 7 == 6 ? 150 : runs % 7);
      if (runs % 5 == 0) settings.wants = want::counts;
      panels::multi_tuning tuning;
      tuning.closing = static_cast<panels::closing_masks>(runs / 5 % 3);
      tuning.elimination.warp_positions = static_cast<index_t>(runs % 3 * 3);
      tuning.elimination.cluster_positions = 8;
      tuning.elimination.warps_per_block = static_cast<int>(1 + runs % 5);
      tuning.elimination.few_panels = runs % 5 == 0 ? 16 : 0;
      tuning.elimination.far_targets = static_cast<panels::handing_over>(runs % 3);
      tuning.elimination.most_far_work = static_cast<std::int64_t>(runs % 4 * 30);
      tuning.elimination.sharing_positions = 0;
      tuning.elimination.near_steps_of_blocks = static_cast<index_t>(runs % 2);
      simt::emulator::set_seed(runs);
      run_context context;
      const auto v = panels::make_bitmap_panels_multi(tuning);
      CHECK(fault(*v, s, settings, context) == "");
      CHECK(context.derived["gpus"] == parts);
      if (context.derived["alone"] != 0) {
        ++seen["alone"];
        continue;
      }
      const bool top = context.derived["top_panels"] > 0;
      seen["top"] += top ? 1 : 0;
      seen["no top"] += top ? 0 : 1;
      seen["long top"] += context.derived["top_panels"] > 5 ? 1 : 0;
      seen["relabelled"] += top && context.derived["relabelled"] != 0 ? 1 : 0;
      seen["closed"] += top && context.derived["symmetric"] != 0 ? 1 : 0;
      seen["eliminated"] += top && context.derived["symmetric"] == 0 ? 1 : 0;
    }
  }
  CHECK(seen["top"] > 40);
  CHECK(seen["no top"] > 8);
  CHECK(seen["long top"] > 16);
  CHECK(seen["relabelled"] > 8);
  CHECK(seen["closed"] > 16);
  CHECK(seen["eliminated"] > 16);
}

TEST_CASE("a closure that is refuted: the top is eliminated on one part") {
  const pattern a = generate("grid7:nx=6,oneway=1");
  const auto truth = reference::make_truth(reference::row_union(a));
  for (const int parts : {1, 2, 5}) {
    const run_settings settings = settings_of(parts, "8");
    panels::multi_tuning tuning;
    tuning.closing = panels::closing_masks::always;
    const auto v = panels::make_bitmap_panels_multi(tuning);
    run_context context;
    v->prepare(a, settings, context);
    for (int k = 0; k < 2; ++k) {
      const result r = run_once(*v, settings.wants, context);
      CHECK(reference::compare(truth, r, settings.wants, settings.chunk_size).reason == "");
      CHECK(context.derived["alone"] == 0);
    }
  }
}

TEST_CASE("a part that the budget does not admit: one GPU does all of it") {
  const pattern a = generate("grid7:nx=12");
  const auto truth = reference::make_truth(reference::row_union(a));
  const variant_info& info = find_variant("gpu_bitmap_panels_multi");
  for (const char* megabytes : {"1", "40"}) {
    run_settings settings = settings_of(2, "4");
    settings.options.set(info.options, "memory_budget_mb", megabytes);
    run_context context;
    const auto v = info.create();
    v->prepare(a, settings, context);
    for (int k = 0; k < 2; ++k) {
      const result r = run_once(*v, settings.wants, context);
      CHECK(reference::compare(truth, r, settings.wants, settings.chunk_size).reason == "");
      CHECK((context.derived["alone"] != 0) == (megabytes[0] == '1'));
    }
  }
}

TEST_CASE("a budget that ends parts at any step") {
  const pattern a = generate("dissected:nx=22");
  const auto truth = reference::make_truth(reference::row_union(a));
  std::map<std::int64_t, int> seen;
  for (const int megabytes : {2, 3, 5, 8, 14, 30}) {
    run_settings settings = settings_of(3, "4");
    settings.options.set(find_variant("gpu_bitmap_panels_multi").options, "memory_budget_mb",
                         std::to_string(megabytes));
    settings.wants = want::counts;
    run_context context;
    const auto v = panels::make_bitmap_panels_multi({});
    v->prepare(a, settings, context);
    const result r = run_once(*v, settings.wants, context);
    CHECK(reference::compare(truth, r, settings.wants, settings.chunk_size).reason == "");
    ++seen[context.derived["alone"]];
  }
  CHECK(seen[0] > 0);
  CHECK(seen[1] > 0);
}
