// program: emulated device
// Copies from the device to the host on several threads.
#include "variants/device/host_copies.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <numeric>
#include <random>
#include <stdexcept>
#include <vector>

using namespace gsofa;

namespace {

// An array on the device and what it holds.
struct source {
  gpu::device_array<std::int32_t> there;
  std::vector<std::int32_t> expected;

  source(gpu::memory_budget& budget, offset_t size, std::int32_t first)
      : there(budget, "test", size), expected(static_cast<std::size_t>(size)) {
    std::iota(expected.begin(), expected.end(), first);
    gpu::copy_to_device(there.data(), expected.data(), size);
  }
};

gpu::memory_budget large_budget() {
  gpu::memory_budget budget;
  budget.set_limit(offset_t{1} << 30);
  return budget;
}

// Sizes around those of a piece, in elements.
std::vector<offset_t> sizes() {
  constexpr auto of_piece = static_cast<offset_t>(gpu::piece_bytes / sizeof(std::int32_t));
  return {0, 1, of_piece - 1, of_piece, of_piece + 1, 5 * of_piece + 3};
}

}  // namespace

TEST_CASE("arrays arrive whole, whatever the number of threads") {
  gpu::memory_budget budget = large_budget();
  std::mt19937_64 engine(71);
  for (const int threads : {1, 2, 3, 16, 40}) {
    for (int round = 0; round < 8; ++round) {
      CAPTURE(threads);
      std::vector<source> sources;
      sources.reserve(3);
      std::vector<std::vector<std::int32_t>> arrived(3);
      for (std::int32_t k = 0; k < 3; ++k) {
        sources.emplace_back(budget, sizes()[engine() % sizes().size()], 100 * k);
      }
      gpu::host_copies copies(threads);
      // Less than a piece is copied at once; the estimate need not be right.
      const std::size_t about = engine() % 2 * 100 * gpu::piece_bytes;
      copies.run(about, [&] {
        for (std::size_t k = 0; k < 3; ++k) {
          copies.add(arrived[k], static_cast<const std::int32_t*>(sources[k].there.data()),
                     sources[k].there.size());
        }
      });
      for (std::size_t k = 0; k < 3; ++k) {
        take_written(arrived[k], sources[k].expected.size());
        CHECK(arrived[k] == sources[k].expected);
      }
    }
  }
}

TEST_CASE("what the producer throws ends the copies") {
  gpu::memory_budget budget = large_budget();
  const source from(budget, sizes().back(), 5);
  for (const int threads : {1, 4}) {
    for (const bool early : {true, false}) {
      std::vector<std::int32_t> to;
      gpu::host_copies copies(threads);
      CHECK_THROWS_WITH_AS(
          copies.run(100 * gpu::piece_bytes,
                     [&] {
                       if (!early) {
                         copies.add(to, static_cast<const std::int32_t*>(from.there.data()),
                                    from.there.size());
                       }
                       throw std::runtime_error("no lists");
                     }),
          "no lists", std::runtime_error);
    }
  }
}

TEST_CASE("several threads copy at the same time, each on threads of its own") {
  on_threads(4, [](int thread) {
    gpu::memory_budget budget = large_budget();
    for (int round = 0; round < 5; ++round) {
      const source from(budget, sizes().back() + thread, 1000 * thread + round);
      std::vector<std::int32_t> to;
      gpu::host_copies copies(3);
      copies.run(100 * gpu::piece_bytes, [&] {
        copies.add(to, static_cast<const std::int32_t*>(from.there.data()), from.there.size());
      });
      take_written(to, from.expected.size());
      CHECK(to == from.expected);
    }
  });
}
