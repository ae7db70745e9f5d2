#pragma once

#include <span>
#include <string>
#include <vector>

#include "common/types.hpp"

namespace gsofa {

/// Read-only compressed sparse rows: row i holds columns col_idx[row_ptr[i] .. row_ptr[i+1]).
/// Columns are strictly ascending within a row unless a function says otherwise.
struct pattern_view {
  index_t n_rows = 0;
  index_t n_cols = 0;
  std::span<const offset_t> row_ptr;  ///< n_rows + 1 entries
  std::span<const index_t> col_idx;   ///< nnz entries

  [[nodiscard]] offset_t nnz() const { return row_ptr.empty() ? 0 : row_ptr.back(); }
  [[nodiscard]] std::span<const index_t> row(index_t i) const {
    const auto begin = static_cast<std::size_t>(row_ptr[static_cast<std::size_t>(i)]);
    const auto end = static_cast<std::size_t>(row_ptr[static_cast<std::size_t>(i) + 1]);
    return col_idx.subspan(begin, end - begin);
  }
};

/// Owning sparsity pattern in compressed sparse rows.
struct pattern {
  index_t n_rows = 0;
  index_t n_cols = 0;
  std::vector<offset_t> row_ptr{0};
  std::vector<index_t> col_idx;

  [[nodiscard]] pattern_view view() const { return {n_rows, n_cols, row_ptr, col_idx}; }
  operator pattern_view() const { return view(); }  // NOLINT(google-explicit-constructor)
  [[nodiscard]] offset_t nnz() const { return row_ptr.back(); }
  [[nodiscard]] std::span<const index_t> row(index_t i) const { return view().row(i); }
  bool operator==(const pattern&) const = default;
};

/// A set of (row, column) positions in any order, as read from a file or generated.
struct triplets {
  index_t n_rows = 0;
  index_t n_cols = 0;
  std::vector<index_t> rows;
  std::vector<index_t> cols;
};

/// How to treat a position that occurs more than once.
enum class duplicates { reject, merge };

/// Sorts triplets into a pattern in O(nnz + n).
/// Throws input_error naming the first repeated position (1-based) under duplicates::reject.
pattern from_triplets(const triplets& entries, duplicates policy);

/// Checks sizes, monotone row pointers, index ranges and strictly ascending rows; throws
/// input_error with `what` and the first fault.
void validate(const pattern_view& a, const std::string& what);

/// A^T, rows sorted. O(nnz + n).
pattern transpose(const pattern_view& a);

/// P A Q: row k of the result is row row_order[k] of a, column k is column col_order[k] of a.
/// Both orders list old indices by new position. O(nnz + n).
pattern permute(const pattern_view& a, std::span<const index_t> row_order,
                std::span<const index_t> col_order);

/// Arrays that permute_into() reuses.
struct permutation_workspace {
  pattern transposed;  ///< of the last result, rows sorted
  std::vector<index_t> new_column;
};

/// permute() into `out`, which must not be `a`. Allocates nothing if the arrays are large enough.
void permute_into(const pattern_view& a, std::span<const index_t> row_order,
                  std::span<const index_t> col_order, permutation_workspace& workspace,
                  pattern& out);

/// Inverse of a permutation given as old indices by new position.
std::vector<index_t> inverse_permutation(std::span<const index_t> order);

/// Throws input_error naming `what` unless `order` holds each of 0..n-1 once.
void validate_permutation(std::span<const index_t> order, index_t n, const std::string& what);

/// Number of structurally zero diagonal positions of a square pattern.
index_t count_missing_diagonal(const pattern_view& a);

/// A with its diagonal made structurally nonzero.
pattern with_diagonal(const pattern_view& a);

/// Pattern of A + A^T for a square A, with or without the diagonal, on up to `threads` host
/// threads; the result does not depend on their number. O(nnz log(longest row) + n). Throws error
/// if the system refuses a thread.
enum class diagonal { keep, drop };
pattern symmetrized(const pattern_view& a, diagonal mode, int threads = 1);

/// Fraction of off-diagonal entries (i,j) for which (j,i) is also present; 1 without off-diagonal
/// entries.
double structural_symmetry(const pattern_view& a);

}  // namespace gsofa
