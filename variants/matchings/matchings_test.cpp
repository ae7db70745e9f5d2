// All matchings against the exact check, and what `symmetric` promises.
// labels: oracle
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "common/generators.hpp"
#include "common/matching.hpp"
#include "common/ordering.hpp"
#include "common/random.hpp"
#include "reference/matching_check.hpp"

using namespace gsofa;

namespace {

pattern random_pattern(index_t n, int entries, std::mt19937& random) {
  triplets t{.n_rows = n, .n_cols = n, .rows = {}, .cols = {}};
  for (int k = 0; k < entries && n > 0; ++k) {
    t.rows.push_back(static_cast<index_t>(random() % static_cast<unsigned>(n)));
    t.cols.push_back(static_cast<index_t>(random() % static_cast<unsigned>(n)));
  }
  return from_triplets(t, duplicates::merge);
}

pattern rows_shuffled(const pattern& a, std::uint64_t seed) {
  std::vector<index_t> rows = identity_order(a.n_rows);
  random_source random(seed);
  for (std::size_t k = rows.size(); k > 1; --k) std::swap(rows[k - 1], rows[random.below(k)]);
  return permute(a, rows, identity_order(a.n_cols));
}

// With hubs, equal rows and empty rows.
std::vector<pattern> shapes() {
  std::vector<pattern> out{{}, {1, 1, {0, 0}, {}}, {1, 1, {0, 1}, {0}}};
  for (const char* spec : {"dense:n=30", "arrow:n=60", "diagonal:n=9", "tridiagonal:n=40"}) {
    out.push_back(rows_shuffled(generate(spec), 3));
  }
  triplets equal{.n_rows = 40, .n_cols = 40, .rows = {}, .cols = {}};
  for (index_t i = 0; i < 40; ++i) {
    for (const index_t j : {3, 7, 21, i / 2}) {
      equal.rows.push_back(i);
      equal.cols.push_back(j);
    }
  }
  out.push_back(from_triplets(equal, duplicates::merge));
  return out;
}

}  // namespace

TEST_CASE("matchings by pattern are of maximum cardinality and repeat") {
  std::mt19937 random(11);
  std::vector<pattern> all = shapes();
  for (int trial = 0; trial < 300; ++trial) {
    const auto n = static_cast<index_t>(1 + trial % 25);
    all.push_back(random_pattern(n, static_cast<int>(n) * (1 + trial % 5), random));
  }
  for (const matching_info& info : all_matchings()) {
    if (info.unavailable() || info.needs_values || info.device != "cpu") continue;
    CAPTURE(info.name);
    for (const pattern& a : all) {
      const row_matching m = compute_matching(a, {}, info.name);
      CHECK(reference::fault_of_matching(a, nullptr, m) == "");
      CHECK(m.row_of_col == compute_matching(a, {}, info.name).row_of_col);
      if (count_missing_diagonal(a) == 0 && m.symmetric_pattern) {
        CHECK(m.row_of_col == identity_order(a.n_rows));
      }
    }
  }
}

TEST_CASE("symmetric finds the rows of shuffled symmetric patterns") {
  for (const char* spec : {"grid5:nx=23,ny=17", "grid7:nx=9,ny=8,nz=7", "triangles:nx=14",
                           "arrow:n=300", "tridiagonal:n=200", "random:n=400,degree=4"}) {
    CAPTURE(spec);
    const pattern a = symmetrized(generate(spec), diagonal::keep);
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      const row_matching m = compute_matching(rows_shuffled(a, seed), {}, "symmetric");
      CHECK(m.symmetric_entries == a.nnz() - a.n_rows);
    }
  }
}

TEST_CASE("long rows and columns do not make symmetric quadratic") {
  const pattern a = rows_shuffled(generate("arrow:n=200000"), 5);
  const row_matching m = compute_matching(a, {}, "symmetric");
  CHECK(m.structural_rank == a.n_rows);
  CHECK(m.symmetric_entries == a.nnz() - a.n_rows);
}
