#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "common/ordering.hpp"
#include "common/pattern.hpp"
#include "gsofa/gsofa.hpp"
#include "harness/library/cpp/test_analyses.hpp"
#include "reference/test_patterns.hpp"

namespace gsofa {
namespace {

using namespace library::testing;
using reference::testing::random_pattern;

// Why this build or machine has no GPU; empty if it has one.
std::string reason_without_gpu() {
  for (const auto& v : variants()) {
    if (v.name == "gpu_bitmap_panels") return v.unavailable;
  }
  return "gpu_bitmap_panels is not in this build";
}

// Disjoint cliques of so many vertices.
pattern cliques(index_t number, index_t size) {
  pattern a;
  a.n_rows = a.n_cols = number * size;
  for (index_t v = 0; v < a.n_rows; ++v) {
    for (index_t k = 0; k < size; ++k) a.col_idx.push_back(v - v % size + k);
    a.row_ptr.push_back(static_cast<offset_t>(a.col_idx.size()));
  }
  return a;
}

TEST_CASE("orders are found on a device where there is one and the caller asks for it") {
  const std::string no_gpu = reason_without_gpu();
  const pattern large = cliques(500, 40);
  const std::string host = analyze(view_of(large), {.device = compute_device::cpu}).order;
  CHECK_FALSE(host.starts_with("gpu"));
  CHECK(analyze(view_of(large)).order == host);
  if (no_gpu.empty()) {
    CHECK(analyze(view_of(large), {.device = compute_device::gpu})
              .order.starts_with("gpu_nested_dissection"));
  }
  CHECK(analyze(view_of(large), {.variant = "cpu_bitmap_panels"}).order == host);
  std::mt19937_64 engine(12);
  for (const index_t n : {1, 40, 300}) {
    const pattern a = random_pattern(engine, n, 3);
    const analysis_options asked{.order = order_method::gpu_nested_dissection, .factors = true};
    if (!no_gpu.empty()) {
      try {
        analyze(view_of(a), asked);
        FAIL("nothing was thrown");
      } catch (const analysis_error& e) {
        CHECK(e.kind() == failure::unavailable);
        CHECK(std::string(e.what()) == "order gpu_nested_dissection: " + no_gpu);
      }
      continue;
    }
    const analysis found = analyze(view_of(a), asked);
    CHECK(found.order == "gpu_nested_dissection");
    CHECK(found.fallback.empty());
    const analysis again = analyze(view_of(a), {.device = compute_device::cpu,
                                                .order = order_method::given,
                                                .permutation = found.col_order,
                                                .factors = true});
    CHECK(again.l.col_idx == found.l.col_idx);
    CHECK(again.u.col_idx == found.u.col_idx);
  }
}

TEST_CASE("the device does all of the analysis of a matrix without a zero-free diagonal") {
  const std::string no_gpu = reason_without_gpu();
  std::mt19937_64 engine(13);
  for (const index_t n : {2, 30, 200}) {
    pattern a = random_pattern(engine, n, 3);
    // Rows move: the last one comes first. Vertices without an entry off the diagonal stay.
    std::vector<index_t> rows(at(n));
    std::iota(rows.begin(), rows.end(), -1);
    rows[0] = n - 1;
    a = permute(a, rows, identity_order(n));
    if (!no_gpu.empty()) continue;
    const analysis_options asked{.order = order_method::gpu_nested_dissection,
                                 .factors = true,
                                 .supernodes = n == 30,
                                 .supernodal = n == 200};
    const analysis found = analyze(view_of(a), asked);
    CHECK(found.fallback.empty());
    CHECK(found.nnz_a == a.nnz());
    CHECK(found.variant == "gpu_bitmap_panels");
    const pattern permuted = permute(a, found.row_order, found.col_order);
    CHECK(count_missing_diagonal(permuted) == 0);
    const analysis again = analyze(view_of(permuted), {.device = compute_device::cpu,
                                                       .order = order_method::natural,
                                                       .factors = true,
                                                       .supernodes = n == 30,
                                                       .supernodal = n == 200});
    CHECK(again.l.col_idx == found.l.col_idx);
    CHECK(again.u.col_idx == found.u.col_idx);
    CHECK(again.u_row_counts == found.u_row_counts);
    CHECK(again.supernode_starts == found.supernode_starts);
    CHECK(again.supernodal.rows == found.supernodal.rows);
  }
}

TEST_CASE("a structurally singular pattern is refused alike where the device does all") {
  pattern a = cliques(2, 3);
  a.col_idx.assign(a.col_idx.size(), 1);  // every row three times in column 1
  std::string said[2];
  for (const auto order : {order_method::natural, order_method::gpu_nested_dissection}) {
    if (order == order_method::gpu_nested_dissection && !reason_without_gpu().empty()) return;
    try {
      analyze(view_of(a), {.order = order});
      FAIL("nothing was thrown");
    } catch (const invalid_input& e) {
      said[order == order_method::natural ? 0 : 1] = e.what();
    }
  }
  CHECK(said[0] == said[1]);
}

TEST_CASE("patterns in device memory") {
  std::mt19937_64 engine(14);
  const pattern a = random_pattern(engine, 60, 3);
  const std::vector<std::int32_t> narrow(a.row_ptr.begin(), a.row_ptr.end());
  const std::vector<std::int64_t> wide(a.col_idx.begin(), a.col_idx.end());
  const device_csr_view view{a.n_rows, a.nnz(), a.row_ptr.data(), a.col_idx.data()};
  const device_csr_view_32 view_32{a.n_rows, a.nnz(), narrow.data(), a.col_idx.data()};
  const device_csr_view_64 view_64{a.n_rows, a.nnz(), a.row_ptr.data(), wide.data()};
  const analysis_options there{.order = order_method::gpu_nested_dissection, .factors = true};
  const std::string no_gpu = reason_without_gpu();
  try {
    // The emulator's device memory is that of the host.
    const analysis found = analyze(view, there);
    REQUIRE(no_gpu.empty());
    for (const analysis_options& o :
         {there, analysis_options{.order = order_method::amd, .factors = true},
          analysis_options{.match = false, .order = order_method::amd, .factors = true}}) {
      const analysis expected = analyze(view_of(a), o);
      for (const analysis& got : {analyze(view, o), analyze(view_32, o), analyze(view_64, o)}) {
        CHECK(got.u.col_idx == expected.u.col_idx);
        CHECK(got.l.col_idx == expected.l.col_idx);
        CHECK(got.nnz_a == expected.nnz_a);
        CHECK(got.order == expected.order);
      }
    }
    CHECK(analyze(device_csr_view{0, 0}, there).n == 0);
    CHECK_THROWS_AS(analyze(device_csr_view{-1, 0}, there), invalid_input);
  } catch (const analysis_error& e) {
    if (no_gpu.empty()) {
      CHECK(std::string(e.what()) ==
            "pattern: row_ptr is not in memory of device 0, the current one");
    } else {
      CHECK(std::string(e.what()) == "order gpu_nested_dissection: " + no_gpu);
      try {
        analyze(view, {});
        FAIL("nothing was thrown");
      } catch (const analysis_error& other) {
        CHECK(other.kind() == failure::unavailable);
        CHECK(std::string(other.what()) == "a pattern in device memory: " + no_gpu);
      }
    }
  }
}

}  // namespace
}  // namespace gsofa
