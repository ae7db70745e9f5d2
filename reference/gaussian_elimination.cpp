#include "reference/gaussian_elimination.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <random>
#include <string>

#include "reference/prime_field.hpp"

namespace gsofa::reference {

namespace {

template <class Scalar>
using dense_matrix = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

void check_input(const pattern_view& a, index_t max_order, const char* what) {
  validate(a, what);
  if (a.n_rows != a.n_cols) {
    throw input_error(std::string(what) + ": the matrix is " + std::to_string(a.n_rows) + " x " +
                      std::to_string(a.n_cols) + ", not square");
  }
  if (a.n_rows > max_order) {
    throw input_error(std::string(what) + ": order " + std::to_string(a.n_rows) +
                      " exceeds the limit of " + std::to_string(max_order) +
                      " for dense elimination");
  }
  for (index_t i = 0; i < a.n_rows; ++i) {
    if (!std::ranges::binary_search(a.row(i), i)) {
      throw input_error(std::string(what) + ": the diagonal of row " + std::to_string(i) +
                        " is structurally zero");
    }
  }
}

template <class Scalar>
pattern nonzeros(const dense_matrix<Scalar>& m) {
  const auto n = static_cast<index_t>(m.rows());
  pattern f;
  f.n_rows = f.n_cols = n;
  f.row_ptr.reserve(static_cast<std::size_t>(n) + 1);
  for (index_t i = 0; i < n; ++i) {
    for (index_t j = 0; j < n; ++j) {
      if (m(i, j) != 0) f.col_idx.push_back(j);
    }
    f.row_ptr.push_back(static_cast<offset_t>(f.col_idx.size()));
  }
  return f;
}

}  // namespace

pattern eliminate_boolean(const pattern_view& a) {
  check_input(a, max_boolean_order, "Boolean elimination");
  const Eigen::Index n = a.n_rows;
  dense_matrix<std::uint8_t> m = dense_matrix<std::uint8_t>::Zero(n, n);
  for (index_t i = 0; i < a.n_rows; ++i) {
    for (const index_t j : a.row(i)) m(i, j) = 1;
  }
  for (Eigen::Index k = 0; k < n; ++k) {
    const Eigen::Index rest = n - k - 1;
    for (Eigen::Index i = k + 1; i < n; ++i) {
      if (m(i, k) != 0) m.row(i).tail(rest) = m.row(i).tail(rest).cwiseMax(m.row(k).tail(rest));
    }
  }
  return nonzeros(m);
}

pattern eliminate_prime_field(const pattern_view& a, std::uint64_t seed) {
  using namespace prime_field;
  check_input(a, max_prime_field_order, "prime field elimination");
  const Eigen::Index n = a.n_rows;
  std::mt19937_64 engine(seed);
  auto draw = [&engine] {
    for (;;) {
      const std::uint64_t v = engine() >> 3;
      if (v != 0 && v != prime) return v;
    }
  };
  dense_matrix<std::uint64_t> m = dense_matrix<std::uint64_t>::Zero(n, n);
  for (index_t i = 0; i < a.n_rows; ++i) {
    for (const index_t j : a.row(i)) m(i, j) = draw();
  }
  for (Eigen::Index k = 0; k < n; ++k) {
    if (m(k, k) == 0) {
      throw error(exit_code::run_failed, "prime field elimination: pivot " + std::to_string(k) +
                                             " vanished by chance; choose another seed");
    }
    const std::uint64_t reciprocal = inverse(m(k, k));
    for (Eigen::Index i = k + 1; i < n; ++i) {
      if (m(i, k) == 0) continue;
      const std::uint64_t multiplier = multiply(m(i, k), reciprocal);
      m(i, k) = multiplier;
      for (Eigen::Index j = k + 1; j < n; ++j) {
        m(i, j) = subtract(m(i, j), multiply(multiplier, m(k, j)));
      }
    }
  }
  return nonzeros(m);
}

}  // namespace gsofa::reference
