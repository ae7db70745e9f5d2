// CHOLMOD and Eigen, which order by METIS_NodeND, with the drop-in preloaded and switched off in
// turn: both orders give the solution, and the order of the drop-in no much larger factor.

#include <cholmod.h>
#include <doctest/doctest.h>

#include <Eigen/SparseCholesky>
#include <Eigen/SparseCore>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>
// After the headers of Eigen that it uses.
#include <Eigen/MetisSupport>

#include "gsofa/gsofa.hpp"

namespace {

using matrix = Eigen::SparseMatrix<double, Eigen::ColMajor, int>;
using vector = Eigen::VectorXd;

// A + A^T of a bundled matrix with values that make it positive definite.
matrix definite(const std::string& file) {
  const gsofa::csr_pattern a =
      gsofa::read_pattern(GSOFA_SOURCE_DIR "/experiments/matrices/" + file);
  std::vector<Eigen::Triplet<double>> entries;
  std::vector<double> row_sum(static_cast<std::size_t>(a.n), 1.0);
  for (std::int32_t i = 0; i < a.n; ++i) {
    for (const std::int32_t j : a.row(i)) {
      if (i == j) continue;
      const double value = -1.0 - (i + j) % 7;
      entries.emplace_back(i, j, value);
      entries.emplace_back(j, i, value);
      row_sum[static_cast<std::size_t>(i)] -= value;
      row_sum[static_cast<std::size_t>(j)] -= value;
    }
  }
  for (std::int32_t i = 0; i < a.n; ++i) {
    entries.emplace_back(i, i, row_sum[static_cast<std::size_t>(i)]);
  }
  matrix out(a.n, a.n);
  out.setFromTriplets(entries.begin(), entries.end());
  return out;
}

struct solution {
  double residual = 0;  // of a solve, relative
  double factor_entries = 0;
  std::vector<int> order;
};

double residual(const matrix& a, const vector& x, const vector& b) {
  return (a * x - b).norm() / b.norm();
}

solution by_eigen(const matrix& a, const vector& b) {
  const Eigen::SimplicialLDLT<matrix, Eigen::Lower, Eigen::MetisOrdering<int>> factor(a);
  REQUIRE(factor.info() == Eigen::Success);
  const auto& order = factor.permutationP().indices();
  return {residual(a, factor.solve(b), b),
          static_cast<double>(factor.matrixL().nestedExpression().nonZeros()),
          {order.data(), order.data() + order.size()}};
}

solution by_cholmod(const matrix& given, const vector& given_b) {
  matrix a = given;
  vector b = given_b;
  cholmod_common common;
  cholmod_start(&common);
  common.nmethods = 1;
  common.method[0].ordering = CHOLMOD_METIS;
  const auto n = static_cast<std::size_t>(a.rows());
  cholmod_sparse view{};
  view.nrow = view.ncol = n;
  view.nzmax = static_cast<std::size_t>(a.nonZeros());
  view.p = a.outerIndexPtr();
  view.i = a.innerIndexPtr();
  view.x = a.valuePtr();
  view.stype = -1;
  view.itype = CHOLMOD_INT;
  view.xtype = CHOLMOD_REAL;
  view.dtype = CHOLMOD_DOUBLE;
  view.packed = 1;
  cholmod_dense right{};
  right.nrow = right.nzmax = right.d = n;
  right.ncol = 1;
  right.x = b.data();
  right.xtype = CHOLMOD_REAL;
  right.dtype = CHOLMOD_DOUBLE;
  cholmod_factor* factor = cholmod_analyze(&view, &common);
  REQUIRE((factor != nullptr));
  REQUIRE(factor->ordering == CHOLMOD_METIS);
  REQUIRE(cholmod_factorize(&view, factor, &common) != 0);
  cholmod_dense* found = cholmod_solve(CHOLMOD_A, factor, &right, &common);
  REQUIRE((found != nullptr));
  const auto* order = static_cast<const int*>(factor->Perm);
  const Eigen::Map<const vector> x(static_cast<const double*>(found->x), a.rows());
  solution out{residual(a, x, b), common.lnz, {order, order + n}};
  cholmod_free_dense(&found, &common);
  cholmod_free_factor(&factor, &common);
  cholmod_finish(&common);
  return out;
}

}  // namespace

TEST_CASE("CHOLMOD and Eigen solve with the orders of the drop-in and of METIS") {
  for (const char* file : {"bcsstk18.mtx.gz", "circuit_2.mtx.gz", "epb0.mtx.gz",
                           "fem/elasticity2_plate_small.mtx.gz"}) {
    CAPTURE(file);
    const matrix a = definite(file);
    const vector b = a * vector::LinSpaced(a.rows(), 1, 2);
    for (const auto solve : {by_eigen, by_cholmod}) {
      const solution own = solve(a, b);
      setenv("GSOFA_METIS", "off", 1);
      const solution original = solve(a, b);
      unsetenv("GSOFA_METIS");
      CHECK(own.residual < 1e-12);
      CHECK(original.residual < 1e-12);
      CHECK(own.order != original.order);
      CHECK(own.factor_entries < 1.2 * original.factor_entries);
      MESSAGE("factor entries: " << own.factor_entries << ", METIS " << original.factor_entries);
    }
  }
}
