// Refactorization on the emulated device against dense elimination, Eigen's SparseLU and brute
// force.
#include <doctest/doctest.h>

#include <Eigen/Dense>
#include <Eigen/SparseLU>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "experiments/supplement_numeric/device_lu.hpp"
#include "experiments/supplement_numeric/klu_peer.hpp"
#include "experiments/supplement_numeric/refactor_plan.hpp"
#include "experiments/supplement_numeric/weighted_matching.hpp"
#include "variants/device/simt.hpp"

using namespace refactor;
namespace emulator = gsofa::simt::emulator;
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

Eigen::MatrixXd scaled_dense(const static_lu::matrix& a, const plan& s) {
  Eigen::MatrixXd m = Eigen::MatrixXd::Zero(s.n, s.n);
  for (std::int32_t i = 0; i < s.n; ++i) {
    for (auto q = s.a_begin[at(i)]; q < s.a_begin[at(i) + 1]; ++q) {
      const std::int32_t j = s.a_column[at(q)];
      m(i, j) = a.values[at(s.a_entry[at(q)])] * s.row_scale[at(i)] * s.col_scale[at(j)];
    }
  }
  return m;
}

// L + U by elimination without pivoting.
Eigen::MatrixXd eliminated(Eigen::MatrixXd m, double smallest) {
  for (Eigen::Index k = 0; k < m.rows(); ++k) {
    if (std::abs(m(k, k)) < smallest) m(k, k) = m(k, k) < 0 ? -smallest : smallest;
    for (Eigen::Index i = k + 1; i < m.rows(); ++i) {
      m(i, k) /= m(k, k);
      for (Eigen::Index j = k + 1; j < m.cols(); ++j) m(i, j) -= m(i, k) * m(k, j);
    }
  }
  return m;
}

Eigen::MatrixXd dense_factors(const plan& s, const std::vector<double>& values) {
  Eigen::MatrixXd m = Eigen::MatrixXd::Zero(s.n, s.n);
  for (std::int32_t i = 0; i < s.n; ++i) {
    for (auto p = s.begin[at(i)]; p < s.begin[at(i) + 1]; ++p)
      m(i, s.column[at(p)]) = values[at(p)];
  }
  return m;
}

bool same_bits(const std::vector<double>& x, const std::vector<double>& y) {
  return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(double)) == 0;
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

plan planned(const static_lu::matrix& a, row_choice rows = row_choice::weighted,
             gsofa::order_method order = gsofa::order_method::amd) {
  return make_plan(a, {.rows = rows, .order = order});
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

TEST_CASE("factors are those of dense elimination, with any number of threads, in every step") {
  unsigned number = 0;
  for (static_lu::matrix a : shapes()) {
    CAPTURE(number);
    const auto rows = std::vector{row_choice::weighted, row_choice::structural}[++number % 2];
    const plan s = planned(a, rows);
    device_lu lu(s, {.threads = 32 << (number % 3)});
    // Places searched; all but the shortest rows in global memory.
    device_lu other(s, {.threads = 64, .schedule_mb = -1, .shared_entries = 4});
    CHECK(lu.scheduled());
    CHECK_FALSE(other.scheduled());
    CHECK(lu.outside() == 0);
    CHECK(other.outside() == 0);
    for (int step = 0; step < 3; ++step) {
      for (std::size_t p = 0; p < a.values.size(); ++p) {
        a.values[p] *= 1 + 0.2 * std::sin(step + static_cast<double>(p));
      }
      lu.set_values(a.values);
      other.set_values(a.values);
      const step_report report = lu.factorize();
      other.factorize();
      const Eigen::MatrixXd before = scaled_dense(a, s);
      CHECK(report.norm == doctest::Approx(before.cwiseAbs().rowwise().sum().maxCoeff()));
      CHECK(report.not_finite == 0);
      const Eigen::MatrixXd expected = eliminated(before, std::ldexp(report.norm, -26));
      const Eigen::MatrixXd found = dense_factors(s, lu.factors());
      CHECK((found - expected).norm() <= 1e-8 * expected.norm());
      CHECK(same_bits(lu.factors(), other.factors()));
    }
  }
}

TEST_CASE("factors and solutions are the same when threads are switched at loads and stores") {
  std::vector<static_lu::matrix> all = shapes();
  for (std::size_t number = 0; number < all.size(); ++number) {
    CAPTURE(number);
    const static_lu::matrix& a = all[number];
    const plan s = planned(a);
    std::vector<double> factors, x;
    for (const unsigned accesses : {0U, 3U}) {
      emulator::set_seed(number + accesses);
      emulator::switch_at_accesses(accesses);
      device_lu lu(s, {.threads = number % 2 == 0 ? 32 : 64, .shared_entries = 10});
      lu.set_values(a.values);
      lu.set_right_side(static_lu::some_right_side(a.n()));
      lu.factorize();
      lu.solve(1);
      emulator::switch_at_accesses(0);
      if (accesses != 0) {
        CHECK(same_bits(factors, lu.factors()));
        CHECK(same_bits(x, lu.solution()));
      }
      factors = lu.factors();
      x = lu.solution();
    }
  }
}

TEST_CASE("solutions are those of Eigen's SparseLU, and the same whatever the schedule is") {
  unsigned number = 0;
  std::vector<static_lu::matrix> all = shapes();
  for (const char* name : {"add32", "sherman5", "epb0", "west2021"}) all.push_back(bundled(name));
  for (const static_lu::matrix& a : all) {
    CAPTURE(a.n());
    const plan s =
        planned(a, row_choice::weighted,
                ++number % 2 == 0 ? gsofa::order_method::amd : gsofa::order_method::automatic);
    const std::vector<double> b = static_lu::some_right_side(a.n());
    std::vector<double> x;
    for (const int threads : {32, 96}) {
      device_lu lu(s, {.threads = threads});
      lu.set_values(a.values);
      lu.set_right_side(b);
      lu.factorize();
      lu.solve(2);
      const std::vector<double> again = lu.solution();
      CHECK((x.empty() || same_bits(x, again)));
      x = again;
      if (a.n() > 1000) break;
    }
    CHECK(static_lu::relative_residual(a, x, b) <= 1e-13);
    std::vector<Eigen::Triplet<double>> triplets;
    for (std::int32_t i = 0; i < a.n(); ++i) {
      const auto columns = a.pattern.row(i);
      for (std::size_t p = 0; p < columns.size(); ++p) {
        triplets.emplace_back(i, columns[p], a.row_values(i)[p]);
      }
    }
    Eigen::SparseMatrix<double> m(a.n(), a.n());
    m.setFromTriplets(triplets.begin(), triplets.end());
    Eigen::SparseLU<Eigen::SparseMatrix<double>> peer(m);
    const Eigen::VectorXd y = peer.solve(Eigen::Map<const Eigen::VectorXd>(b.data(), a.n()));
    const Eigen::Map<const Eigen::VectorXd> mine(x.data(), a.n());
    CHECK((mine - y).norm() <= 1e-6 * y.norm());
  }
}

TEST_CASE("a time step with other values is solved with the plan of the first") {
  static_lu::matrix a = bundled("rajat19");
  const plan s = planned(a);
  device_lu lu(s, {});
  const std::vector<double> b = static_lu::some_right_side(a.n());
  lu.set_right_side(b);
  for (int step = 0; step < 4; ++step) {
    for (std::size_t p = 0; p < a.values.size(); ++p) {
      a.values[p] *= 1 + 0.1 * std::sin(1.7 * step + static_cast<double>(p));
    }
    lu.set_values(a.values);
    CHECK(lu.factorize().not_finite == 0);
    lu.solve(2);
    CHECK(static_lu::relative_residual(a, lu.solution(), b) <= 1e-12);
  }
}

TEST_CASE("a level depends on no row of its own, and each level is one above another") {
  for (const static_lu::matrix& a : shapes()) {
    const plan s = planned(a);
    std::vector<std::int32_t> place(at(s.n));
    for (std::int32_t t = 0; t < s.n; ++t) place[at(s.lower_order[at(t)])] = t;
    bool ordered = true;
    for (std::int32_t i = 0; i < s.n; ++i) {
      for (auto p = s.begin[at(i)]; p < s.diagonal[at(i)]; ++p) {
        ordered = ordered && place[at(s.column[at(p)])] < place[at(i)];
      }
    }
    for (std::int32_t t = 0; t < s.n; ++t) place[at(s.upper_order[at(t)])] = t;
    for (std::int32_t i = 0; i < s.n; ++i) {
      for (auto p = s.diagonal[at(i)] + 1; p < s.begin[at(i) + 1]; ++p) {
        ordered = ordered && place[at(s.column[at(p)])] < place[at(i)];
      }
    }
    CHECK(ordered);
    CHECK(s.lower_levels <= s.n);
  }
  entries chain{{0, 0, 1.0}, {1, 1, 1.0}, {2, 2, 1.0}, {1, 0, 0.5}, {2, 1, 0.5}};
  const plan s = planned(static_lu::from_entries(3, chain), row_choice::weighted,
                         gsofa::order_method::natural);
  CHECK(s.lower_levels == 3);
  CHECK(s.upper_levels == 1);
  CHECK(s.flops == 2);
}

TEST_CASE("a tiny pivot is replaced, and refinement makes up for it") {
  // U(1, 1) = 1 + 1e-12 - 1 is smaller than sqrt(eps) times the norm.
  entries e{{0, 0, 1.0}, {0, 1, 1.0}, {1, 0, 1.0}, {1, 1, 1 + 1e-12}, {2, 2, 1.0}, {0, 2, 0.5}};
  const static_lu::matrix a = static_lu::from_entries(3, e);
  const plan s = planned(a, row_choice::none, gsofa::order_method::natural);
  device_lu lu(s, {});
  lu.set_values(a.values);
  const step_report report = lu.factorize();
  CHECK(report.replaced == 1);
  const Eigen::MatrixXd factors = dense_factors(s, lu.factors());
  CHECK(factors(1, 1) == doctest::Approx(std::ldexp(report.norm, -26)));
  const std::vector<double> b{1, 1, 2};
  lu.set_right_side(b);
  lu.solve(3);
  CHECK(static_lu::relative_residual(a, lu.solution(), b) <= 1e-6);
}

TEST_CASE("an update without a place in the pattern is counted") {
  entries e{{0, 0, 2.0}, {1, 1, 2.0}, {2, 2, 2.0}, {2, 0, 1.0}, {0, 1, 1.0}};
  plan s = planned(static_lu::from_entries(3, e), row_choice::none, gsofa::order_method::natural);
  CHECK(device_lu(s, {}).outside() == 0);
  // Row 2 is {0, 1, 2}; (2, 1) is fill.
  CHECK(s.column == std::vector<std::int32_t>{0, 1, 1, 0, 1, 2});
  s.column.erase(s.column.begin() + 4);
  --s.begin[3];
  --s.diagonal[2];
  s.updates_begin = {0, 0, 0, 1};
  device_lu lu(s, {});
  CHECK(lu.outside() == 1);
  lu.set_values(std::vector<double>(5, 1.0));
  CHECK_THROWS_WITH(lu.factorize(), "1 values have no place in the pattern");
}

TEST_CASE("what cannot be factored is refused in one line") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  const auto of = [](entries e) { return static_lu::from_entries(2, std::move(e)); };
  CHECK_THROWS_WITH(planned(of({{0, 1, 1.0}, {1, 0, 1.0}}), row_choice::none),
                    "entry (1, 1) of the diagonal is zero, and rows are not to be permuted");
  CHECK_THROWS_WITH(
      planned(of({{0, 0, 0.0}, {0, 1, 1.0}, {1, 0, 1.0}, {1, 1, 1.0}}), row_choice::none),
      "entry (1, 1) of the diagonal is zero, and rows are not to be permuted");
  CHECK_THROWS_WITH(planned(of({{0, 0, nan}, {1, 1, 1.0}})),
                    "the value of entry (1, 1) is not finite");
  CHECK_THROWS_WITH(planned(of({{0, 0, 1.0}, {1, 1, -inf}})),
                    "the value of entry (2, 2) is not finite");
  CHECK_THROWS_WITH(planned(of({{0, 0, 1.0}, {0, 1, 1.0}})),
                    "numerically singular: row 2 has no nonzero value");
  CHECK_THROWS_WITH(planned(of({{0, 0, 1.0}, {1, 0, 1.0}})),
                    "numerically singular: column 2 has no nonzero value");
  entries e{{0, 0, 1.0}, {1, 0, 1.0}, {2, 0, 1.0}, {2, 1, 1.0}, {2, 2, 1.0}};
  CHECK_THROWS_WITH(planned(static_lu::from_entries(3, e)),
                    "numerically singular: no row permutation gives a diagonal without zeros");
  CHECK_THROWS(planned(static_lu::from_entries(3, e), row_choice::structural));

  static_lu::matrix a = of({{0, 0, 1.0}, {0, 1, 1.0}, {1, 1, 1.0}});
  const plan s = planned(a);
  device_lu lu(s, {});
  a.values[1] = nan;
  lu.set_values(a.values);
  CHECK(lu.factorize().not_finite == 1);
  a.values[1] = 1;
  lu.set_values(a.values);
  CHECK(lu.factorize().not_finite == 0);
  CHECK_THROWS(lu.set_values(std::vector<double>(2)));
  CHECK_THROWS(device_lu(s, {.threads = 33}));
}

TEST_CASE("KLU solves the same steps, in its own order and in this one") {
  static_lu::matrix a = bundled("west2021");
  const plan s = planned(a);
  for (const plan* given : {static_cast<const plan*>(nullptr), &s}) {
    const auto klu = klu_peer::create(a, given);
    if (!klu) return;
    CHECK(klu->entries() > static_cast<std::int64_t>(a.values.size()) / 2);
    CHECK(klu->flops() > 0);
    static_lu::matrix now = a;
    for (std::size_t p = 0; p < now.values.size(); ++p) {
      now.values[p] *= 1 + 0.05 * std::sin(static_cast<double>(p));
    }
    CHECK(klu->refactor(now.values) >= 0);
    const std::vector<double> b = static_lu::some_right_side(a.n());
    std::vector<double> x = b;
    klu->solve(now, 2, x);
    CHECK(static_lu::relative_residual(now, x, b) <= 1e-10);
  }
}
