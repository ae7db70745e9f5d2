#pragma once

#include <string>
#include <vector>

#include "common/ordering.hpp"

// Eigen's headers are written for fewer warnings than this project's.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#include <Eigen/OrderingMethods>
#include <Eigen/SparseCore>
#pragma GCC diagnostic pop

namespace gsofa {

using eigen_matrix = Eigen::SparseMatrix<char, Eigen::ColMajor, int>;

/// A square pattern for Eigen's orderings: row i of `rows` becomes column i. Entries of a row stay
/// in their order. Throws error if there are too many entries for int.
inline eigen_matrix as_eigen_columns(const pattern_view& rows) {
  std::vector<int> outer = narrow_offsets(rows, "nonzeros for the ordering");
  std::vector<int> inner(rows.col_idx.begin(), rows.col_idx.end());
  std::vector<char> values(inner.size(), 1);
  return Eigen::Map<const eigen_matrix>(rows.n_cols, rows.n_rows, static_cast<int>(inner.size()),
                                        outer.data(), inner.data(), values.data());
}

inline std::string eigen_version() {
  return "Eigen " + std::to_string(EIGEN_WORLD_VERSION) + "." +
         std::to_string(EIGEN_MAJOR_VERSION) + "." + std::to_string(EIGEN_MINOR_VERSION);
}

}  // namespace gsofa
