// labels: unit oracle
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <sstream>
#include <string>

#include "common/variant.hpp"
#include "harness/check/test_patterns.hpp"
#include "harness/commands/list_command.hpp"
#include "harness/matrices/matrix_source.hpp"

using namespace gsofa;

namespace {

constexpr const char* suitesparse_peers[] = {"peer_cholmod", "peer_umfpack"};
constexpr const char* superlu_dist_peers[] = {"peer_superlu_dist", "peer_superlu_dist_parallel"};
constexpr const char* bundled_matrices[] = {"add32", "west2021", "sherman5", "orani678"};

// Whether this build can match the rows of a matrix.
#ifdef GSOFA_HAVE_BTF
constexpr bool matches_rows = true;
#else
constexpr bool matches_rows = false;
#endif

result solve(const std::string& name, const pattern_view& a) {
  const variant_info& info = find_variant(name);
  run_context context;
  const auto v = info.create();
  v->prepare(a, {.options = option_set(info.options), .wants = info.gives}, context);
  result r;
  for (int repeat = 0; repeat < 2; ++repeat) {
    r = run_once(*v, info.gives, context);
  }
  return r;
}

// Whether a peer can run here. Where it cannot, it must say why, be listed with that reason, and
// refuse to be made with it.
bool available(const std::string& peer) {
  const variant_info& info = find_variant(peer);
  const auto why = info.unavailable();
  if (!why) {
    CHECK_FALSE(info.library.empty());
    return true;
  }
  CAPTURE(peer);
  CHECK_FALSE(why->empty());
  std::ostringstream list;
  print_list_verbose(list, false);
  CHECK(list.str().find(*why) != std::string::npos);
  CHECK_THROWS_WITH_AS(info.create(), (peer + ": " + *why).c_str(), unavailable_error);
  return false;
}

// The counts of a peer are never below the fill, row by row where it gives rows.
void check_bounds(const pattern_view& a) {
  const result exact = solve("cpu_gilbert_peierls", a);
  for (const char* peer : suitesparse_peers) {
    const variant_info& info = find_variant(peer);
    if (!available(peer)) continue;
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

// Calls check(pattern) for each bundled matrix. A matrix that needs its rows matched is refused, in
// words that name the package, exactly in builds that cannot match rows.
template <class Check>
void for_bundled_matrices(Check&& check) {
  int checked = 0;
  for (const char* name : bundled_matrices) {
    CAPTURE(name);
    std::optional<prepared_pattern> prepared;
    try {
      prepared = bundled(name);
    } catch (const unavailable_error& e) {
      CHECK_FALSE(matches_rows);
      CHECK(std::string(e.what()).find("libsuitesparse-dev") != std::string::npos);
      continue;
    }
    check(prepared->view());
    ++checked;
  }
  CHECK(checked >= (matches_rows ? 4 : 1));
}

// Entries of L+U.
offset_t entries(const result& r) { return r.nnz_l + r.nnz_u; }

// cuDSS analyses A + A^T: its count is at least that of this pattern.
void check_cudss(const pattern_view& a) {
  const result r = solve("peer_cudss", a);
  const result exact = solve("cpu_gilbert_peierls", a);
  CHECK(r.nnz_l >= exact.nnz_l);
  CHECK(r.nnz_u >= exact.nnz_u);
  CHECK(entries(r) >= entries(solve("cpu_gilbert_peierls", symmetrized(a, diagonal::keep))));
}

}  // namespace

TEST_CASE("peers of SuiteSparse are listed, with the reason where they are absent") {
  std::ostringstream list;
  print_list_verbose(list, false);
  for (const char* peer : suitesparse_peers) {
    CAPTURE(peer);
    const variant_info& info = find_variant(peer);
    CHECK(info.device == "peer");
    CHECK(list.str().find(std::string(peer) + "  [peer]") != std::string::npos);
    if (available(peer)) continue;
    CHECK(info.unavailable()->find("libsuitesparse-dev") != std::string::npos);
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
  for_bundled_matrices([](const pattern_view& a) { check_bounds(a); });
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

  // Column 0 is full in A, which has no fill. A + A^T is full after the elimination of 0.
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
  bool both = true;
  for (const char* peer : superlu_dist_peers) {
    if (available(peer)) continue;
    both = false;
    CHECK(find_variant(peer).unavailable()->find("built without") == 0);
  }
  if (!both) return;
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

TEST_CASE("cuDSS is listed, with the reason where it or a GPU is absent") {
  std::ostringstream list;
  print_list_verbose(list, false);
  CHECK(list.str().find("peer_cudss  [peer]") != std::string::npos);
  const variant_info& info = find_variant("peer_cudss");
  CHECK(info.device == "peer");
  CHECK_FALSE(info.exact);
  CHECK(info.gives == want_set());
  if (available("peer_cudss")) return;
  const auto why = info.unavailable();
  CAPTURE(*why);
  CHECK((why->find("built without cuDSS") != std::string::npos ||
         why->find("no CUDA device") != std::string::npos));
}

TEST_CASE("cuDSS counts the diagonal once") {
  if (!available("peer_cudss")) return;
  for (const index_t n : {1, 2, 7, 100}) {
    CAPTURE(n);
    triplets diagonal_only{.n_rows = n, .n_cols = n, .rows = {}, .cols = {}};
    for (index_t i = 0; i < n; ++i) {
      diagonal_only.rows.push_back(i);
      diagonal_only.cols.push_back(i);
    }
    const result r = solve("peer_cudss", from_triplets(diagonal_only, duplicates::reject));
    CHECK(r.nnz_l == 0);
    CHECK(r.nnz_u == n);
  }
}

TEST_CASE("cuDSS is never below the fill of A + A^T") {
  if (!available("peer_cudss")) return;
  for (const auto& p : special_patterns()) {
    CAPTURE(p.name);
    check_cudss(p.a);
  }
  for (std::uint64_t k = 0; k < 40; ++k) {
    const auto p = random_pattern(7, k);
    CAPTURE(p.name);
    check_cudss(p.a);
  }
  for_bundled_matrices([](const pattern_view& a) { check_cudss(a); });
}
