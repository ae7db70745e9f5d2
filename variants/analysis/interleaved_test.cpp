// labels: oracle
// program: interleaved
// The analysis on the device with threads switched at loads and stores: the results are those of
// the host all the same.
#include <doctest/doctest.h>

#include <vector>

#include "common/preprocess.hpp"
#include "harness/check/test_patterns.hpp"
#include "variants/analysis/gpu_analysis.hpp"
#include "variants/device/emulated_cases.hpp"

using namespace gsofa;
using gsofa::testing::interleaving;
namespace on_device = gsofa::gpu::analysis;

namespace {

std::vector<index_t> values_of(const gpu::device_array<index_t>& array) {
  std::vector<index_t> out(at(array.size()));
  gpu::copy_to_host(out.data(), array.data(), array.size());
  return out;
}

}  // namespace

TEST_CASE("steps of the analysis on the device, threads switched at their loads and stores") {
  for (std::uint64_t k = 0; k < 60; ++k) {
    const named_pattern p = random_pattern(23, k);
    CAPTURE(p.name);
    const pattern& a = p.a;
    const auto expected = elimination_tree(symmetrized(a, diagonal::drop));
    for (const unsigned accesses : {0U, 3U, 20U}) {
      CAPTURE(accesses);
      simt::emulator::set_seed(k + accesses);
      const interleaving on(accesses);
      gpu::memory_budget budget;
      budget.set_limit(offset_t{1} << 30);
      const auto raw = on_device::upload(a, budget);
      CHECK(on_device::download(on_device::sorted_rows(raw.view(), budget)) == a);
      CHECK(on_device::download(on_device::symmetric_graph(raw.view(), budget)) ==
            symmetrized(a, diagonal::drop));
      const auto parent = on_device::elimination_tree(raw.view(), budget);
      CHECK(values_of(parent) == expected);
      CHECK(values_of(on_device::postorder(a.n_rows, parent.data(), budget)) ==
            postorder(expected));
    }
  }
}
