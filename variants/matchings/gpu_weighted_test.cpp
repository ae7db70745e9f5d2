// labels: oracle
// program: emulated device
// The weighted matching on the device, or on the emulator (simt.hpp), against every permutation of
// small matrices, by its dual solution, and by its own results with other threads.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <ranges>
#include <string>
#include <vector>

#include "common/generators.hpp"
#include "common/matching.hpp"
#include "common/random.hpp"
#include "reference/matching_check.hpp"
#include "variants/device/simt.hpp"

using namespace gsofa;

namespace {

struct valued {
  pattern a;
  std::vector<double> values;
};

// Entry (i, j) is there with a probability in percent; its value is one of `values_of`.
template <class Value>
valued random_matrix(index_t n, std::uint64_t seed, std::uint64_t percent, Value&& value_of) {
  valued m;
  m.a.n_rows = m.a.n_cols = n;
  for (index_t i = 0; i < n; ++i) {
    for (index_t j = 0; j < n; ++j) {
      const std::uint64_t word =
          keyed_random(seed, static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(j));
      if (word % 100 >= percent) continue;
      m.a.col_idx.push_back(j);
      m.values.push_back(value_of(mix64(word)));
    }
    m.a.row_ptr.push_back(static_cast<offset_t>(m.a.col_idx.size()));
  }
  return m;
}

template <class Value>
valued with_values(pattern a, Value&& value_of) {
  valued m{std::move(a), {}};
  for (std::size_t e = 0; e < m.a.col_idx.size(); ++e) m.values.push_back(value_of(mix64(e + 5)));
  return m;
}

double any_magnitude(std::uint64_t word) {
  return std::ldexp(1 + static_cast<double>(word % 1024) / 1024, static_cast<int>(word >> 32) % 20);
}
double with_ties(std::uint64_t word) { return std::ldexp(1, static_cast<int>(word >> 60) % 3); }
// Zeros, denormals and the largest numbers, of either sign.
double extreme(std::uint64_t word) {
  const double values[] = {0.0, 5e-324, 1e-310, -1e308, 1.7e308, 1.0, -3e-200, 2e150};
  return values[word >> 61];
}

// The greatest cardinality and the least cost with it, over all permutations.
struct optimum {
  index_t cardinality = 0;
  std::int64_t cost = 0;
};
optimum by_permutations(const valued& m, const matching_costs& costs) {
  const index_t n = m.a.n_rows;
  std::vector<std::int64_t> dense(at(n) * at(n), no_candidate);
  for (index_t i = 0; i < n; ++i) {
    for (auto e = at(m.a.row_ptr[at(i)]); e < at(m.a.row_ptr[at(i) + 1]); ++e) {
      dense[at(i) * at(n) + at(m.a.col_idx[e])] = costs.cost[e];
    }
  }
  std::vector<index_t> row_of(at(n));
  std::iota(row_of.begin(), row_of.end(), 0);
  optimum best;
  do {
    optimum o;
    for (index_t j = 0; j < n; ++j) {
      const std::int64_t cost = dense[at(row_of[at(j)]) * at(n) + at(j)];
      if (cost == no_candidate) continue;
      ++o.cardinality;
      o.cost += cost;
    }
    if (o.cardinality > best.cardinality ||
        (o.cardinality == best.cardinality && o.cost < best.cost)) {
      best = o;
    }
  } while (std::ranges::next_permutation(row_of).found);
  return best;
}

std::int64_t cost_of(const valued& m, const matching_costs& costs, const row_matching& r) {
  std::int64_t sum = 0;
  for (index_t i = 0; i < m.a.n_rows; ++i) {
    for (auto e = at(m.a.row_ptr[at(i)]); e < at(m.a.row_ptr[at(i) + 1]); ++e) {
      if (r.row_of_col[at(m.a.col_idx[e])] == i) sum += costs.cost[e];
    }
  }
  return sum;
}

row_matching matched(const valued& m, const std::string& spec = "gpu_weighted") {
  return compute_matching(m.a, m.values, spec);
}

std::vector<valued> larger_matrices() {
  std::vector<valued> out;
  for (const char* spec :
       {"arrow:n=90", "tridiagonal:n=120", "grid5:nx=11,ny=9", "random:n=110,degree=3,seed=4",
        "circuit:n=130,hubs=3,supply=0.8,seed=4"}) {
    for (const auto value : {any_magnitude, with_ties, extreme}) {
      out.push_back(with_values(generate(spec), value));
    }
  }
  out.push_back(random_matrix(24, 3, 100, any_magnitude));             // dense
  out.push_back(random_matrix(24, 3, 100, [](auto) { return 2.0; }));  // equal rows
  out.push_back(random_matrix(70, 9, 2, any_magnitude));               // singular
  return out;
}

}  // namespace

TEST_CASE("the device's weighted matching has the least cost of all permutations") {
  for (std::uint64_t k = 0; k < 240; ++k) {
    const auto n = static_cast<index_t>(k % 8);
    const std::uint64_t percent = 30 + 10 * (k / 8 % 8);
    CAPTURE(k);
    const valued m = k % 3 == 0   ? random_matrix(n, k, percent, any_magnitude)
                     : k % 3 == 1 ? random_matrix(n, k, percent, with_ties)
                                  : random_matrix(n, k, percent, extreme);
    simt::emulator::set_seed(k);
    const matching_costs costs = costs_of(m.a, m.values);
    const row_matching r = matched(m);
    CHECK(reference::fault_of_matching(m.a, &costs, r) == "");
    CHECK(r.most_slack == 0);
    const optimum best = by_permutations(m, costs);
    CHECK(r.structural_rank == best.cardinality);
    if (best.cardinality == n) CHECK(cost_of(m, costs, r) == best.cost);
  }
}

TEST_CASE("its duals prove larger matchings, which do not depend on the order of threads") {
  for (const valued& m : larger_matrices()) {
    const matching_costs costs = costs_of(m.a, m.values);
    row_matching first;
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      simt::emulator::set_seed(seed);
      const row_matching r = matched(m);
      CHECK(reference::fault_of_matching(m.a, &costs, r) == "");
      if (seed == 0) first = r;
      CHECK(r.row_of_col == first.row_of_col);
      CHECK(r.row_dual == first.row_dual);
      CHECK(r.col_dual == first.col_dual);
    }
    for (std::size_t e = 0; e < m.values.size() && first.structural_rank == m.a.n_rows; ++e) {
      if (m.a.n_rows > 24) break;
      const auto i = e / at(m.a.n_cols);
      const double scaled =
          std::abs(m.values[e]) * first.row_scale[i] * first.col_scale[at(m.a.col_idx[e])];
      CHECK(scaled <= 1 + 1e-9);
    }
  }
}

TEST_CASE("with fewer bits the geometric mean of the matched magnitudes keeps its stated factor") {
  for (const valued& m : larger_matrices()) {
    const matching_costs costs = costs_of(m.a, m.values);
    const row_matching exact = matched(m);
    for (const int resolution : {0, 2}) {
      const row_matching r = matched(m, "gpu_weighted:resolution=" + std::to_string(resolution));
      CHECK(reference::fault_of_matching(m.a, &costs, r) == "");
      CHECK(r.most_slack == (std::int64_t{1} << (costs.fraction_bits - resolution)) - 1);
      CHECK(r.structural_rank == exact.structural_rank);
      if (r.structural_rank < m.a.n_rows) continue;
      CHECK(cost_of(m, costs, r) >= cost_of(m, costs, exact));
      CHECK(cost_of(m, costs, r) - cost_of(m, costs, exact) <= r.most_slack * m.a.n_rows);
    }
  }
}

TEST_CASE("a zero-free diagonal of largest magnitudes stays in place; small inputs have answers") {
  const auto in_place = [](const pattern& a) {
    const row_matching r = matched(with_values(a, [](auto) { return 1.0; }));
    return std::ranges::equal(r.row_of_col, std::views::iota(index_t{0}, a.n_rows));
  };
  CHECK(in_place(generate("grid5:nx=11,ny=9")));
  CHECK(in_place(generate("arrow:n=60")));
  CHECK(matched(random_matrix(0, 1, 100, any_magnitude)).row_of_col.empty());
  CHECK(matched(random_matrix(1, 1, 100, any_magnitude)).row_of_col == std::vector<index_t>{0});
  CHECK(matched(random_matrix(1, 1, 0, any_magnitude)).structural_rank == 0);
  const valued zeros = random_matrix(5, 1, 100, [](auto) { return 0.0; });
  CHECK(matched(zeros).structural_rank == 0);
  valued bad = random_matrix(3, 1, 100, any_magnitude);
  bad.values[4] = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_WITH_AS(matched(bad), doctest::Contains("row 2, column 2"), input_error);
  CHECK_THROWS_AS(
      matched(random_matrix(300, 1, 100, any_magnitude), "gpu_weighted:memory_budget_mb=1"),
      budget_error);
}
