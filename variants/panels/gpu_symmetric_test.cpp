// labels: oracle
// program: emulated
// Masks of symmetric patterns without elimination, on the emulator.
#include <doctest/doctest.h>

#include <map>

#include "common/generators.hpp"
#include "common/ordering.hpp"
#include "common/preprocess.hpp"
#include "common/random.hpp"
#include "variants/device/emulated_cases.hpp"
#include "variants/panels/runs/settings.hpp"

using namespace gsofa;
using namespace gsofa::testing;

namespace {

using closing = panels::closing_masks;

run_settings settings_of(const std::string& width) {
  const variant_info& info = find_variant("gpu_bitmap_panels");
  return settings_with(info, info.gives,
                       {{"panel_width", width}, {"memory_budget_mb", "40"}, {"counts", "panels"}});
}

std::vector<subject> symmetric_subjects() {
  std::vector<subject> all = subjects(60, 120);
  for (subject& s : all) {
    s.a = symmetrized(s.a, diagonal::keep);
    s.truth = reference::make_truth(reference::row_union(s.a));
  }
  for (const char* spec : {"grid7:nx=5", "elasticity3d:nx=3", "grid5:nx=11"}) {
    all.push_back(subject_of(generate(spec), spec));
  }
  return all;
}

}  // namespace

TEST_CASE(
    "symmetric patterns need no elimination, whatever the order, in one wave and in several") {
  const std::vector<std::string> widths{"64", "1", "2", "3", "8", "33"};
  std::map<std::string, int> seen;
  std::uint64_t runs = 0;
  for (const subject& s : symmetric_subjects()) {
    CAPTURE(s.name);
    for (int k = 0; k < 4; ++k) {
      CAPTURE(k);
      run_settings settings = settings_of(widths[++runs % widths.size()]);
      // Without digests the closure counts.
      if (runs % 3 == 0) settings.wants = want::counts;
      panels::panel_tuning tuning;
      if (k >= 2) {
        settings.wants = settings.wants.without(want::pattern);
        tuning.most_positions = (k - 1) * offset_t{s.a.n_rows};
      }
      // Rows are counted where masks are closed, unless digests are wanted.
      if (runs % 3 == 0) settings.wants = settings.wants.without(want::digest);
      simt::emulator::set_seed(runs);
      run_context context;
      const auto v = panels::make_bitmap_panels(tuning);
      CHECK(fault(*v, s, settings, context) == "");
      if (context.derived["searched"] != 0) continue;
      CHECK(context.derived["symmetric"] == 1);
      seen["waves"] += context.derived["waves"] > 1 ? 1 : 0;
      seen["relabelled"] += context.derived["relabelled"] != 0 ? 1 : 0;
    }
  }
  CHECK(seen["waves"] > 20);
  CHECK(seen["relabelled"] > 10);
}

TEST_CASE("where closed masks agree they are exact, where not panels are eliminated") {
  const std::vector<std::string> widths{"64", "1", "2", "3", "8", "33"};
  std::map<std::string, int> seen;
  std::uint64_t runs = 0;
  for (const subject& s : subjects(120, 60)) {
    CAPTURE(s.name);
    const bool is_symmetric = structural_symmetry(s.a) == 1;
    for (const closing when : {closing::where_symmetric, closing::never, closing::always}) {
      run_settings settings = settings_of(widths[++runs % widths.size()]);
      if (runs % 5 == 0) settings.wants = settings.wants.without(want::digest);
      simt::emulator::set_seed(runs);
      run_context context;
      const auto v = panels::make_bitmap_panels({.closing = when});
      CHECK(fault(*v, s, settings, context) == "");
      if (context.derived["searched"] != 0) continue;
      const bool closed = context.derived["symmetric"] != 0;
      if (when != closing::always) {
        CHECK(closed == (is_symmetric && when == closing::where_symmetric));
        continue;
      }
      CHECK((closed || !is_symmetric));
      seen["refuted"] += closed ? 0 : 1;
      seen["unsymmetric and closed"] += closed && !is_symmetric ? 1 : 0;
    }
  }
  CHECK(seen["refuted"] > 20);
  CHECK(seen["unsymmetric and closed"] > 0);
}

TEST_CASE("a later run notices that the matrix is symmetric no longer") {
  // Vertex 0 is a neighbour of all others, so that all of L + U is there whatever else is.
  triplets entries{4, 4, {0, 1, 2, 3, 0, 0, 0, 1, 2, 3}, {0, 1, 2, 3, 1, 2, 3, 0, 0, 0}};
  triplets others = entries;
  for (const auto& [i, j] : {std::pair{1, 2}, {2, 1}}) {
    entries.rows.push_back(i);
    entries.cols.push_back(j);
  }
  for (const auto& [i, j] : {std::pair{1, 2}, {3, 1}}) {
    others.rows.push_back(i);
    others.cols.push_back(j);
  }
  const pattern a = from_triplets(entries, duplicates::reject);
  const pattern b = from_triplets(others, duplicates::reject);
  gpu::memory_budget budget;
  budget.set_limit(offset_t{1} << 28);
  gpu::device_matrix matrix;
  matrix.upload(a, budget);
  run_settings settings = settings_of("2");
  settings.wants = settings.wants.without(want::pattern);
  const auto v = find_variant("gpu_bitmap_panels").create();
  run_context context;
  dynamic_cast<takes_device_rows&>(*v).prepare_device(matrix.rows(), settings, context);
  const auto check = [&](const pattern& now, bool symmetric) {
    const auto truth = reference::make_truth(reference::row_union(now));
    const result r = run_once(*v, settings.wants, context);
    CHECK(reference::compare(truth, r, settings.wants, settings.chunk_size).reason == "");
    CHECK((context.derived["symmetric"] != 0) == symmetric);
  };
  for (int k = 0; k < 3; ++k) check(a, true);
  gpu::copy_to_device(const_cast<offset_t*>(matrix.row_ptr()), b.row_ptr.data(),
                      offset_t{b.n_rows} + 1);
  gpu::copy_to_device(const_cast<index_t*>(matrix.col_idx()), b.col_idx.data(), b.nnz());
  context.derived.clear();
  check(b, false);
}
