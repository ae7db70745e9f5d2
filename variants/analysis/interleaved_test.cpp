// labels: oracle
// program: interleaved
// The analysis on the device with threads switched at loads and stores: the results are those of
// the host, or the same from run to run, all the same.
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

// Columns moved by one, and without the entries of some rows: few diagonals, often singular.
pattern moved(const pattern& a, std::uint64_t k) {
  std::vector<index_t> columns(at(a.n_rows));
  for (index_t j = 0; j < a.n_rows; ++j) columns[at(j)] = (j + 1) % a.n_rows;
  const pattern all = permute(a, identity_order(a.n_rows), columns);
  pattern out;
  out.n_rows = out.n_cols = a.n_rows;
  for (index_t i = 0; i < a.n_rows; ++i) {
    const auto row = all.row(i);
    if (k % 2 == 0 || i % 9 != 4) out.col_idx.insert(out.col_idx.end(), row.begin(), row.end());
    out.row_ptr.push_back(static_cast<offset_t>(out.col_idx.size()));
  }
  return out;
}

}  // namespace

TEST_CASE("steps of the analysis on the device, threads switched at their loads and stores") {
  for (std::uint64_t k = 0; k < 60; ++k) {
    const named_pattern p = random_pattern(23, k);
    CAPTURE(p.name);
    const pattern a = moved(p.a, k);
    const auto expected = elimination_tree(symmetrized(a, diagonal::drop));
    std::vector<index_t> matched;
    std::vector<index_t> deficient;
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
      const on_device::matching m = on_device::maximum_matching(raw.view(), budget);
      CHECK(m.structural_rank == maximum_transversal(a).structural_rank);
      if (accesses == 0) {
        matched = values_of(m.row_of_col);
        deficient = m.deficient_rows;
      }
      CHECK(values_of(m.row_of_col) == matched);
      CHECK(m.deficient_rows == deficient);
    }
  }
}
