// labels: oracle
// program: interleaved
// What the counting build counts of gpu_maxid and its ablations, on the emulator.
#include <doctest/doctest.h>

#include "variants/device/emulated_cases.hpp"

using namespace gsofa;
using namespace gsofa::testing;

namespace {

// A path 0 - 1 - ... - n-1 with its diagonal. The search from s has one frontier at a time: s-1,
// s-2, ..., 0.
pattern path(index_t n) {
  pattern a;
  a.n_rows = a.n_cols = n;
  for (index_t i = 0; i < n; ++i) {
    for (index_t j = std::max(i - 1, 0); j <= std::min(i + 1, n - 1); ++j) a.col_idx.push_back(j);
    a.row_ptr.push_back(static_cast<offset_t>(a.col_idx.size()));
  }
  return a;
}

run_context counted(const std::string& name, const pattern& a, const std::string& queue_entries) {
  const variant_info& info = find_variant(name);
  run_settings settings = settings_with(
      info, want::counts, {{"queue_entries", queue_entries}, {"memory_budget_mb", "40"}});
  run_context context;
  const auto v = info.create();
  v->prepare(a, settings, context);
  run_timed(*v, context);
  return context;
}

}  // namespace

TEST_CASE("levels are counted, whatever spills") {
  constexpr index_t n = 20;
  const pattern a = path(n);
  for (const char* name : {"gpu_maxid", "gpu_maxid_scan_enqueue", "gpu_maxid_separate_queues"}) {
    CAPTURE(name);
    for (const char* queue_entries : {"0", "1", "3"}) {
      CAPTURE(queue_entries);
      run_context context = counted(name, a, queue_entries);
      const bool separate = std::string(name) == "gpu_maxid_separate_queues";
      const bool spills = context.counters.totals["spills"] > 0;
      CHECK(spills == (std::string(queue_entries) != "0" && !separate));
      // One for the sources themselves, then one for each frontier of the last source. Separate
      // queues are found empty in one more.
      const index_t levels = separate ? n + 1 : n;
      if (!spills) CHECK(context.counters.totals["levels"] == levels);
      CHECK(context.counters.totals["levels"] >= levels);
      CHECK(context.counters.totals["frontiers"] == n * (n - 1) / 2);
      CHECK(context.counters.totals["revisits"] == 0);
      const auto& sizes = context.counters.series["frontier_size"];
      REQUIRE(sizes.size() == static_cast<std::size_t>(n));
      CHECK(sizes[0] == 0.0);
      for (std::size_t s = 1; s < sizes.size(); ++s) CHECK(sizes[s] == 1.0);
    }
  }
}

TEST_CASE("revisits and fill-ins found again are counted") {
  for (const char* name : {"gpu_maxid", "gpu_maxid_scan_enqueue"}) {
    CAPTURE(name);
    std::int64_t revisits = 0;
    std::int64_t again = 0;
    std::int64_t frontiers = 0;
    for (const subject& s : subjects(20, 40)) {
      run_context context = counted(name, s.a, "0");
      revisits += context.counters.totals["revisits"];
      again += context.counters.totals["fills_found_again"];
      frontiers += context.counters.totals["frontiers"];
    }
    CHECK(revisits > 0);
    CHECK(again > 0);
    CHECK(revisits < frontiers);
  }
}
