// labels: oracle
// program: emulated
// gpu_maxid and its ablations within budgets, on the emulator.
#include <doctest/doctest.h>

#include <filesystem>
#include <map>

#include "common/generators.hpp"
#include "common/matrix_file.hpp"
#include "variants/device/emulated_cases.hpp"

using namespace gsofa;
using namespace gsofa::testing;

namespace {

using choices = std::map<std::string, std::string>;

// What a run on `s` derives; its counts and digests are compared with the truth.
std::map<std::string, std::int64_t> derived(const std::string& name, const subject& s,
                                            const choices& chosen) {
  const variant_info& info = find_variant(name);
  run_settings settings = settings_with(info, want_set(want::counts) | want::digest, chosen);
  settings.options.set(info.options, "warps_per_block", "1");
  run_context context;
  const auto v = info.create();
  CHECK(fault(*v, s, settings, context) == "");
  return context.derived;
}

subject grid(const std::string& spec) { return subject_of(generate(spec), spec); }

}  // namespace

TEST_CASE("budgets are filled, never exceeded") {
  int partial = 0;
  const auto bundled = std::filesystem::path(GSOFA_SOURCE_DIR) / "experiments/matrices";
  for (const auto& file : std::filesystem::directory_iterator(bundled)) {
    if (file.path().extension() != ".gz") continue;
    CAPTURE(file.path().string());
    const pattern a = with_diagonal(read_matrix_file(file.path()));
    for (const char* name : {"gpu_maxid", "gpu_maxid_no_dynamic_allocation",
                             "gpu_maxid_no_bubble_removal", "gpu_maxid_no_external_frontier",
                             "gpu_maxid_separate_queues", "gpu_maxid_scan_enqueue"}) {
      CAPTURE(name);
      const variant_info& info = find_variant(name);
      for (const char* budget : {"8", "16", "64"}) {
        CAPTURE(budget);
        for (const char* share : {"1", "5", "25", "100"}) {
          CAPTURE(share);
          run_context context;
          const auto v = info.create();
          v->prepare(a,
                     settings_with(info, want::counts,
                                   {{"memory_budget_mb", budget}, {"queue_share", share}}),
                     context);
          CHECK(context.derived["budget_used_percent"] <= 100);
          if (context.derived["concurrent_sources"] == a.n_rows) continue;
          ++partial;
          CHECK(context.derived["budget_used_percent"] >= 95);
        }
      }
    }
  }
  CHECK(partial > 100);
}

TEST_CASE("small queues make room for more sources and spill; fixed ones are never longer") {
  const subject s = grid("grid5:nx=24");
  choices chosen{{"memory_budget_mb", "1"}};
  std::map<std::string, std::int64_t> last;
  for (const char* share : {"100", "25", "1"}) {
    CAPTURE(share);
    chosen["queue_share"] = share;
    auto dynamic = derived("gpu_maxid", s, chosen);
    auto fixed = derived("gpu_maxid_no_dynamic_allocation", s, chosen);
    CHECK(dynamic["concurrent_sources"] > last["concurrent_sources"]);
    CHECK(fixed["concurrent_sources"] == dynamic["concurrent_sources"]);
    CHECK(fixed["queue_entries_most"] == fixed["queue_entries_least"]);
    CHECK(fixed["queue_entries_least"] <= dynamic["queue_entries_least"]);
    CHECK(fixed["queue_entries_most"] < dynamic["queue_entries_most"]);
    CHECK(fixed["spilled_entries"] >= dynamic["spilled_entries"]);
    CHECK((dynamic["spilled_entries"] > 0) == (dynamic["spills"] > 0));
    last = dynamic;
    if (std::string(share) != "1") continue;
    CHECK(dynamic["spilled_entries"] > 0);
    CHECK(fixed["spills"] > dynamic["spills"]);
    CHECK(fixed["spilled_entries"] > dynamic["spilled_entries"]);
  }
}

TEST_CASE("spills are reported, whoever enqueues") {
  const subject s = grid("grid5:nx=6");
  for (const char* name : {"gpu_maxid", "gpu_maxid_no_dynamic_allocation",
                           "gpu_maxid_separate_queues", "gpu_maxid_scan_enqueue", "mpi_maxid"}) {
    CAPTURE(name);
    auto few = derived(name, s, {{"queue_entries", "3"}});
    CHECK(few["spills"] > 0);
    CHECK(few["spilled_entries"] > 0);
    CHECK(few["queue_entries_least"] > 0);
    auto none = derived(name, s, {});
    CHECK(none["spills"] == 0);
    CHECK(none["spilled_entries"] == 0);
    CHECK(none["queue_entries_least"] >= s.a.n_rows);
  }
}

TEST_CASE("a worker of several GPUs leaves room in its budget for what it keeps for each source") {
  const subject s = grid("grid5:nx=24");
  const auto used = derived("mpi_maxid", s,
                            {{"memory_budget_mb", "1"},
                             {"gpus_per_rank", "2"},
                             {"queue_share", "1"},
                             {"sharing", "managed_shared_fill_unadvised"}});
  CHECK(used.at("budget_used_percent") >= 95);
  CHECK(used.at("budget_used_percent") <= 100);
}
