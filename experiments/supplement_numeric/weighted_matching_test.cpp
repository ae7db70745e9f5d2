// The weighted matching against brute force, and against the proof that its scales are.
#include "experiments/supplement_numeric/weighted_matching.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <tuple>
#include <vector>

using namespace supplement;
using static_lu::at;

namespace {

using entries = std::vector<std::tuple<std::int32_t, std::int32_t, double>>;

// n x n with a diagonal and `more` entries elsewhere; magnitudes over some orders.
static_lu::matrix random_matrix(std::int32_t n, int more, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  const auto value = [&] { return uniform(random) * std::exp(3 * uniform(random)); };
  std::uniform_int_distribution<std::int32_t> vertex(0, n - 1);
  entries e;
  for (std::int32_t i = 0; i < n; ++i) e.emplace_back(i, i, value());
  for (int k = 0; k < more; ++k) {
    const std::int32_t i = vertex(random);
    e.emplace_back(i, vertex(random), value());
  }
  return static_lu::from_entries(n, std::move(e));
}

// Small shapes that go wrong first.
std::vector<static_lu::matrix> shapes() {
  std::vector<static_lu::matrix> out;
  out.push_back(static_lu::from_entries(1, {{0, 0, -3.0}}));
  entries diagonal, arrow, band, dense;
  for (std::int32_t i = 0; i < 40; ++i) {
    diagonal.emplace_back(i, i, i + 1.0);
    arrow.emplace_back(i, i, 4.0);
    arrow.emplace_back(17, i, 0.5);
    arrow.emplace_back(i, 17, -0.25 * i);
    band.emplace_back(i, i, 2.5);
    if (i > 0) band.emplace_back(i, i - 1, -1.0);
    if (i < 39) band.emplace_back(i, i + 1, -1.5);
    for (std::int32_t j = 0; j < 40; ++j)
      dense.emplace_back(i, j, i == j ? 30 : std::sin(i + 3 * j));
  }
  for (entries* e : {&diagonal, &arrow, &band, &dense}) {
    out.push_back(static_lu::from_entries(40, *e));
  }
  for (unsigned seed = 0; seed < 25; ++seed) {
    const auto n = static_cast<std::int32_t>(2 + 7 * (seed % 12));
    out.push_back(random_matrix(n, static_cast<int>((seed % 4) * 2) * n, seed));
  }
  return out;
}

static_lu::matrix bundled(const std::string& name) {
  return static_lu::read_matrix_market(std::string(GSOFA_SOURCE_DIR) + "/experiments/matrices/" +
                                       name + ".mtx.gz");
}

double log_product(const static_lu::matrix& a, const std::vector<std::int32_t>& row_of_column) {
  double sum = 0;
  for (std::int32_t j = 0; j < a.n(); ++j) {
    const std::int32_t i = row_of_column[at(j)];
    const auto columns = a.pattern.row(i);
    const auto found = std::find(columns.begin(), columns.end(), j);
    if (found == columns.end()) return -std::numeric_limits<double>::infinity();
    sum += std::log(std::abs(a.row_values(i)[found - columns.begin()]));
  }
  return sum;
}

}  // namespace

TEST_CASE("the matching has the largest product of all permutations") {
  for (unsigned seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    const static_lu::matrix a = random_matrix(2 + static_cast<std::int32_t>(seed % 5), 12, seed);
    const weighted_matching m = maximum_product_matching(a);
    std::vector<std::int32_t> rows(at(a.n()));
    std::iota(rows.begin(), rows.end(), 0);
    double best = -std::numeric_limits<double>::infinity();
    do {
      best = std::max(best, log_product(a, rows));
    } while (std::next_permutation(rows.begin(), rows.end()));
    CHECK(log_product(a, m.row_of_column) == doctest::Approx(best).epsilon(1e-12));
  }
}

TEST_CASE("its scales make matched entries 1 and none larger, which proves it maximal") {
  std::vector<static_lu::matrix> all = shapes();
  for (const char* name : {"west2021", "rajat19", "sherman5"}) all.push_back(bundled(name));
  for (const static_lu::matrix& a : all) {
    CAPTURE(a.n());
    const weighted_matching m = maximum_product_matching(a);
    double largest = 0;
    double least_matched = 2;
    for (std::int32_t i = 0; i < a.n(); ++i) {
      const auto columns = a.pattern.row(i);
      for (std::size_t p = 0; p < columns.size(); ++p) {
        const auto j = at(columns[p]);
        const double size = std::abs(a.row_values(i)[p]) * m.row_scale[at(i)] * m.col_scale[j];
        largest = std::max(largest, size);
        if (m.row_of_column[j] == i) least_matched = std::min(least_matched, size);
      }
    }
    CHECK(largest <= 1 + 1e-10);
    CHECK(least_matched >= 1 - 1e-10);
    std::vector<std::int32_t> rows = m.row_of_column;
    std::sort(rows.begin(), rows.end());
    for (std::int32_t i = 0; i < a.n(); ++i) CHECK_UNARY(rows[at(i)] == i);
  }
}

TEST_CASE("a matrix whose perfect matchings all have a zero is refused in one line") {
  const auto matched = [](std::int32_t n, entries e) {
    maximum_product_matching(static_lu::from_entries(n, std::move(e)));
  };
  CHECK_THROWS_WITH(matched(2, {{0, 0, 1.0}, {0, 1, 1.0}}),
                    "numerically singular: row 2 has no nonzero value");
  CHECK_THROWS_WITH(matched(2, {{0, 0, 1.0}, {0, 1, 1.0}, {1, 0, 0.0}}),
                    "numerically singular: row 2 has no nonzero value");
  CHECK_THROWS_WITH(matched(2, {{0, 0, 1.0}, {1, 0, 1.0}}),
                    "numerically singular: column 2 has no nonzero value");
  CHECK_THROWS_WITH(matched(3, {{0, 0, 1.0}, {1, 0, 1.0}, {2, 0, 1.0}, {2, 1, 1.0}, {2, 2, 1.0}}),
                    "numerically singular: no row permutation gives a diagonal without zeros");
}
