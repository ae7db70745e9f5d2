#include "harness/run/gpu_state.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace gsofa;

TEST_CASE("the management library answers for the GPUs that are there, and for no others") {
  const auto& uuids = nvml::all_uuids();
  CHECK(std::ranges::is_sorted(uuids));
  CHECK(&uuids == &nvml::all_uuids());
  if (!uuids.empty()) CHECK_FALSE(nvml::driver_version().empty());
  const auto states = nvml::states_of({"GPU-00000000-0000-0000-0000-000000000000", "no UUID"});
  REQUIRE(states.size() == 2);
  for (const gpu_state& s : states) CHECK(s.sm_mhz + s.memory_mhz + s.celsius == 0);
  CHECK(nvml::states_of({}).empty());
  for (const gpu_state& s : nvml::states_of(uuids)) CHECK(s.sm_mhz > 0);
}
