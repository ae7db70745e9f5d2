#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "common/pattern.hpp"
#include "gsofa/gsofa.hpp"
#include "harness/library/cpp/test_analyses.hpp"
#include "reference/test_patterns.hpp"

namespace gsofa {
namespace {

using namespace library::testing;
using reference::testing::from_predicate;
using reference::testing::random_pattern;

TEST_CASE("a batch gives what analyze() gives, each pattern once") {
  std::mt19937_64 engine(31);
  std::vector<pattern> patterns;
  for (int k = 0; k < 120; ++k) {
    patterns.push_back(random_pattern(engine, static_cast<index_t>(1 + engine() % 60), 10));
  }
  std::vector<csr_view> views;
  for (const pattern& a : patterns) views.push_back(view_of(a));
  for (const order_method order : {order_method::natural, order_method::amd}) {
    for (const int threads : {1, 3, 0}) {
      analysis_options options{.threads = threads, .match = false, .order = order, .factors = true};
      std::vector<std::atomic<int>> taken(views.size());
      std::atomic<int> wrong{0};
      analyze_batch(views, options, [&](std::size_t k, const analysis& found) {
        ++taken[k];
        analysis_options alone = options;
        alone.device = compute_device::cpu;
        alone.threads = 1;
        const analysis expected = analyze(views[k], alone);
        const bool same_factors =
            found.l.row_ptr == expected.l.row_ptr && found.l.col_idx == expected.l.col_idx &&
            found.u.row_ptr == expected.u.row_ptr && found.u.col_idx == expected.u.col_idx;
        if (!same_factors || found.col_order != expected.col_order) ++wrong;
      });
      CHECK(wrong == 0);
      for (const auto& times : taken) CHECK(times == 1);
    }
  }
  analyze_batch({}, {}, [](std::size_t, const analysis&) { FAIL("there is none"); });
}

bool has_batch_variant() {
  return std::ranges::any_of(runnable(),
                             [](const auto& v) { return v.name == "gpu_diagonal_blocks"; });
}

// What differs between two analyses; "" if nothing does that a batch is to keep.
std::string difference(const analysis& a, const analysis& b) {
  if (a.n != b.n || a.nnz_a != b.nnz_a || a.diagonal_added != b.diagonal_added) return "pattern";
  if (a.row_order != b.row_order || a.col_order != b.col_order) return "order";
  if (a.nnz_l != b.nnz_l || a.nnz_u != b.nnz_u) return "entries";
  if (a.l_row_counts != b.l_row_counts || a.u_row_counts != b.u_row_counts) return "counts";
  if (a.supernode_starts != b.supernode_starts) return "supernodes";
  if (a.l.row_ptr != b.l.row_ptr || a.l.col_idx != b.l.col_idx) return "l";
  if (a.u.row_ptr != b.u.row_ptr || a.u.col_idx != b.u.col_idx) return "u";
  if (a.l_columns.col_ptr != b.l_columns.col_ptr || a.l_columns.row_idx != b.l_columns.row_idx) {
    return "columns of l";
  }
  return a.order == b.order ? "" : "name of the order";
}

TEST_CASE("a batch that a device analyses at once gives the same") {
  if (!has_batch_variant()) return;
  std::mt19937_64 engine(77);
  std::vector<pattern> patterns;
  for (int k = 0; k < 40; ++k) {
    const auto n = static_cast<index_t>(1 + engine() % 50);
    patterns.push_back(random_pattern(engine, n, static_cast<int>(k % 4 == 0 ? 2 : 12)));
  }
  // Isolated vertices alone, and among others.
  patterns.push_back(from_predicate(5, [](index_t i, index_t j) { return i == j; }));
  patterns.push_back(from_predicate(9, [](index_t i, index_t j) { return i == j || i + j == 3; }));
  std::vector<csr_view> views;
  for (const pattern& a : patterns) views.push_back(view_of(a));
  int k = 0;
  for (const order_method order : {order_method::natural, order_method::amd}) {
    for (const std::int32_t chunk : {0, 1, 7, 64}) {
      CAPTURE(chunk);
      const bool columns = ++k % 3 == 0;
      analysis_options options{.device = compute_device::gpu,
                               .threads = k % 2 == 0 ? 1 : 3,
                               .match = false,
                               .order = order,
                               .factors = k % 2 == 0,
                               .supernodes = k % 5 != 0,
                               .chunk_size = chunk,
                               .factor_columns = columns};
      // No pattern has more than 50 rows.
      const bool cuts = options.supernodes && chunk > 0 && chunk < 50;
      std::vector<std::string> differences(views.size(), "not taken");
      analyze_batch(views, options, [&](std::size_t at, const analysis& found) {
        analysis_options alone = options;
        alone.device = compute_device::cpu;
        alone.threads = 1;
        differences[at] = difference(found, analyze(views[at], alone));
        const std::string variant = cuts ? "gpu_bitmap_panels" : "gpu_diagonal_blocks";
        if (found.variant != variant) differences[at] = found.variant;
        if (!found.fallback.empty()) differences[at] = found.fallback;
      });
      for (const std::string& d : differences) CHECK(d == "");
    }
  }
}

TEST_CASE(
    "faults of a batch on a device name the pattern, and a failing device leaves it to the host") {
  if (!has_batch_variant()) return;
  const pattern good = from_predicate(4, [](index_t, index_t) { return true; });
  const pattern singular{4, 4, {0, 1, 2, 3, 4}, {0, 0, 0, 0}};
  std::vector<csr_view> views(9, view_of(good));
  views[6] = view_of(singular);
  const auto message = [&](const analysis_options& options) -> std::string {
    try {
      analyze_batch(views, options, [](std::size_t, const analysis&) {});
    } catch (const invalid_input& e) {
      return e.what();
    }
    return "";
  };
  const std::string of_host = message({.device = compute_device::cpu});
  CHECK(of_host.starts_with("pattern 6: pattern: structurally singular"));
  CHECK(message({.device = compute_device::gpu}) == of_host);
  CHECK(message({.variant = "gpu_diagonal_blocks"}) == of_host);
  views[6] = view_of(good);
  const auto throwing = [&] {
    analyze_batch(views, {.device = compute_device::gpu}, [](std::size_t k, const analysis&) {
      if (k == 2) throw std::out_of_range("mine");
    });
  };
  CHECK_THROWS_WITH_AS(throwing(), "mine", std::out_of_range);
  // 200,000 rows take more than 1 MiB of the device.
  const pattern wide = from_predicate(400, [](index_t i, index_t j) { return i == j || j == 0; });
  const std::vector<csr_view> many(500, view_of(wide));
  analysis_options options{.memory_budget_mb = 1, .order = order_method::natural};
  std::atomic<int> on_host{0};
  analyze_batch(many, options, [&](std::size_t, const analysis& found) {
    if (found.fallback.starts_with("gpu_diagonal_blocks: memory budget")) ++on_host;
  });
  CHECK(on_host == 500);
  options.device = compute_device::gpu;
  CHECK_THROWS_AS(analyze_batch(many, options, [](std::size_t, const analysis&) {}),
                  analysis_error);
}

TEST_CASE("a batch ends at the first fault, and says where") {
  const pattern good = from_predicate(4, [](index_t, index_t) { return true; });
  const std::vector<std::int64_t> row_ptr{0, 1, 2};
  const std::vector<std::int32_t> col_idx{0, 7};
  std::vector<csr_view> views(20, view_of(good));
  views[13] = {2, row_ptr, col_idx};
  for (const int threads : {1, 4}) {
    std::atomic<int> taken{0};
    const auto faulty = [&] {
      analyze_batch(views, {.threads = threads}, [&](std::size_t, const analysis&) { ++taken; });
    };
    CHECK_THROWS_AS(faulty(), invalid_input);
    CHECK(taken <= 19);
    try {
      faulty();
    } catch (const invalid_input& e) {
      CHECK(std::string(e.what()).starts_with("pattern 13: "));
    }
    const auto throwing = [&] {
      analyze_batch({views.data(), 5}, {.threads = threads}, [](std::size_t k, const analysis&) {
        if (k == 2) throw std::out_of_range("mine");
      });
    };
    CHECK_THROWS_WITH_AS(throwing(), "mine", std::out_of_range);
  }
  analysis_options options;
  options.log = [](const std::string&) {};
  CHECK_THROWS_AS(analyze_batch(views, options, [](std::size_t, const analysis&) {}),
                  invalid_input);
}

TEST_CASE("a batch calls progress on the calling thread, and ends if it says so") {
  const pattern a =
      from_predicate(300, [](index_t i, index_t j) { return i == j || (i + j) % 7 == 0; });
  const std::vector<csr_view> views(400, view_of(a));
  const auto here = std::this_thread::get_id();
  for (const int threads : {1, 3}) {
    std::vector<double> shares;
    std::atomic<std::size_t> taken{0};
    std::size_t most = views.size() + 1;  // patterns until the batch ends
    analysis_options options{.device = compute_device::cpu, .threads = threads};
    options.progress_seconds = 1e-4;
    options.progress = [&](const analysis_progress& p) {
      CHECK(std::this_thread::get_id() == here);
      shares.push_back(p.share);
      return taken < most;
    };
    const auto run = [&] {
      taken = 0;
      analyze_batch(views, options, [&](std::size_t, const analysis&) { ++taken; });
    };
    run();
    CHECK(taken == views.size());
    CHECK(shares.front() == 0);
    CHECK(shares.back() > 0);
    CHECK(shares.back() <= 1);
    CHECK(std::ranges::is_sorted(shares));
    most = 1;
    try {
      run();
      FAIL("it went on");
    } catch (const analysis_error& e) {
      CHECK(e.kind() == failure::cancelled);
    }
    CHECK(taken < views.size());
    options.progress = [&](const analysis_progress&) -> bool { throw std::out_of_range("mine"); };
    CHECK_THROWS_WITH_AS(run(), "mine", std::out_of_range);
    CHECK(taken == 0);
  }
}

}  // namespace
}  // namespace gsofa
