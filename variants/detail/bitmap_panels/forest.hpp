#pragma once

#include <span>
#include <vector>

#include "common/pattern.hpp"

namespace gsofa::detail {

/// Off-diagonal entries of a square pattern by rows and by columns, in a numbering in which the
/// elimination tree of A + A^T is postordered: every subtree is a range that ends at its root.
///
/// Such a renumbering is exact. Let c be an intermediate vertex of a fill path between i and j, or
/// one of its ends smaller than the other; all of the path below min(i, j) and min(i, j) itself
/// lie in one subtree of the etree of A + A^T whose root is min(i, j), and max(i, j) is an ancestor
/// of it. A topological renumbering of that tree keeps descendants before ancestors, hence the same
/// paths are fill paths, and the same end is the smaller one. So L and U are L and U of the
/// caller's numbering with rows and columns relabelled.
struct ordered_graph {
  index_t n = 0;
  std::span<const offset_t> row_ptr;  ///< n + 1; rows may hold their diagonal
  std::span<const index_t> row_idx;   ///< columns of each row, in any order
  std::vector<offset_t> col_ptr;      ///< n + 1; off-diagonal entries only
  std::vector<index_t> col_idx;       ///< rows of each column, in any order
  std::vector<index_t> parent;        ///< etree of A + A^T; -1: root
  std::vector<index_t> order;         ///< caller's number of each vertex; empty: the same

  [[nodiscard]] index_t caller(index_t v) const {
    return order.empty() ? v : order[static_cast<std::size_t>(v)];
  }
  [[nodiscard]] std::span<const index_t> row(index_t i) const { return slice(row_ptr, row_idx, i); }
  [[nodiscard]] std::span<const index_t> column(index_t j) const {
    return slice(col_ptr, col_idx, j);
  }
  /// Computes all of it from `a`, which must outlive this object. O(nnz log n).
  void build(const pattern_view& a);

 private:
  static std::span<const index_t> slice(std::span<const offset_t> ptr, std::span<const index_t> idx,
                                        index_t i) {
    const auto k = static_cast<std::size_t>(i);
    return idx.subspan(static_cast<std::size_t>(ptr[k]),
                       static_cast<std::size_t>(ptr[k + 1] - ptr[k]));
  }
  void build_columns();
  void build_tree();
  void relabel();

  std::vector<offset_t> own_row_ptr_;  // of the relabelled rows
  std::vector<index_t> own_row_idx_, work_;
};

/// True if every subtree of the forest is a range of vertices that ends at its root.
bool is_postordered(std::span<const index_t> parent);

}  // namespace gsofa::detail
