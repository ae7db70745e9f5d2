#pragma once

/// The stage "forest" on the host: pattern -> elimination tree, postorder, relabelled A.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "common/mirror_images.hpp"
#include "common/pattern.hpp"
#include "variants/panels/buffer.hpp"

namespace gsofa::panels {

/// Off-diagonal entries of a square pattern by rows and by columns, in a numbering in which the
/// elimination tree of A + A^T is postordered: every subtree is a range that ends at its root.
/// Its L and U are those of the caller's numbering with rows and columns relabelled (PROOFS.md,
/// "Relabelling is exact").
struct ordered_graph {
  struct entry {
    index_t row, column;
  };
  index_t n = 0;
  std::vector<index_t> parent;  ///< etree of A + A^T; -1: root
  std::vector<index_t> order;   ///< caller's number of each vertex; empty: not relabelled

  [[nodiscard]] index_t caller(index_t v) const { return order.empty() ? v : order[at(v)]; }
  /// The j < i with A(i, j) != 0, and the j > i.
  [[nodiscard]] std::span<const index_t> row_below(index_t i) const { return rows_.before(i); }
  [[nodiscard]] std::span<const index_t> row_above(index_t i) const { return rows_.after(i); }
  /// The entries below the diagonal in the columns begin .. end - 1: two lists, ascending by
  /// columns, then by rows; in each column the rows of the second list are later. Before: the
  /// pattern is not symmetric (use row_above() if it is).
  [[nodiscard]] std::array<std::span<const entry>, 2> columns_below(index_t begin,
                                                                    index_t end) const {
    return {inner_.of(begin, end), outer_.of(begin, end)};
  }
  /// Entries of the rows before i.
  [[nodiscard]] offset_t entries_before(index_t i) const { return rows_.ptr[at(i)]; }
  /// An upper bound on the entries of A to the right of the diagonal in rows begin .. end - 1 plus
  /// those below the diagonal in the same columns.
  [[nodiscard]] offset_t entries_of(index_t begin, index_t end) const {
    const offset_t in_rows = rows_.ptr[at(end)] - rows_.ptr[at(begin)];
    if (symmetric_) return in_rows;
    const auto [inner, outer] = columns_below(begin, end);
    return in_rows + std::ssize(inner) + std::ssize(outer);
  }
  /// The first vertex of each subtree; empty if vertices were relabelled.
  [[nodiscard]] std::span<const index_t> subtree_begin() const { return subtree_begin_; }
  /// True if the pattern is symmetric: columns are rows.
  [[nodiscard]] bool symmetric() const { return symmetric_; }
  /// Computes everything from `a`, which must be square with sorted rows and a full diagonal, and
  /// must outlive this object. O(nnz log n). Any number of threads gives the same result; several
  /// threads take up to 4 nnz bytes more during the call.
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
  };
  // The entries on one side of the diagonal, by columns.
  struct half_columns {
    std::vector<offset_t> ptr;  // empty: no entries
    buffer<entry> entries;      // the last ones may be unused

    [[nodiscard]] std::span<const entry> of(index_t begin, index_t end) const {
      if (ptr.empty()) return {};
      return entries.view().subspan(at(ptr[at(begin)]), at(ptr[at(end)] - ptr[at(begin)]));
    }
  };
  enum class half { below, above };  // entries (i, j) with j < i, or with j > i
  // Buckets of 2^shift columns; each thread has a range of rows.
  struct buckets {
    int shift;
    std::vector<index_t> first;               // first row of each thread
    std::vector<std::vector<offset_t>> next;  // by thread and bucket: number of entries, then place
    std::vector<offset_t> begin;              // place of each bucket
  };
  // The last row so far with an entry in a column, for some columns: a hash table in which a column
  // may replace another one.
  class alignas(64) far_columns {
   public:
    entry& of(index_t column) {
      return entries_[static_cast<std::uint32_t>(column) * 2654435769U >> (32 - bits)];
    }
    void clear() { entries_.assign(std::size_t{1} << bits, entry{.row = -1, .column = -1}); }
    // -1: unknown.
    index_t last_row(index_t column) {
      const entry e = of(column);
      return e.column == column ? e.row : -1;
    }

   private:
    static constexpr int bits = 12;
    std::vector<entry> entries_;
  };
  // The vertices of one thread. The vertices without a parent in the chunk are the first `open`
  // elements of the chunk's part of work_; `first` holds the vertices that found none open.
  struct chunk {
    index_t begin = 0;
    index_t end = 0;
    index_t open = 0;
    std::vector<index_t> first;
  };

  [[nodiscard]] std::span<const index_t> side(half h, index_t i) const {
    return h == half::below ? rows_.before(i) : rows_.after(i);
  }
  bool find_symmetry(int threads);
  offset_t mirrored_entries(mirror_images<true>& images, std::size_t k, index_t begin, index_t end,
                            std::atomic<bool>& differs);
  [[nodiscard]] std::span<const index_t> row(index_t i) const {
    return rows_.slice(rows_.ptr[at(i)], rows_.ptr[at(i) + 1]);
  }
  buckets scan_rows(int threads);
  void scan_rows(index_t begin, index_t end, offset_t* others, int shift);
  std::vector<index_t> transpose_scanned(buckets& b, int threads);
  std::span<const index_t> transpose_scanned(buckets& b, int t, offset_t place, offset_t unused);
  [[nodiscard]] std::vector<index_t> row_ranges(int threads) const;
  [[nodiscard]] buckets plan_buckets(int threads) const;
  static void place_buckets(buckets& b);
  void transpose_buckets(const buckets& b, int threads, half_columns& out);
  void transpose_half(half h, int threads, half_columns& out);
  void transpose_half(half h, half_columns& out);
  void transpose_bucket(std::span<const entry> entries, index_t begin, index_t end,
                        half_columns& out);
  bool build_postordered_tree(int threads);
  void find_nearest_parents(int threads);
  void find_nearest_parents(chunk& c);
  void join_chunks(std::span<const chunk> chunks);
  // Of all neighbours of u and u itself.
  [[nodiscard]] index_t least_neighbour(index_t u) const {
    return std::min(least_[at(u)], last_[at(u)]);
  }
  [[nodiscard]] bool has_edge_in_row(index_t v) const;
  [[nodiscard]] bool is_doubtful(index_t v) const;
  [[nodiscard]] bool is_doubtful(index_t v, index_t last) const;
  [[nodiscard]] std::vector<index_t> without_edge_in_row(std::span<const index_t> doubtful) const;
  std::vector<index_t> find_doubtful(int threads);
  bool have_edges_in_columns(std::vector<index_t>& doubtful, int threads);
  void build_tree(int threads);
  void relabel(int threads);

  bool symmetric_ = false;
  adjacency rows_;
  // Below the diagonal, unless symmetric_: entries with row and column in the range of one thread,
  // and all others.
  half_columns inner_, outer_;
  std::vector<offset_t> row_ptr_;  // of relabelled rows
  std::vector<index_t> row_idx_, work_, least_, last_, subtree_begin_;
  buffer<entry> entries_;
  std::vector<offset_t> next_;
  std::vector<far_columns> far_;  // one per thread
};

/// True if every subtree of the forest is a range of vertices that ends at its root.
bool is_postordered(std::span<const index_t> parent);

}  // namespace gsofa::panels
