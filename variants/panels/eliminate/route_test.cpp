// labels: oracle
// program: emulated
// What the targets of a panel take of a position, against the definition.
#include <doctest/doctest.h>

#include "common/random.hpp"
#include "variants/panels/eliminate/find_routes.cuh"

using namespace gsofa;
using namespace gsofa::panels;
namespace device = gsofa::panels::elimination;

namespace {

// The targets t with a row of taken[t] in m.
mask_t targets_with(const mask_t (&taken)[mask_bits], mask_t m) {
  mask_t found = 0;
  for (index_t t = 0; t < mask_bits; ++t) found |= (taken[t] & m) != 0 ? bit(t) : 0;
  return found;
}

}  // namespace

TEST_CASE("targets take the rows that routes say, with one row each, with several, and with none") {
  random_source random(11);
  for (int k = 0; k < 300; ++k) {
    mask_t upper[mask_bits] = {}, lower[mask_bits] = {};
    const std::uint64_t targets = 1 + random.below(64);
    const std::uint64_t rows = k % 3 == 0 ? 1 : 1 + random.below(64);
    for (std::uint64_t t = 0; t < targets; ++t) {
      const auto most = k % 4 == 0 ? 4 : 1;
      for (int row = 0; row < most; ++row) {
        if (random.below(3) > 0) upper[t] |= bit(static_cast<index_t>(random.below(rows)));
        if (random.below(3) > 0) lower[t] |= bit(static_cast<index_t>(random.below(64)));
      }
    }
    device::target_routes routes{};
    simt::emulator::run_grid(1, 32, 0, false, [&] {
      const unsigned l = gpu::lane_index();
      device::set_routes(routes, {upper[l], upper[l + 32]}, {lower[l], lower[l + 32]});
    });
    for (int trial = 0; trial < 30; ++trial) {
      mask_pair m{random(), random()};
      for (std::uint64_t sparser = random.below(6); sparser > 0; --sparser) {
        m = {m.upper & random(), m.lower & random()};
      }
      const mask_pair found = device::routed(m, routes);
      CHECK(found.upper == targets_with(upper, m.upper));
      CHECK(found.lower == targets_with(lower, m.lower));
    }
  }
}
