#pragma once

#include <string>
#include <vector>

#include "common/pattern.hpp"
#include "harness/library/example/static_lu.hpp"

namespace cudss_solver {

struct linear_system {
  std::string name;
  static_lu::matrix a;
  std::vector<double> b;
  gsofa::index_t diagonal_added = 0;  ///< zeros where the file has no diagonal entry

  [[nodiscard]] gsofa::pattern_view pattern_of() const {
    return {a.n(), a.n(), a.pattern.row_ptr, a.pattern.col_idx};
  }
};

/// The system of a file, or of a generated matrix "gen:SPEC". A generated matrix and a file of a
/// pattern get values in [-1, 1] and a dominant diagonal; with `symmetric`, those of A + A^T.
/// With `made_up`, so does any file.
/// Throws input_error if the matrix has no rows, or if the caller requires a symmetric matrix and
/// the values of the file are not symmetric.
linear_system read_system(const std::string& name, bool symmetric, bool made_up = false);

}  // namespace cudss_solver
