// labels: oracle
// program: interleaved
// The GPU variants on the emulator with threads switched at loads and stores.
// $GSOFA_INTERLEAVED_PATTERNS: random patterns for each variant.
#include <doctest/doctest.h>

#include <cstdlib>
#include <memory>

#include "variants/device/emulated_cases.hpp"
#include "variants/device/simt.hpp"
#include "variants/panels/runs/settings.hpp"

using namespace gsofa;
using namespace gsofa::testing;

namespace {

// The sum of 64 threads that each add 1 20 times.
template <class Add>
unsigned sum_of(Add add) {
  unsigned sum = 0;
  simt::emulator::run_grid(2, 32, 0, false, [&] {
    for (int k = 0; k < 20; ++k) add(&sum);
  });
  return sum;
}
const auto atomic = [](unsigned* sum) { simt::atomic_add(sum, 1U); };
const auto plain = [](unsigned* sum) {
  auto* const cell = static_cast<volatile unsigned*>(sum);
  *cell = *cell + 1;
};

}  // namespace

TEST_CASE("threads are switched between a load and a store, and not within an atomic") {
  CHECK(sum_of(plain) == 1280);
  const interleaving on(4);
  CHECK(sum_of(plain) < 1280);
  CHECK(sum_of(atomic) == 1280);
}

TEST_CASE("a race of plain loads and stores shows only where threads are switched at them") {
  const variant_info& info = find_variant("planted_gpu_shared_stack");
  CHECK(info.unavailable());
  const auto patterns = subjects(40, 60);
  auto wrong = [&] {
    int count = 0;
    for (std::size_t k = 0; k < patterns.size(); ++k)
      count += is_wrong(info, patterns[k], k) ? 1 : 0;
    return count;
  };
  CHECK(wrong() == 0);
  const interleaving on(4);
  CHECK_FALSE(info.unavailable());
  CHECK(wrong() > 0);
}

TEST_CASE("GPU variants agree with the row union when threads are switched at loads and stores") {
  const char* const asked = std::getenv("GSOFA_INTERLEAVED_PATTERNS");
  const std::uint64_t count = asked != nullptr ? std::strtoull(asked, nullptr, 10) : 8;
  const auto patterns = subjects(count, count > 8 ? 60 : 10);
  check_gpu_variants(patterns, [](std::size_t k) {
    return std::make_unique<interleaving>(2 + static_cast<unsigned>(k % 3) * 7);
  });
}

TEST_CASE("panels eliminated by warps, blocks and clusters agree with it too") {
  const auto patterns = subjects(16, 40);
  const variant_info& info = find_variant("gpu_bitmap_panels");
  for (std::size_t k = 0; k < patterns.size(); ++k) {
    CAPTURE(patterns[k].name);
    simt::emulator::set_seed(k);
    const interleaving on(2 + static_cast<unsigned>(k % 3) * 7);
    panels::panel_tuning tuning;
    tuning.elimination.warp_positions = std::vector<index_t>{256, 0, 6, 15}[k % 4];
    tuning.elimination.warps_per_block = static_cast<int>(1 + k % 5);
    tuning.elimination.cluster_positions = k % 3 == 0 ? 0 : 20;
    tuning.elimination.few_panels = 0;
    tuning.elimination.far_targets = static_cast<panels::handing_over>(k % 3);
    tuning.elimination.most_far_work = static_cast<std::int64_t>(k % 4 * 30);
    tuning.elimination.sharing_positions = 0;
    tuning.elimination.near_steps_of_blocks = tuning.elimination.near_steps_of_clusters =
        static_cast<index_t>(k % 2);
    run_context context;
    const auto v = panels::make_bitmap_panels(tuning);
    CHECK(fault(*v, patterns[k], settings_for(info, k), context) == "");
  }
}

TEST_CASE("the distributed engine agrees with it too") {
  const auto patterns = subjects(6, 30);
  const variant_info& info = find_variant("mpi_maxid");
  for (std::size_t k = 0; k < patterns.size(); k += 3) {
    CAPTURE(patterns[k].name);
    simt::emulator::set_seed(k);
    run_settings settings = settings_with(
        info, info.gives,
        {{"gpus_per_rank", std::to_string(1 + k / 3 % 3)}, {"memory_budget_mb", "40"}});
    settings.chunk_size = static_cast<index_t>(3 + k % 7);
    const interleaving on(4);
    run_context context;
    const auto v = info.create();
    CHECK(fault(*v, patterns[k], settings, context) == "");
  }
}
