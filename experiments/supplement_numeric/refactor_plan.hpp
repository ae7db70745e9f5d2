#pragma once

/// All that depends on the pattern of A alone, built once for factorizations with many values.

#include <cstdint>
#include <gsofa/gsofa.hpp>
#include <vector>

#include "harness/library/example/static_lu.hpp"

namespace refactor {

/// How rows are permuted before the analysis.
enum class row_choice {
  weighted,    ///< the largest product of magnitudes on the diagonal, with its scales
  structural,  ///< the library's matching, which looks at no values; largest values scaled to 1
  none,        ///< not at all; largest values scaled to 1
};

struct plan_options {
  row_choice rows = row_choice::weighted;
  gsofa::order_method order = gsofa::order_method::automatic;
  gsofa::compute_device device = gsofa::compute_device::cpu;
};

/// Ã = R P A Q C with permutations P and Q, scales R and C, and the pattern of L + U of Ã = L U.
/// Entry (i, j) of Ã is entry (row_order[i], col_order[j]) of A times row_scale[i] col_scale[j].
struct plan {
  std::int32_t n = 0;
  std::vector<std::int32_t> row_order, col_order;  ///< n; old by new
  std::vector<double> row_scale, col_scale;        ///< n; by new row and new column

  /// Ã by rows, columns ascending. a_entry: which value of A (in the order of A's rows) it is;
  /// a_place: which entry of its row of L + U it adds to, from 0, or -1 where that has none.
  std::vector<std::int64_t> a_begin{0};
  std::vector<std::int32_t> a_column;
  std::vector<std::int64_t> a_entry;
  std::vector<std::int32_t> a_place;

  /// L + U by rows, columns ascending: row i of L is begin[i] .. diagonal[i], of U diagonal[i] ..
  /// begin[i + 1]; L's unit diagonal is not stored.
  std::vector<std::int64_t> begin{0};
  std::vector<std::int64_t> diagonal;
  std::vector<std::int32_t> column;
  /// n + 1; row i takes updates_begin[i + 1] - updates_begin[i] updates w -= L(i, k) U(k, j), j >
  /// k.
  std::vector<std::int64_t> updates_begin{0};

  /// Rows by level. Row i of L (of U) lies one level above the highest of the rows k < i with
  /// L(i, k) (k > i with U(i, k)) in the pattern, so that the rows of a level depend on none of it.
  /// Factorization and forward substitution depend on rows by L, backward substitution by U.
  std::vector<std::int32_t> lower_order, upper_order;
  std::int32_t lower_levels = 0;
  std::int32_t upper_levels = 0;

  std::int64_t outside = 0;  ///< entries of Ã that have no place in L + U
  double flops = 0;          ///< of Ã = L U: the sum of l_k + 2 l_k u_k over columns and rows k
  double match_seconds = 0;
  double analysis_seconds = 0;  ///< order and symbolic factorization
  double schedule_seconds = 0;  ///< maps and level sets

  [[nodiscard]] std::int64_t nnz_lower() const {
    return static_cast<std::int64_t>(column.size()) - nnz_upper();
  }
  [[nodiscard]] std::int64_t nnz_upper() const {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < diagonal.size(); ++i) sum += begin[i + 1] - diagonal[i];
    return sum;
  }
};

/// Throws std::runtime_error with one line: no zero-free diagonal, a value that is not finite; and
/// what gsofa::analyze() throws.
plan make_plan(const static_lu::matrix& a, const plan_options& options);

}  // namespace refactor
