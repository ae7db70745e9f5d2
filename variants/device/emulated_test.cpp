// labels: oracle
// program: emulated
// All GPU variants on the emulator (simt.hpp).
#include <doctest/doctest.h>

#include "variants/device/emulated_cases.hpp"

using namespace gsofa;
using namespace gsofa::testing;

TEST_CASE("GPU variants agree with the row union on the emulator, whatever their queues hold") {
  const auto patterns = subjects(30, 60);
  check_gpu_variants(patterns, [](std::size_t) { return 0; });
}

TEST_CASE("planted GPU faults are found out on the emulator") {
  const auto patterns = subjects(150, 80);
  int variants = 0;
  for (const variant_info& info : all_variants()) {
    if (info.device != "gpu" || info.planted.empty() || info.unavailable()) continue;
    ++variants;
    CAPTURE(info.name);
    bool found = false;
    for (std::size_t k = 0; k < patterns.size() && !found; ++k) {
      found = is_wrong(info, patterns[k], k);
    }
    CHECK(found);
  }
  CHECK(variants == 3);
}

TEST_CASE("a budget too small for one source is refused in one line") {
  const subject s = subjects(0, 60).front();
  for (const variant_info& info : all_variants()) {
    if (info.device != "gpu" || !info.planted.empty()) continue;
    CAPTURE(info.name);
    pattern wide;  // a diagonal of order 400,000: one source takes more than 1 MiB
    wide.n_rows = wide.n_cols = 400000;
    for (index_t i = 0; i < wide.n_rows; ++i) {
      wide.col_idx.push_back(i);
      wide.row_ptr.push_back(i + 1);
    }
    run_settings settings = settings_with(info, want_set::all(), {{"memory_budget_mb", "1"}});
    run_context context;
    const auto v = info.create();
    CHECK_THROWS_AS(v->prepare(wide, settings, context), budget_error);
  }
}
