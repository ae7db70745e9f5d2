// All matchings against the exact check, and what `symmetric` promises.
// labels: oracle
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
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

TEST_CASE("a maximum matching that BTF does not finish in its share of work is completed") {
  const pattern a = generate("exchanged_rows:grid7:nx=24,ny=24,nz=24");
  CHECK(reference::fault_of_matching(a, nullptr, compute_matching(a, {}, "maximum")) == "");
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

namespace {

// Magnitudes over some orders, zeros, ties and denormal numbers.
std::vector<double> random_values(const pattern& a, std::mt19937& random, bool zeros,
                                  bool denormal = true) {
  std::vector<double> values(at(a.nnz()));
  for (double& v : values) {
    const unsigned kind = static_cast<unsigned>(random() % 8);
    v = std::ldexp(1 + static_cast<double>(random() % 1000) / 1000, static_cast<int>(kind) - 4);
    if (kind < 3) v = kind + 1.0;
    if (kind == 7 && denormal) v = std::ldexp(v, -1070);
    if (kind == 6 && zeros) v = 0;
    if (kind % 2 == 0) v = -v;
  }
  return values;
}

constexpr std::int64_t impossible = std::int64_t{1} << 61;

// The least sum of costs of all permutations; `impossible` without one.
std::int64_t least_sum(const pattern& a, const matching_costs& c) {
  std::vector<index_t> row_of_col = identity_order(a.n_rows);
  std::int64_t least = impossible;
  do {
    std::int64_t sum = 0;
    for (index_t j = 0; j < a.n_cols && sum < impossible; ++j) {
      const auto row = a.row(row_of_col[at(j)]);
      const auto found = std::ranges::lower_bound(row, j);
      const bool is_entry = found != row.end() && *found == j;
      const std::int64_t cost =
          is_entry ? c.cost[at(a.row_ptr[at(row_of_col[at(j)])] + (found - row.begin()))] : 0;
      sum = !is_entry || cost == no_candidate ? impossible : sum + cost;
    }
    least = std::min(least, sum);
  } while (std::ranges::next_permutation(row_of_col).found);
  return least;
}

std::vector<std::string> weighted_methods() {
  std::vector<std::string> names;
  for (const matching_info& info : all_matchings()) {
    if (info.needs_values && !info.unavailable() && info.device == "cpu")
      names.push_back(info.name);
  }
  return names;
}

}  // namespace

TEST_CASE("weighted matchings have the least sum of costs of all permutations") {
  std::mt19937 random(5);
  for (const std::string& name : weighted_methods()) {
    for (int trial = 0; trial < 400; ++trial) {
      CAPTURE(trial);
      const auto n = static_cast<index_t>(trial % 7);
      const pattern a = random_pattern(n, static_cast<int>(n) * (2 + trial % 4), random);
      const std::vector<double> values = random_values(a, random, trial % 3 == 0);
      const matching_costs c = costs_of(a, values);
      const row_matching m = compute_matching(a, values, name);
      REQUIRE(reference::fault_of_matching(a, &c, m) == "");
      const std::int64_t least = least_sum(a, c);
      CHECK((m.structural_rank == n) == (least < impossible));
      if (least == impossible) continue;
      const std::int64_t sum =
          std::accumulate(m.row_dual.begin(), m.row_dual.end(), std::int64_t{0}) +
          std::accumulate(m.col_dual.begin(), m.col_dual.end(), std::int64_t{0});
      CHECK(sum == least);
    }
  }
}

TEST_CASE("weighted matchings of larger patterns are optimal, and their scales bound all entries") {
  std::mt19937 random(6);
  std::vector<pattern> all = shapes();
  for (int trial = 0; trial < 60; ++trial) {
    const auto n = static_cast<index_t>(20 + 5 * trial);
    all.push_back(random_pattern(n, static_cast<int>(n) * (2 + trial % 6), random));
  }
  for (const std::string& name : weighted_methods()) {
    for (const pattern& a : all) {
      CAPTURE(a.n_rows);
      const std::vector<double> values = random_values(a, random, a.n_rows % 2 == 0, false);
      const matching_costs c = costs_of(a, values);
      const row_matching m = compute_matching(a, values, name);
      REQUIRE(reference::fault_of_matching(a, &c, m) == "");
      if (m.structural_rank < a.n_rows) continue;
      double largest = 0, least = 1;
      for (index_t i = 0; i < a.n_rows; ++i) {
        for (auto p = at(a.row_ptr[at(i)]); p < at(a.row_ptr[at(i) + 1]); ++p) {
          const auto j = at(a.col_idx[p]);
          const double size = std::abs(values[p]) * m.row_scale[at(i)] * m.col_scale[j];
          largest = std::max(largest, size);
          if (m.row_of_col[j] == i) least = std::min(least, size);
        }
      }
      CHECK(largest <= 1 + 1e-9);
      CHECK(least >= 1 - 1e-9);
    }
  }
}

TEST_CASE("any number of threads finds the same matching and duals") {
  std::mt19937 random(7);
  for (const char* spec :
       {"random:n=20000,degree=4", "grid7:nx=25,ny=24,nz=23", "circuit:n=9000"}) {
    const pattern a = rows_shuffled(generate(spec), 9);
    const std::vector<double> values = random_values(a, random, false);
    for (const char* method : {"symmetric", "weighted", "weighted:symmetric=false"}) {
      CAPTURE(method);
      const row_matching one = compute_matching(a, values, method, {.threads = 1});
      const row_matching five = compute_matching(a, values, method, {.threads = 5});
      CHECK(one.row_of_col == five.row_of_col);
      CHECK(one.row_dual == five.row_dual);
      CHECK(one.col_dual == five.col_dual);
    }
  }
}

TEST_CASE("symmetric can be stopped") {
  const std::atomic<bool> stop{true};
  const pattern random = generate("random:n=400,degree=5");
  const pattern a = permute(random, random_order(400, 1), identity_order(400));
  CHECK_THROWS_AS(compute_matching(a, {}, "symmetric", {.stop = &stop}), cancelled_error);
}

TEST_CASE("among optimal matchings, symmetric entries decide") {
  // All values are equal, so that every perfect matching is optimal.
  const pattern a = symmetrized(generate("grid5:nx=15,ny=11"), diagonal::keep);
  const pattern shuffled = rows_shuffled(a, 4);
  const row_matching m =
      compute_matching(shuffled, std::vector<double>(at(a.nnz()), 3.0), "weighted");
  CHECK(m.symmetric_entries == a.nnz() - a.n_rows);
  CHECK(m.least_matched == 1);
}
