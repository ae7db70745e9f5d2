// labels: oracle
// program: emulated
// mpi_maxid on the emulator.
#include <doctest/doctest.h>

#include "variants/device/emulated_cases.hpp"

using namespace gsofa;
using namespace gsofa::testing;

TEST_CASE("the distributed engine finds the same on 1 to 5 GPUs, however rows are shared out") {
  const auto patterns = subjects(12, 60);
  const std::string variant_name = "mpi_maxid";
  const variant_info& info = find_variant(variant_name);
  const std::vector<std::string> schedules{"block", "inter_node", "intra_node", "dynamic"};
  const std::vector<std::string> sharings{"peer", "managed_advised", "managed",
                                          "managed_shared_fill", "managed_shared_fill_unadvised"};
  for (std::size_t k = 0; k < patterns.size(); ++k) {
    CAPTURE(patterns[k].name);
    const std::size_t schedule = k % 4;
    run_settings settings = settings_with(info, info.gives);
    // Chunks smaller and larger than #C, and one chunk of all rows.
    settings.chunk_size = static_cast<index_t>(std::vector<int>{3, 8, 0, 17, 5}[k % 5]);
    auto set = [&](const char* name, const std::string& value) {
      settings.options.set(info.options, name, value);
    };
    set("schedule", schedules[schedule]);
    set("sharing", sharings[(k / 4) % 5]);
    set("gpus_per_rank", std::to_string(1 + k % 5));
    set("concurrent_sources", std::vector<std::string>{"0", "1", "4", "9"}[(k / 3) % 4]);
    set("memory_budget_mb", "40");
    CAPTURE(schedules[schedule]);
    run_context context;
    const auto v = info.create();
    CHECK(fault(*v, patterns[k], settings, context) == "");
  }
}
