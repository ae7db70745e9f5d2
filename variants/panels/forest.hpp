#pragma once

#include <atomic>
#include <span>
#include <vector>

#include "common/pattern.hpp"
#include "variants/panels/buffer.hpp"

namespace gsofa::detail {

/// Off-diagonal entries of a square pattern by rows and by columns, in a numbering in which the
/// elimination tree of A + A^T is postordered: every subtree is a range that ends at its root.
/// L and U are then L and U of the caller's numbering with rows and columns relabelled (README.md,
/// "Relabelling is exact").
struct ordered_graph {
  index_t n = 0;
  std::vector<index_t> parent;  ///< etree of A + A^T; -1: root
  std::vector<index_t> order;   ///< caller's number of each vertex; empty: the same

  [[nodiscard]] index_t caller(index_t v) const { return order.empty() ? v : order[at(v)]; }
  /// The j < i with A(i, j) != 0, and the j > i.
  [[nodiscard]] std::span<const index_t> row_below(index_t i) const { return rows_.before(i); }
  [[nodiscard]] std::span<const index_t> row_above(index_t i) const { return rows_.after(i); }
  /// The i < j with A(i, j) != 0, and the i > j.
  [[nodiscard]] std::span<const index_t> column_below(index_t j) const {
    return symmetric_ ? rows_.before(j) : columns_.before(j);
  }
  [[nodiscard]] std::span<const index_t> column_above(index_t j) const {
    return symmetric_ ? rows_.after(j) : columns_.after(j);
  }
  /// Entries of the rows before i.
  [[nodiscard]] offset_t entries_before(index_t i) const { return rows_.ptr[at(i)]; }
  /// All entries of rows (columns) begin .. end-1, diagonals too.
  [[nodiscard]] std::span<const index_t> rows(index_t begin, index_t end) const {
    return rows_.range(begin, end);
  }
  [[nodiscard]] std::span<const index_t> columns(index_t begin, index_t end) const {
    return symmetric_ ? rows_.range(begin, end) : columns_.range(begin, end);
  }
  /// True if the pattern is symmetric: columns are rows.
  [[nodiscard]] bool symmetric() const { return symmetric_; }
  /// Computes all of it from `a`: rows sorted, no zero on the diagonal. `a` must outlive this
  /// object. O(nnz log n). Any number of threads gives the same; several take up to 4 nnz bytes
  /// more meanwhile.
  void build(const pattern_view& a, int threads = 1);

 private:
  // List i: [ptr[i], diagonal[i]) numbers < i, then i itself, then numbers > i up to ptr[i + 1].
  struct adjacency {
    std::span<const offset_t> ptr;
    std::span<const index_t> idx;
    std::vector<offset_t> diagonal;

    [[nodiscard]] std::span<const index_t> slice(offset_t begin, offset_t end) const {
      return {idx.data() + begin, at(end - begin)};
    }
    [[nodiscard]] std::span<const index_t> before(index_t i) const {
      return slice(ptr[at(i)], diagonal[at(i)]);
    }
    [[nodiscard]] std::span<const index_t> after(index_t i) const {
      return slice(diagonal[at(i)] + 1, ptr[at(i) + 1]);
    }
    [[nodiscard]] std::span<const index_t> range(index_t begin, index_t end) const {
      return slice(ptr[at(begin)], ptr[at(end)]);
    }
  };
  bool find_symmetry();
  bool find_symmetry(int threads);
  [[nodiscard]] std::vector<index_t> row_ranges(int threads) const;
  offset_t mirrored(index_t begin, index_t end, index_t* next, std::atomic<bool>& differs);
  void build_columns(int threads);
  void build_columns_serial();
  void count_columns(index_t begin, index_t end, index_t* counts);
  void fill_columns(index_t begin, index_t end, index_t* next);
  bool build_postordered_tree();
  bool build_postordered_tree(int threads);
  [[nodiscard]] bool all_justified(index_t u, std::vector<index_t>& children,
                                   std::vector<char>& justified) const;
  void build_tree();
  void relabel(int threads);

  bool symmetric_ = false;
  adjacency rows_, columns_;                 // columns_ only unless symmetric_
  std::vector<offset_t> row_ptr_, col_ptr_;  // of relabelled rows; of columns
  std::vector<index_t> row_idx_, work_, subtree_begin_;
  buffer<index_t> col_idx_, counts_;
  std::vector<char> justified_;
  std::vector<offset_t> next_;
};

/// True if every subtree of the forest is a range of vertices that ends at its root.
bool is_postordered(std::span<const index_t> parent);

}  // namespace gsofa::detail
