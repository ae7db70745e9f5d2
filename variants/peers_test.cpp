// labels: unit oracle
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <sstream>

#include "common/variant.hpp"
#include "harness/list_command.hpp"
#include "harness/matrix_source.hpp"
#include "harness/test_patterns.hpp"

using namespace gsofa;

namespace {

constexpr const char* suitesparse_peers[] = {"peer_cholmod", "peer_umfpack"};

result solve(const std::string& name, const pattern_view& a) {
  const variant_info& info = find_variant(name);
  execution exec;
  const auto v = info.create();
  v->prepare(a, {.options = option_set(info.options), .wants = info.gives}, exec);
  result r;
  for (int repeat = 0; repeat < 2; ++repeat) {
    exec.phases.start(phase_id::traverse);
    v->run(exec);
    exec.phases.stop();
    r = v->collect(info.gives);
  }
  return r;
}

// What a peer says is never below the fill, row by row where it gives rows.
void check_bounds(const pattern_view& a) {
  const result exact = solve("cpu_gilbert_peierls", a);
  for (const char* peer : suitesparse_peers) {
    const variant_info& info = find_variant(peer);
    if (info.unavailable()) continue;
    CAPTURE(peer);
    const result r = solve(peer, a);
    CHECK(r.nnz_l >= exact.nnz_l);
    CHECK(r.nnz_u >= exact.nnz_u);
    if (info.gives.has(want::counts)) {
      CHECK(std::ranges::equal(r.l_row_counts, exact.l_row_counts, std::ranges::greater_equal()));
      CHECK(std::ranges::equal(r.u_row_counts, exact.u_row_counts, std::ranges::greater_equal()));
    }
  }
}

prepared_pattern bundled(const std::string& name) {
  const auto file = std::string(GSOFA_SOURCE_DIR) + "/experiments/matrices/" + name + ".mtx.gz";
  prepare_options how;
  how.order = "amd";
  return load_matrix(file, how);
}

bool available(const char* peer) { return !find_variant(peer).unavailable(); }

}  // namespace

TEST_CASE("peers of SuiteSparse are listed, with the reason where they are absent") {
  std::ostringstream list;
  print_list(list, false);
  for (const char* peer : suitesparse_peers) {
    CAPTURE(peer);
    const variant_info& info = find_variant(peer);
    CHECK(info.device == "peer");
    CHECK(list.str().find(std::string(peer) + "  [peer]") != std::string::npos);
    if (const auto why = info.unavailable()) {
      CHECK(why->find("libsuitesparse-dev") != std::string::npos);
      CHECK_THROWS_AS(info.create(), unavailable_error);
    }
  }
}

TEST_CASE("peers of SuiteSparse are never below the fill of small patterns") {
  for (const auto& p : special_patterns()) {
    CAPTURE(p.name);
    check_bounds(p.a);
  }
  for (std::uint64_t k = 0; k < 200; ++k) {
    const auto p = random_pattern(7, k);
    CAPTURE(p.name);
    check_bounds(p.a);
  }
}

TEST_CASE("peers of SuiteSparse are never below the fill of bundled matrices") {
  for (const char* name : {"add32", "west2021", "sherman5", "orani678"}) {
    CAPTURE(name);
    try {
      check_bounds(bundled(name).view());
    } catch (const unavailable_error& e) {
      MESSAGE(e.what());  // no BTF to match rows with
    }
  }
}

TEST_CASE("CHOLMOD is exact on a symmetric pattern, and only there") {
  if (!available("peer_cholmod")) return;
  const auto symmetric = bundled("bcsstk18");
  const result exact = solve("cpu_gilbert_peierls", symmetric.view());
  const result r = solve("peer_cholmod", symmetric.view());
  CHECK(r.nnz_l == exact.nnz_l);
  CHECK(r.nnz_u == exact.nnz_u);
  CHECK(r.l_row_counts == exact.l_row_counts);
  CHECK(r.u_row_counts == exact.u_row_counts);

  // Column 0 full in A: no fill. A + A^T is full after the elimination of 0.
  const pattern arrow = from_triplets(
      {.n_rows = 4, .n_cols = 4, .rows = {0, 1, 2, 3, 1, 2, 3}, .cols = {0, 0, 0, 0, 1, 2, 3}},
      duplicates::reject);
  const result bound = solve("peer_cholmod", arrow);
  CHECK(bound.l_row_counts == std::vector<index_t>{0, 1, 2, 3});
  CHECK(bound.u_row_counts == std::vector<index_t>{4, 3, 2, 1});
}

TEST_CASE("one rank of SuperLU_DIST's parallel routine: between the fill and what symbfact says") {
  const variant_info& info = find_variant("peer_superlu_dist_parallel");
  CHECK(info.distributed);
  if (const auto why = info.unavailable()) {
    CHECK(why->find("built without") == 0);
    CHECK_THROWS_AS(info.create(), unavailable_error);
    return;
  }
  auto check = [](const pattern_view& a) {
    const result exact = solve("cpu_gilbert_peierls", a);
    const result sequential = solve("peer_superlu_dist", a);
    const result r = solve("peer_superlu_dist_parallel", a);
    CHECK(r.nnz_l >= exact.nnz_l);
    CHECK(r.nnz_u >= exact.nnz_u);
    CHECK(r.nnz_l <= sequential.nnz_l);
    CHECK(r.nnz_u <= sequential.nnz_u);
  };
  for (const auto& p : special_patterns()) {
    CAPTURE(p.name);
    check(p.a);
  }
  for (std::uint64_t k = 0; k < 200; ++k) {
    const auto p = random_pattern(7, k);
    CAPTURE(p.name);
    check(p.a);
  }
}

TEST_CASE("peers of SuiteSparse at order 1") {
  const pattern one =
      from_triplets({.n_rows = 1, .n_cols = 1, .rows = {0}, .cols = {0}}, duplicates::reject);
  for (const char* peer : suitesparse_peers) {
    if (!available(peer)) continue;
    CAPTURE(peer);
    const result r = solve(peer, one);
    CHECK(r.nnz_l == 0);
    CHECK(r.nnz_u == 1);
  }
}
