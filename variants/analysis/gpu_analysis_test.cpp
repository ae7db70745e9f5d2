// labels: oracle
// program: emulated device
// The steps of the analysis on the device, or on the emulator (simt.hpp), against those of the
// host.
#include "variants/analysis/gpu_analysis.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "common/generators.hpp"
#include "common/matrix_file.hpp"
#include "common/preprocess.hpp"
#include "common/random.hpp"
#include "harness/check/test_patterns.hpp"
#include "reference/verify_result.hpp"

using namespace gsofa;
namespace on_device = gsofa::gpu::analysis;

namespace {

gpu::memory_budget budget_of_tests() {
  gpu::memory_budget budget;
  budget.set_limit(offset_t{1} << 30);
  return budget;
}

pattern rows_of(index_t n, const std::vector<std::vector<index_t>>& rows) {
  pattern a;
  a.n_rows = a.n_cols = n;
  for (const auto& row : rows) {
    a.col_idx.insert(a.col_idx.end(), row.begin(), row.end());
    a.row_ptr.push_back(static_cast<offset_t>(a.col_idx.size()));
  }
  return a;
}

// Entry (i, j) stays if a random word says so: empty rows and columns, zeros on the diagonal.
pattern thinned(const pattern& a, std::uint64_t seed, int percent) {
  std::vector<std::vector<index_t>> rows(at(a.n_rows));
  for (index_t i = 0; i < a.n_rows; ++i) {
    for (const index_t j : a.row(i)) {
      const std::uint64_t word =
          keyed_random(seed, static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(j));
      if (word % 100 < static_cast<std::uint64_t>(percent)) rows[at(i)].push_back(j);
    }
  }
  return rows_of(a.n_rows, rows);
}

std::vector<named_pattern> subjects() {
  std::vector<named_pattern> out{{"no rows", rows_of(0, {})},
                                 {"a zero", rows_of(1, {{}})},
                                 {"zeros", rows_of(40, std::vector<std::vector<index_t>>(40))}};
  for (auto& p : special_patterns()) {
    if (p.a.n_rows <= 400) out.push_back(std::move(p));
  }
  for (std::uint64_t k = 0; k < 30; ++k) {
    named_pattern p = random_pattern(11, k);
    if (k % 3 == 1) p.a = thinned(p.a, k, 60);
    if (k % 3 == 2) p.a = thinned(p.a, k, 15);
    out.push_back(std::move(p));
  }
  for (const char* spec : {"arrow:n=700", "arrow:n=300,tip=first", "tridiagonal:n=500",
                           "grid5:nx=17,ny=11", "circuit:n=450,hubs=4,supply=0.8,seed=4",
                           "random:n=260,degree=9,seed=4", "random:n=400,degree=1,seed=4"}) {
    out.push_back({spec, generate(spec)});
  }
  out.push_back({"west2021", read_matrix_file(std::string(GSOFA_SOURCE_DIR) +
                                              "/experiments/matrices/west2021.mtx.gz")});
  return out;
}

// The same entries in rows of another order; one in `repeated` of them twice, with 0 none.
pattern shuffled(const pattern& a, std::uint64_t seed, std::uint64_t repeated = 7) {
  std::vector<std::vector<index_t>> rows(at(a.n_rows));
  for (index_t i = 0; i < a.n_rows; ++i) {
    auto& row = rows[at(i)];
    for (const index_t j : a.row(i)) {
      const auto word =
          keyed_random(seed, static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(j));
      row.insert(row.begin() + static_cast<std::ptrdiff_t>(word % (row.size() + 1)), j);
      if (repeated > 0 && word % repeated == 0) row.push_back(j);
    }
  }
  return rows_of(a.n_rows, rows);
}

template <class T>
std::vector<T> values_of(const gpu::device_array<T>& array) {
  std::vector<T> out(at(array.size()));
  gpu::copy_to_host(out.data(), array.data(), array.size());
  return out;
}

gpu::device_array<index_t> put(const std::vector<index_t>& values, gpu::memory_budget& budget) {
  gpu::device_array<index_t> out(budget, "order", static_cast<offset_t>(values.size()));
  gpu::copy_to_device(out.data(), values.data(), out.size());
  return out;
}

}  // namespace

TEST_CASE("rows sorted on the device, transpose, graph and permutation are those of the host") {
  std::uint64_t seed = 0;
  for (const named_pattern& p : subjects()) {
    CAPTURE(p.name);
    simt::emulator::set_seed(++seed);
    gpu::memory_budget budget = budget_of_tests();
    {
      const auto raw = on_device::upload(shuffled(p.a, seed), budget);
      const auto a = on_device::sorted_rows(raw.view(), budget);
      CHECK(on_device::download(a) == p.a);
      CHECK(on_device::missing_diagonal(a.view(), budget) == count_missing_diagonal(p.a));
      CHECK(on_device::missing_diagonal(raw.view(), budget) == count_missing_diagonal(p.a));
      CHECK(on_device::download(on_device::transposed(a.view(), budget)) == transpose(p.a));
      const pattern graph = symmetrized(p.a, diagonal::drop);
      CHECK(on_device::download(on_device::symmetric_graph(a.view(), budget)) == graph);
      CHECK(on_device::download(on_device::symmetric_graph(raw.view(), budget)) == graph);
      const auto rows = random_order(p.a.n_rows, seed);
      const auto columns = random_order(p.a.n_rows, seed + 1000);
      const auto d_rows = put(rows, budget);
      const auto d_columns = put(columns, budget);
      CHECK(on_device::download(on_device::permuted(a.view(), d_rows.data(), d_columns.data(),
                                                    budget)) == permute(p.a, rows, columns));
      CHECK(on_device::download(on_device::permuted(a.view(), d_rows.data(), d_rows.data(),
                                                    budget)) == permute(p.a, rows, rows));
    }
    CHECK(budget.used() == 0);
  }
}

TEST_CASE("faults of a pattern on the device are refused by row; orders must be permutations") {
  gpu::memory_budget budget = budget_of_tests();
  const auto fault_of = [&](const pattern& a, offset_t nnz) -> std::string {
    auto raw = on_device::upload(a, budget);
    raw.nnz = nnz;
    try {
      (void)on_device::sorted_rows(raw.view(), budget);
    } catch (const input_error& e) {
      return e.what();
    }
    return "";
  };
  const pattern good = rows_of(3, {{2, 0}, {}, {1, 1}});
  CHECK(fault_of(good, 4) == "");
  CHECK(fault_of(good, 3).find("row 2 (from 0)") == 0);
  pattern a = good;
  a.col_idx[1] = 3;
  CHECK(fault_of(a, 4).find("row 0 (from 0)") == 0);
  a.col_idx[1] = -1;
  CHECK(fault_of(a, 4).find("outside") != std::string::npos);
  a = good;
  a.row_ptr = {0, 3, 2, 4};
  CHECK(fault_of(a, 4).find("row 1 (from 0)") == 0);
  a.row_ptr = {1, 2, 2, 4};
  CHECK(fault_of(a, 4).find("row 0 (from 0)") == 0);

  const auto d = on_device::upload(good, budget);
  const auto identity = put({0, 1, 2}, budget);
  for (const auto& wrong : std::vector<std::vector<index_t>>{{0, 1, 1}, {0, 1, 3}, {-1, 1, 2}}) {
    const auto order = put(wrong, budget);
    CHECK_THROWS_AS((void)on_device::permuted(d.view(), order.data(), identity.data(), budget),
                    input_error);
    CHECK_THROWS_AS((void)on_device::permuted(d.view(), identity.data(), order.data(), budget),
                    input_error);
  }
  gpu::memory_budget little;
  little.set_limit(64);
  CHECK_THROWS_AS((void)on_device::symmetric_graph(d.view(), little), budget_error);
  CHECK(little.used() == 0);
}

TEST_CASE("elimination tree and postorder on the device are those of the host") {
  std::uint64_t seed = 0;
  int moved = 0;
  for (const named_pattern& p : subjects()) {
    CAPTURE(p.name);
    simt::emulator::set_seed(++seed);
    gpu::memory_budget budget = budget_of_tests();
    const auto order = random_order(p.a.n_rows, seed);
    for (const pattern& a : {p.a, permute(p.a, order, order)}) {
      const auto expected = elimination_tree(symmetrized(a, diagonal::drop));
      const auto d = on_device::upload(shuffled(a, seed), budget);
      const auto parent = on_device::elimination_tree(d.view(), budget);
      CHECK(values_of(parent) == expected);
      const auto post = on_device::postorder(a.n_rows, parent.data(), budget);
      const auto expected_post = postorder(expected);
      CHECK(values_of(post) == expected_post);
      if (expected_post != identity_order(a.n_rows)) ++moved;
      const auto d_order = put(order, budget);
      const auto both =
          values_of(on_device::composed(a.n_rows, d_order.data(), post.data(), budget));
      for (std::size_t k = 0; k < both.size(); ++k) {
        CHECK(both[k] == order[at(expected_post[k])]);
      }
    }
    CHECK(budget.used() == 0);
  }
  CHECK(moved > 50);
}

namespace {

// Rows of A without most of the diagonal: columns cyclically moved.
pattern moved_columns(const pattern& a, index_t by) {
  std::vector<index_t> columns(at(a.n_rows));
  for (index_t k = 0; k < a.n_rows; ++k) columns[at(k)] = (k + by) % a.n_rows;
  return permute(a, identity_order(a.n_rows), columns);
}

}  // namespace

TEST_CASE("the device analyzes as the host does, and refuses zeros on the diagonal") {
  const orders::dissection_settings search{.room = 2, .leaf_order = 30};
  int analyzed = 0;
  int refused = 0;
  std::uint64_t seed = 0;
  for (const named_pattern& p : subjects()) {
    CAPTURE(p.name);
    for (const bool moved : {false, true}) {
      if (moved && (p.a.n_rows < 2 || p.a.n_rows > 300)) continue;
      const pattern a = moved ? moved_columns(p.a, 1) : p.a;
      simt::emulator::set_seed(++seed);
      gpu::memory_budget budget = budget_of_tests();
      const auto raw = on_device::upload(shuffled(a, seed), budget);
      gpu::timeline time;
      if (count_missing_diagonal(a) > 0) {
        ++refused;
        CHECK_THROWS_WITH_AS((void)on_device::analyze(raw.view(), search, budget, time),
                             "the diagonal has zeros; the host matches rows", error);
        continue;
      }
      ++analyzed;
      const on_device::ordered out = on_device::analyze(raw.view(), search, budget, time);
      const auto order = values_of(out.order);
      const pattern result = on_device::download(out.a);
      validate_permutation(order, a.n_rows, "order");
      CHECK(result == permute(a, order, order));
      const auto parent = elimination_tree(symmetrized(result, diagonal::drop));
      CHECK(postorder(parent) == identity_order(a.n_rows));
      permuted_pattern host{a, identity_order(a.n_rows), identity_order(a.n_rows)};
      reorder(host, orders::nested_dissection(symmetrized(a, diagonal::drop), search).order, true);
      CHECK(result == host.a);
      CHECK(order == host.col_order);
    }
  }
  CHECK(analyzed > 20);
  CHECK(refused > 20);
}

namespace {

// What gpu_full_analysis finds of rows in device memory.
template <class Offset, class Index>
result found_of(const pattern& rows) {
  gpu::memory_budget budget = budget_of_tests();
  const std::vector<Offset> ptr(rows.row_ptr.begin(), rows.row_ptr.end());
  const std::vector<Index> idx(rows.col_idx.begin(), rows.col_idx.end());
  const gpu::device_array<Offset> d_ptr(budget, "test", static_cast<offset_t>(ptr.size()));
  const gpu::device_array<Index> d_idx(budget, "test", rows.nnz());
  gpu::copy_to_device(d_ptr.data(), ptr.data(), d_ptr.size());
  gpu::copy_to_device(d_idx.data(), idx.data(), d_idx.size());
  const foreign_rows there{.n = rows.n_rows,
                           .nnz = rows.nnz(),
                           .row_ptr = d_ptr.data(),
                           .col_idx = d_idx.data(),
                           .long_row_ptr = sizeof(Offset) == 8,
                           .long_col_idx = sizeof(Index) == 8};
  const variant_info& info = find_variant("gpu_full_analysis");
  const auto v = info.create();
  auto& takes = dynamic_cast<takes_foreign_rows&>(*v);
  CHECK(takes.fetch(there) == rows);
  run_settings settings = settings_with(info, want_set::all());
  run_context context;
  takes.prepare_foreign(there, settings, context);
  return run_once(*v, settings.wants, context);
}

}  // namespace

TEST_CASE("gpu_full_analysis of rows in device memory, of any integers") {
  int seen = 0;
  std::uint64_t seed = 50;
  for (const named_pattern& p : subjects()) {
    if (p.a.n_rows < 1 || p.a.n_rows > 120 || count_missing_diagonal(p.a) > 0) continue;
    CAPTURE(p.name);
    simt::emulator::set_seed(++seed);
    const pattern rows = shuffled(p.a, seed);
    const result a = found_of<std::int64_t, std::int32_t>(rows);
    CHECK(reference::compare_in_order(p.a, {}, a, want_set::all(), 128).ok);
    CHECK(a.of_own_order);
    const result b = found_of<std::int32_t, std::int32_t>(rows);
    const result c = found_of<std::int64_t, std::int64_t>(rows);
    for (const result* other : {&b, &c}) {
      CHECK(other->digest == a.digest);
      CHECK(other->row_order == a.row_order);
      CHECK(other->col_order == a.col_order);
    }
    ++seen;
  }
  CHECK(seen > 30);
}

TEST_CASE("gpu_full_analysis refuses rows that are no pattern, and keeps its limit of time") {
  const variant_info& info = find_variant("gpu_full_analysis");
  run_settings settings = settings_with(info, want::counts);
  run_context context;
  const auto v = info.create();
  auto& takes = dynamic_cast<takes_foreign_rows&>(*v);
  const auto refused = [&](const foreign_rows& a) {
    try {
      takes.prepare_foreign(a, settings, context);
    } catch (const input_error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK(refused({}) == "pattern: order 0; at least 1 is needed");
  CHECK(refused({.n = 3, .nnz = -1}) == "pattern: -1 entries");
  CHECK(refused({.n = 3, .nnz = 2}) == "pattern: row_ptr is null");
  CHECK_THROWS_AS((found_of<std::int64_t, std::int32_t>(rows_of(2, {{0, 7}, {1}}))), input_error);
  const pattern grid = generate("grid5:nx=40,ny=40");
  v->prepare(grid, settings, context);
  context.set_timeout(1e-9);
  CHECK_THROWS_AS(run_once(*v, want::counts, context), timeout_error);
  context.set_timeout(0);
  std::atomic<bool> stop = true;
  context.stop = &stop;
  CHECK_THROWS_AS(run_once(*v, want::counts, context), cancelled_error);
}

TEST_CASE("gpu_analysis is the order of gpu_nested_dissection and a postorder") {
  for (const char* spec : {"diagonal:n=1", "grid5:nx=23,ny=17", "circuit:n=400,hubs=3,seed=2",
                           "random:n=200,degree=3,seed=9"}) {
    CAPTURE(spec);
    const pattern a = generate(spec);
    permuted_pattern host{a, identity_order(a.n_rows), identity_order(a.n_rows)};
    reorder(host, compute_order(a, "gpu_nested_dissection:leaf_order=20", 4).order, true);
    CHECK(compute_order(a, "gpu_analysis:leaf_order=20", 4).order == host.col_order);
  }
  CHECK(compute_order(rows_of(0, {}), "gpu_analysis", -1).order.empty());
}
