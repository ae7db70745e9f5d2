// labels: unit
// program: emulated
// The emulator itself (simt.hpp).
#include <doctest/doctest.h>

#include <stdexcept>
#include <vector>

#include "variants/device/simt.hpp"

using namespace gsofa;

TEST_CASE("the emulator finds threads that wait at different barriers") {
  CHECK_THROWS_AS(simt::emulator::run_grid(1, 64, 0, false,
                                           [] {
                                             if (simt::thread_index() < 32) simt::sync_block();
                                           }),
                  std::logic_error);
}

TEST_CASE("the emulator finds lanes that are at different collectives") {
  CHECK_THROWS_AS(simt::emulator::run_grid(1, 32, 0, false,
                                           [] {
                                             if (simt::thread_index() < 5) simt::sync_warp();
                                             simt::ballot(true);
                                           }),
                  std::logic_error);
}

TEST_CASE("warp collectives and grid barriers of the emulator") {
  std::vector<unsigned> seen(128, 0);
  unsigned counter = 0;
  bool ordered = true;
  simt::emulator::run_grid(2, 64, 64, true, [&] {
    const unsigned lane = simt::thread_index() % 32;
    const unsigned odd = simt::ballot(lane % 2 == 1);
    const unsigned next = simt::shuffle(lane, (lane + 1) % 32);
    const unsigned alike = simt::lanes_with(lane % 3);
    auto* const shared = simt::shared_memory<std::uint32_t>();
    if (simt::thread_index() == 0) shared[0] = simt::block_index() + 7;
    simt::sync_block();
    const bool right = alike == 0x49249249U << lane % 3 && odd == 0xaaaaaaaaU &&
                       next == (lane + 1) % 32 && shared[0] == simt::block_index() + 7;
    seen[simt::block_index() * 64 + simt::thread_index()] = right ? 1 : 0;
    simt::atomic_add(&counter, 1U);
    simt::sync_grid();
    ordered = ordered && counter == 128;
  });
  CHECK(ordered);
  for (const unsigned s : seen) CHECK(s == 1);
}
