#include "experiments/solvers/linear_system.hpp"

#include <algorithm>

#include "common/error.hpp"
#include "common/generators.hpp"
#include "common/matrix_file.hpp"
#include "common/random.hpp"

namespace cudss_solver {

using namespace gsofa;

namespace {

// Values in [-1, 1], rows dominated by their diagonal; symmetric if `symmetric`.
static_lu::matrix with_values(const pattern& p, bool symmetric) {
  static_lu::matrix out;
  out.pattern = {p.n_rows, p.row_ptr, p.col_idx};
  out.values.reserve(p.col_idx.size());
  for (index_t i = 0; i < p.n_rows; ++i) {
    const auto row = p.row(i);
    for (const index_t j : row) {
      const auto low = static_cast<std::uint64_t>(symmetric ? std::min(i, j) : i);
      const auto high = static_cast<std::uint64_t>(symmetric ? std::max(i, j) : j);
      const double value =
          2 * static_cast<double>(keyed_random(1, low, high) >> 11U) / 9007199254740992.0 - 1;
      out.values.push_back(i == j ? static_cast<double>(row.size()) + value : value);
    }
  }
  return out;
}

static_lu::matrix with_zero_diagonal(const static_lu::matrix& a) {
  static_lu::matrix out;
  out.pattern.n = a.n();
  for (index_t i = 0; i < a.n(); ++i) {
    const auto columns = a.pattern.row(i);
    bool has = false;
    for (std::size_t p = 0; p <= columns.size(); ++p) {
      if (!has && (p == columns.size() || columns[p] >= i)) {
        has = true;
        if (p == columns.size() || columns[p] > i) {
          out.pattern.col_idx.push_back(i);
          out.values.push_back(0);
        }
      }
      if (p == columns.size()) break;
      out.pattern.col_idx.push_back(columns[p]);
      out.values.push_back(a.row_values(i)[p]);
    }
    out.pattern.row_ptr.push_back(static_cast<std::int64_t>(out.values.size()));
  }
  return out;
}

bool is_symmetric(const static_lu::matrix& a) {
  const auto value = [&](index_t i, index_t j) {
    const auto row = a.pattern.row(i);
    const auto found = std::ranges::lower_bound(row, j);
    return found == row.end() || *found != j ? 0 : a.row_values(i)[found - row.begin()];
  };
  for (index_t i = 0; i < a.n(); ++i) {
    const auto row = a.pattern.row(i);
    for (std::size_t p = 0; p < row.size(); ++p) {
      if (value(row[p], i) != a.row_values(i)[p]) return false;
    }
  }
  return true;
}

}  // namespace

linear_system read_system(const std::string& name, bool symmetric, bool made_up) {
  linear_system s{.name = name, .a = {}, .b = {}};
  matrix_file_header header;
  header.field = "pattern";  // of a generated matrix
  const pattern p =
      name.starts_with("gen:") ? generate(name.substr(4)) : read_matrix_file(name, &header);
  if (made_up || header.field == "pattern") {
    s.a = with_values(symmetric ? symmetrized(with_diagonal(p), diagonal::keep) : with_diagonal(p),
                      symmetric);
  } else {
    s.a = static_lu::read_matrix_market(name);
    s.diagonal_added = count_missing_diagonal(s.pattern_of());
    if (s.diagonal_added > 0) s.a = with_zero_diagonal(s.a);
    if (symmetric && !is_symmetric(s.a)) throw input_error(name + ": is not symmetric");
  }
  if (s.a.n() == 0) throw input_error(name + ": has no rows");
  s.b = static_lu::some_right_side(s.a.n());
  return s;
}

}  // namespace cudss_solver
