#pragma once

// Square sparsity patterns in device memory: sorted rows, transpose, the graph of A + A^T, a
// permuted pattern. Their results are those of common/pattern.hpp and depend on no number of
// blocks.

#include "common/device_rows.hpp"
#include "common/pattern.hpp"
#include "variants/device/runtime.hpp"

#if defined(GSOFA_GPU)

namespace gsofa::gpu::patterns {

/// A square pattern in compressed rows as kernels see it.
using rows_view = device_rows;

/// A square pattern in device memory.
struct device_pattern {
  index_t n = 0;
  offset_t nnz = 0;
  device_array<offset_t> row_ptr;  ///< n + 1
  device_array<index_t> col_idx;   ///< at least nnz

  [[nodiscard]] rows_view view() const { return {n, nnz, row_ptr.data(), col_idx.data()}; }
  operator rows_view() const { return view(); }  // NOLINT(google-explicit-constructor)
};

// Each costs a radix sort of words of 8 bytes, one for each entry of `a`, two for the graph, with
// 16 bytes of working memory for each word beside what the sort takes. All throw budget_error.

/// A copy of a pattern on the host, and one there of a pattern on the device.
device_pattern upload(const pattern_view& a, memory_budget& budget);
pattern download(const rows_view& a);

/// Rows of a user: `copy` holds what has other integers than those of rows_view, and is empty where
/// nothing has. Waits for their stream. Throws input_error for sizes that cannot be and for arrays
/// that are not in memory of the current device; a column beyond 32 bits becomes -1.
struct adopted {
  device_pattern copy;
  rows_view rows;
};
adopted adopt(const foreign_rows& a, memory_budget& budget);

/// The rows of `raw` in ascending order, each column once; its rows may be in any order, with
/// repeated columns. Throws input_error, naming the first such row, for row pointers that do not
/// ascend from 0 to nnz and for columns outside 0 .. n-1.
device_pattern sorted_rows(const rows_view& raw, memory_budget& budget);

/// A^T with sorted rows; the rows of `a` may be in any order.
device_pattern transposed(const rows_view& a, memory_budget& budget);

/// The graph of A + A^T without the diagonal, rows sorted; the rows of `a` may be in any order.
device_pattern symmetric_graph(const rows_view& a, memory_budget& budget);

/// P A Q with sorted rows: row k of the result is row row_order[k] of `a`, column k is column
/// col_order[k]. Both orders (n, in device memory) list old indices by new position. Throws
/// input_error unless each is a permutation.
device_pattern permuted(const rows_view& a, const index_t* row_order, const index_t* col_order,
                        memory_budget& budget);

/// Diagonal positions that `a` lacks.
index_t missing_diagonal(const rows_view& a, memory_budget& budget);

/// The lists of children of a forest, as rows: row p has the vertices with parent p in ascending
/// order, row n those without (parent -1).
struct child_lists {
  device_array<offset_t> row_ptr;  ///< n + 2
  device_array<index_t> child;     ///< n
};
child_lists children_of(index_t n, const index_t* parent, memory_budget& budget);

}  // namespace gsofa::gpu::patterns

#endif
