#pragma once

// Square sparsity patterns in device memory: sorted rows, transpose, the graph of A + A^T, a
// permuted pattern. Results equal those of common/pattern.hpp and do not depend on the number of
// blocks.

#include "common/device_rows.hpp"
#include "common/pattern.hpp"
#include "variants/device/runtime.hpp"

#if defined(GSOFA_GPU)

namespace gsofa::gpu {
class sorted_words;
struct coding;
}  // namespace gsofa::gpu

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

// Each function costs a radix sort of 8-byte words, one per entry of `a` (two for the graph), with
// 16 bytes of working memory per word in addition to the memory of the sort. All throw
// budget_error.

/// Copies a host pattern to the device, and a device pattern to the host.
device_pattern upload(const pattern_view& a, memory_budget& budget);
pattern download(const rows_view& a);

/// Rows of a user: `copy` holds arrays whose integers differ from those of rows_view; it is empty
/// if no array does. Waits for the stream of the rows. Throws input_error for impossible sizes and
/// for arrays outside the memory of the current device; a column beyond 32 bits becomes -1.
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

/// The pattern that words of `code` encode, which it sorts; words of row code.n are dropped.
/// repeats: whether words may be equal.
device_pattern pattern_of(sorted_words& words, const coding& code, bool repeats,
                          memory_budget& budget);

/// The diagonal positions that are missing in `a`.
index_t missing_diagonal(const rows_view& a, memory_budget& budget);

}  // namespace gsofa::gpu::patterns

#endif
