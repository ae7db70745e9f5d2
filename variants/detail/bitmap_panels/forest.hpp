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
  std::vector<index_t> parent;  ///< etree of A + A^T; -1: root
  std::vector<index_t> order;   ///< caller's number of each vertex; empty: the same

  [[nodiscard]] index_t caller(index_t v) const { return order.empty() ? v : order[at(v)]; }
  /// The j < i with A(i, j) != 0, and the j > i.
  [[nodiscard]] std::span<const index_t> row_below(index_t i) const {
    return slice(row_idx_, row_ptr_[at(i)], diagonal_[at(i)]);
  }
  [[nodiscard]] std::span<const index_t> row_above(index_t i) const {
    return slice(row_idx_, diagonal_[at(i)] + 1, row_ptr_[at(i) + 1]);
  }
  /// The i < j with A(i, j) != 0, and the i > j.
  [[nodiscard]] std::span<const index_t> column_below(index_t j) const {
    if (symmetric_) return row_below(j);
    return slice(col_idx_, col_ptr_[at(j)], col_split_[at(j)]);
  }
  [[nodiscard]] std::span<const index_t> column_above(index_t j) const {
    if (symmetric_) return row_above(j);
    return slice(col_idx_, col_split_[at(j)], col_ptr_[at(j) + 1]);
  }
  /// True if the pattern is symmetric: columns are rows.
  [[nodiscard]] bool symmetric() const { return symmetric_; }
  /// Computes all of it from `a`: rows sorted, no zero on the diagonal. `a` must outlive this
  /// object. O(nnz log n).
  void build(const pattern_view& a);

 private:
  static std::size_t at(offset_t i) { return static_cast<std::size_t>(i); }
  static std::span<const index_t> slice(std::span<const index_t> idx, offset_t begin,
                                        offset_t end) {
    return {idx.data() + begin, at(end - begin)};
  }
  bool is_symmetric();
  void build_columns();
  void build_tree();
  void relabel();

  bool symmetric_ = false;
  // Row i: columns < i, the diagonal at diagonal_[i], columns > i.
  std::span<const offset_t> row_ptr_;
  std::span<const index_t> row_idx_;
  std::vector<offset_t> diagonal_;
  // Unless symmetric_, column j without its diagonal: rows < j, from col_split_[j] on rows > j.
  std::vector<offset_t> col_ptr_, col_split_;
  std::vector<index_t> col_idx_;
  std::vector<offset_t> own_row_ptr_;  // of the relabelled rows
  std::vector<index_t> own_row_idx_, work_;
};

/// True if every subtree of the forest is a range of vertices that ends at its root.
bool is_postordered(std::span<const index_t> parent);

}  // namespace gsofa::detail
