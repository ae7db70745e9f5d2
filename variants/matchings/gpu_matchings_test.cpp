// labels: oracle
// program: emulated device
// The matchings on the device, or on the emulator (simt.hpp), against those of the host, all
// permutations of small matrices, their duals, and their results with other orders of threads.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "common/generators.hpp"
#include "common/matching.hpp"
#include "common/ordering.hpp"
#include "common/random.hpp"
#include "reference/matching_check.hpp"
#include "variants/device/simt.hpp"

using namespace gsofa;

namespace {

using value_of_word = double (*)(std::uint64_t);
double any_magnitude(std::uint64_t x) {
  return std::ldexp(1 + static_cast<double>(x % 1024) / 1024, static_cast<int>(x >> 40) % 20);
}
double with_ties(std::uint64_t x) { return std::ldexp(1, static_cast<int>(x >> 60) % 3); }
double all_equal(std::uint64_t) { return 2; }
double zero(std::uint64_t) { return 0; }
// Zeros, denormals and the largest numbers, of either sign.
double extreme(std::uint64_t x) {
  constexpr double values[] = {0.0, 5e-324, 1e-310, -1e308, 1.7e308, 1.0, -3e-200, 2e150};
  return values[x >> 61];
}

struct valued {
  pattern a;
  std::vector<double> values;
  matching_costs costs;
};

valued with_values(pattern a, value_of_word value) {
  valued m{std::move(a), {}, {}};
  for (std::size_t e = 0; e < m.a.col_idx.size(); ++e) m.values.push_back(value(mix64(e + 5)));
  m.costs = costs_of(m.a, m.values);
  return m;
}

// Each entry is there with a probability in percent.
valued random_matrix(index_t n, std::uint64_t seed, std::uint64_t percent, value_of_word value) {
  triplets t{.n_rows = n, .n_cols = n, .rows = {}, .cols = {}};
  for (index_t i = 0; i < n * n; ++i) {
    if (keyed_random(seed, 1, static_cast<std::uint64_t>(i)) % 100 >= percent) continue;
    t.rows.push_back(i / n);
    t.cols.push_back(i % n);
  }
  return with_values(from_triplets(t, duplicates::reject), value);
}

row_matching matched(const valued& m, const std::string& options = "") {
  return compute_matching(m.a, m.values, "gpu_weighted" + options);
}

// visit(i, j, cost) for all candidates.
template <class Visit>
void each(const valued& m, Visit&& visit) {
  for (index_t i = 0; i < m.a.n_rows; ++i) {
    for (auto e = at(m.a.row_ptr[at(i)]); e < at(m.a.row_ptr[at(i) + 1]); ++e) {
      if (m.costs.cost[e] != no_candidate) visit(i, m.a.col_idx[e], m.costs.cost[e]);
    }
  }
}

// Minus the number of matched columns, and their costs.
using objective = std::pair<index_t, std::int64_t>;
objective objective_of(const valued& m, const std::vector<index_t>& row_of_col) {
  objective sum{0, 0};
  each(m, [&](index_t i, index_t j, std::int64_t cost) {
    if (row_of_col[at(j)] == i) sum = {sum.first - 1, sum.second + cost};
  });
  return sum;
}

objective best_of_permutations(const valued& m) {
  std::vector<index_t> rows = identity_order(m.a.n_rows);
  objective best = objective_of(m, rows);
  while (std::ranges::next_permutation(rows).found) best = std::min(best, objective_of(m, rows));
  return best;
}

std::vector<valued> larger_matrices() {
  std::vector<valued> out{random_matrix(24, 3, 100, any_magnitude),
                          random_matrix(24, 3, 100, all_equal),
                          random_matrix(70, 9, 2, any_magnitude)};
  for (const char* spec : {"arrow:n=90", "tridiagonal:n=120", "grid5:nx=11,ny=9",
                           "random:n=110,degree=3,seed=4", "circuit:n=130,hubs=3,supply=0.8"}) {
    for (const auto value : {any_magnitude, with_ties, extreme}) {
      out.push_back(with_values(generate(spec), value));
    }
  }
  return out;
}

}  // namespace

TEST_CASE("the device's weighted matching has the least cost of all permutations") {
  for (std::uint64_t k = 0; k < 240; ++k) {
    CAPTURE(k);
    const value_of_word values[] = {any_magnitude, with_ties, extreme};
    const valued m =
        random_matrix(static_cast<index_t>(k % 8), k, 30 + 10 * (k / 8 % 8), values[k % 3]);
    simt::emulator::set_seed(k);
    const row_matching r = matched(m);
    CHECK(reference::fault_of_matching(m.a, &m.costs, r) == "");
    const objective best = best_of_permutations(m);
    CHECK(r.structural_rank == -best.first);
    if (r.structural_rank == m.a.n_rows) CHECK(objective_of(m, r.row_of_col) == best);
  }
}

TEST_CASE("duals prove it; the order of threads changes nothing; fewer bits keep their factor") {
  for (const valued& m : larger_matrices()) {
    const row_matching exact = matched(m);
    for (const std::string options : {":symmetric=true", ":symmetric=false"}) {
      const row_matching of_device = matched(m, options);
      const row_matching of_host = compute_matching(m.a, m.values, "weighted" + options);
      CHECK(of_device.row_of_col == of_host.row_of_col);
      CHECK(of_device.row_dual == of_host.row_dual);
      CHECK(of_device.col_dual == of_host.col_dual);
    }
    CHECK(reference::fault_of_matching(m.a, &m.costs, exact) == "");
    for (std::uint64_t seed = 1; seed < 3; ++seed) {
      simt::emulator::set_seed(seed);
      const row_matching r = matched(m);
      CHECK(r.row_of_col == exact.row_of_col);
      CHECK(r.row_dual == exact.row_dual);
      CHECK(r.col_dual == exact.col_dual);
    }
    for (const int resolution : {0, 2}) {
      const row_matching r = matched(m, ":resolution=" + std::to_string(resolution));
      CHECK(reference::fault_of_matching(m.a, &m.costs, r) == "");
      CHECK(r.structural_rank == exact.structural_rank);
      if (r.structural_rank < m.a.n_rows) continue;
      CHECK(r.most_slack == (std::int64_t{1} << (m.costs.fraction_bits - resolution)) - 1);
      const std::int64_t loss =
          objective_of(m, r.row_of_col).second - objective_of(m, exact.row_of_col).second;
      CHECK(loss >= 0);
      CHECK(loss <= r.most_slack * m.a.n_rows);
    }
  }
}

TEST_CASE("a zero-free diagonal of largest magnitudes stays in place; small inputs have answers") {
  for (const char* spec : {"grid5:nx=11,ny=9", "arrow:n=60"}) {
    const valued m = with_values(generate(spec), all_equal);
    CHECK(matched(m).row_of_col == identity_order(m.a.n_rows));
  }
  CHECK(matched(random_matrix(0, 1, 100, zero)).row_of_col.empty());
  CHECK(matched(random_matrix(1, 1, 100, all_equal)).row_of_col == std::vector<index_t>{0});
  CHECK(matched(random_matrix(1, 1, 0, all_equal)).structural_rank == 0);
  CHECK(matched(random_matrix(5, 1, 100, zero)).structural_rank == 0);
  const valued dense = random_matrix(300, 1, 100, any_magnitude);
  CHECK_THROWS_AS(matched(dense, ":memory_budget_mb=1"), budget_error);
}
