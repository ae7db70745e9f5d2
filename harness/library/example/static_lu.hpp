#pragma once

/// LU factorization with static pivoting inside the pattern that gsofa::analyze() predicts: reading
/// a matrix, scaling, factors, triangular solves, iterative refinement. What the examples share.

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <gsofa/gsofa.hpp>
#include <limits>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

namespace static_lu {

using std::size_t;

/// Square sparse matrix by rows: columns (ascending) and their values.
struct matrix {
  gsofa::csr_pattern pattern;
  std::vector<double> values;

  [[nodiscard]] std::int32_t n() const { return pattern.n; }
  [[nodiscard]] const double* row_values(std::int32_t i) const {
    return values.data() + pattern.row_ptr[static_cast<size_t>(i)];
  }
};

inline size_t at(std::int64_t i) { return static_cast<size_t>(i); }

/// Sums values at the same position. Entries are (row, column, value).
inline matrix from_entries(std::int32_t n,
                           std::vector<std::tuple<std::int32_t, std::int32_t, double>> e) {
  std::sort(e.begin(), e.end());
  matrix a;
  a.pattern.n = n;
  std::int32_t rows = 0;
  std::int32_t last = -1;
  for (const auto& [i, j, value] : e) {
    for (; rows < i; ++rows) {
      a.pattern.row_ptr.push_back(static_cast<std::int64_t>(a.values.size()));
      last = -1;
    }
    if (j == last) {
      a.values.back() += value;
      continue;
    }
    a.pattern.col_idx.push_back(j);
    a.values.push_back(value);
    last = j;
  }
  for (; rows < n; ++rows) {
    a.pattern.row_ptr.push_back(static_cast<std::int64_t>(a.values.size()));
  }
  return a;
}

inline matrix read_matrix_market(const std::string& file) {
  const gzFile in = gzopen(file.c_str(), "rb");
  if (in == nullptr) throw std::runtime_error(file + ": cannot be opened");
  char line[1024];
  bool symmetric = false;
  bool skew = false;
  long rows = -1;
  long cols = 0;
  long stored = 0;
  std::vector<std::tuple<std::int32_t, std::int32_t, double>> entries;
  std::string fault;
  for (bool banner = true; fault.empty() && gzgets(in, line, sizeof line) != nullptr;) {
    long i = 0;
    long j = 0;
    double value = 0;
    if (banner) {
      banner = false;
      symmetric = std::strstr(line, "symmetric") != nullptr;
      skew = std::strstr(line, "skew") != nullptr;
      const bool known =
          std::strncmp(line, "%%MatrixMarket matrix coordinate", 32) == 0 &&
          (std::strstr(line, " real ") != nullptr || std::strstr(line, " integer ") != nullptr);
      if (!known) fault = "not a real Matrix Market file by coordinates";
    } else if (line[0] == '%' || line[0] == '\n') {
      continue;
    } else if (rows < 0) {
      if (std::sscanf(line, "%ld %ld %ld", &rows, &cols, &stored) != 3 || rows != cols ||
          rows < 1 || rows > std::numeric_limits<std::int32_t>::max()) {
        fault = "no size line of a square matrix";
      }
    } else if (std::sscanf(line, "%ld %ld %lf", &i, &j, &value) != 3 || i < 1 || i > rows ||
               j < 1 || j > cols) {
      fault = std::string("not an entry: ") + line;
    } else {
      const auto row = static_cast<std::int32_t>(i - 1);
      const auto col = static_cast<std::int32_t>(j - 1);
      entries.emplace_back(row, col, value);
      if (symmetric && row != col) entries.emplace_back(col, row, skew ? -value : value);
      --stored;
    }
  }
  gzclose(in);
  if (fault.empty() && (rows < 0 || stored != 0)) fault = "the number of entries is wrong";
  if (!fault.empty()) throw std::runtime_error(file + ": " + fault);
  return from_entries(static_cast<std::int32_t>(rows), std::move(entries));
}

/// Entry (i, j) is entry (row_order[i], col_order[j]) of a.
inline matrix permuted(const matrix& a, const gsofa::analysis& order) {
  std::vector<std::int32_t> new_row(at(a.n()));
  std::vector<std::int32_t> new_col(at(a.n()));
  for (std::int32_t k = 0; k < a.n(); ++k) {
    new_row[at(order.row_order[at(k)])] = k;
    new_col[at(order.col_order[at(k)])] = k;
  }
  std::vector<std::tuple<std::int32_t, std::int32_t, double>> entries;
  for (std::int32_t i = 0; i < a.n(); ++i) {
    const auto columns = a.pattern.row(i);
    for (size_t p = 0; p < columns.size(); ++p) {
      entries.emplace_back(new_row[at(i)], new_col[at(columns[p])], a.row_values(i)[p]);
    }
  }
  return from_entries(a.n(), std::move(entries));
}

/// Scales rows, then columns, so that the largest value of each is 1 in magnitude.
struct scaling {
  std::vector<double> row, col;
};
inline scaling equilibrate(matrix& a) {
  scaling s{std::vector<double>(at(a.n()), 0.0), std::vector<double>(at(a.n()), 0.0)};
  const auto each = [&](auto&& action) {
    for (std::int32_t i = 0; i < a.n(); ++i) {
      double* value = a.values.data() + a.pattern.row_ptr[at(i)];
      for (const std::int32_t j : a.pattern.row(i)) action(at(i), at(j), *value++);
    }
  };
  const auto invert = [](std::vector<double>& largest) {
    for (double& v : largest) v = v > 0 ? 1 / v : 1;
  };
  each([&](size_t i, size_t, double v) { s.row[i] = std::max(s.row[i], std::abs(v)); });
  invert(s.row);
  each([&](size_t i, size_t j, double& v) {
    v *= s.row[i];
    s.col[j] = std::max(s.col[j], std::abs(v));
  });
  invert(s.col);
  each([&](size_t, size_t j, double& v) { v *= s.col[j]; });
  return s;
}

/// b - A x.
inline std::vector<double> residual(const matrix& a, const std::vector<double>& x,
                                    std::vector<double> b) {
  for (std::int32_t i = 0; i < a.n(); ++i) {
    const auto columns = a.pattern.row(i);
    for (size_t p = 0; p < columns.size(); ++p) {
      b[at(i)] -= a.row_values(i)[p] * x[at(columns[p])];
    }
  }
  return b;
}

inline double max_norm(const std::vector<double>& x) {
  double norm = 0;
  for (const double v : x) norm = std::isnan(v) ? v : std::max(norm, std::abs(v));
  return norm;
}

inline double row_sum_norm(const matrix& a) {
  double norm = 0;
  for (std::int32_t i = 0; i < a.n(); ++i) {
    double sum = 0;
    for (size_t p = 0; p < a.pattern.row(i).size(); ++p) sum += std::abs(a.row_values(i)[p]);
    norm = std::max(norm, sum);
  }
  return norm;
}

/// L (unit diagonal, not stored) and U on the patterns of an analysis, row by row. A pivot below
/// sqrt(eps) |A| is replaced by that, as SuperLU_DIST does; refinement makes up for it.
class factorization {
 public:
  factorization(const matrix& a, const gsofa::analysis& predicted)
      : l_{predicted.l, std::vector<double>(predicted.l.col_idx.size())},
        u_{predicted.u, std::vector<double>(predicted.u.col_idx.size())},
        place_(at(a.n()), nullptr) {
    const double smallest = std::sqrt(std::numeric_limits<double>::epsilon()) * row_sum_norm(a);
    for (std::int32_t i = 0; i < a.n(); ++i) factor_row(a, i, smallest);
  }

  /// Values that had no place.
  [[nodiscard]] std::int64_t outside() const { return outside_; }
  [[nodiscard]] std::int64_t replaced_pivots() const { return replaced_; }

  /// Solves L U y = b in place.
  void solve(std::vector<double>& b) const {
    const auto n = static_cast<std::int32_t>(b.size());
    for (std::int32_t i = 0; i < n; ++i) {
      const auto columns = l_.pattern.row(i);
      for (size_t p = 0; p < columns.size(); ++p) {
        b[at(i)] -= l_.row_values(i)[p] * b[at(columns[p])];
      }
    }
    for (std::int32_t i = n - 1; i >= 0; --i) {
      const auto columns = u_.pattern.row(i);
      for (size_t p = 1; p < columns.size(); ++p) {
        b[at(i)] -= u_.row_values(i)[p] * b[at(columns[p])];
      }
      b[at(i)] /= u_.row_values(i)[0];  // columns ascend: the diagonal is first
    }
  }

 private:
  void add(std::int32_t j, double value) {
    if (place_[at(j)] == nullptr) {
      ++outside_;
    } else {
      *place_[at(j)] += value;
    }
  }

  // Row i of A minus L(i, k) U(k, :) for all k of L(i, :), ascending.
  void factor_row(const matrix& a, std::int32_t i, double smallest) {
    double* const lower = l_.values.data() + l_.pattern.row_ptr[at(i)];
    double* const upper = u_.values.data() + u_.pattern.row_ptr[at(i)];
    const auto l_columns = l_.pattern.row(i);
    const auto u_columns = u_.pattern.row(i);
    for (size_t p = 0; p < l_columns.size(); ++p) place_[at(l_columns[p])] = lower + p;
    for (size_t p = 0; p < u_columns.size(); ++p) place_[at(u_columns[p])] = upper + p;
    const auto a_columns = a.pattern.row(i);
    for (size_t p = 0; p < a_columns.size(); ++p) add(a_columns[p], a.row_values(i)[p]);
    for (size_t p = 0; p < l_columns.size(); ++p) {
      const std::int32_t k = l_columns[p];
      const auto columns = u_.pattern.row(k);
      const double* const values = u_.row_values(k);
      lower[p] /= values[0];
      for (size_t q = 1; q < columns.size(); ++q) add(columns[q], -lower[p] * values[q]);
    }
    if (std::abs(upper[0]) < smallest) {
      upper[0] = upper[0] < 0 ? -smallest : smallest;
      ++replaced_;
    }
    for (const std::int32_t j : l_columns) place_[at(j)] = nullptr;
    for (const std::int32_t j : u_columns) place_[at(j)] = nullptr;
  }

  matrix l_, u_;
  std::vector<double*> place_;  // where column j of the current row is; null: not predicted
  std::int64_t outside_ = 0;
  std::int64_t replaced_ = 0;
};

/// What became of A x = b.
struct solution {
  std::vector<double> x;
  std::int64_t outside = 0;   ///< values that had no place in the predicted pattern
  std::int64_t replaced = 0;  ///< pivots
  int solves = 0;             ///< the first and those of the refinement
  double residual = 0;        ///< |b - A x| / (|A| |x| + |b|), maximum norms
};

inline double relative_residual(const matrix& a, const std::vector<double>& x,
                                const std::vector<double>& b) {
  return max_norm(residual(a, x, b)) / (row_sum_norm(a) * max_norm(x) + max_norm(b));
}

/// Factors once, then refines as long as the residual halves.
inline solution solve(const matrix& a, const gsofa::analysis& found, const std::vector<double>& b) {
  matrix scaled = permuted(a, found);
  const scaling scale = equilibrate(scaled);
  const factorization lu(scaled, found);
  solution s{std::vector<double>(b.size(), 0.0), lu.outside(), lu.replaced_pivots()};
  double relative = 1;
  for (; s.solves < 20; ++s.solves) {
    const std::vector<double> r = residual(a, s.x, b);
    const double now = relative_residual(a, s.x, b);
    if (s.solves > 0 && !(now < relative / 2)) break;
    relative = now;
    std::vector<double> correction(b.size());
    for (size_t k = 0; k < b.size(); ++k) correction[k] = scale.row[k] * r[at(found.row_order[k])];
    lu.solve(correction);
    for (size_t k = 0; k < b.size(); ++k) {
      s.x[at(found.col_order[k])] += scale.col[k] * correction[k];
    }
  }
  s.residual = relative_residual(a, s.x, b);
  return s;
}

/// A right-hand side of moderate values.
inline std::vector<double> some_right_side(std::int32_t n) {
  std::vector<double> b(at(n));
  for (size_t i = 0; i < b.size(); ++i) b[i] = 1 + static_cast<double>(i % 7);
  return b;
}

}  // namespace static_lu
