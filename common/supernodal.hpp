#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/pattern.hpp"

namespace gsofa {

/// Columns begin .. end - 1.
struct column_range {
  index_t begin = 0;
  index_t end = 0;
};

/// The rule that joins columns to supernodes.
struct supernode_rule {
  index_t most_columns = 0;  ///< per supernode; 0: any number
  /// Ascending, disjoint ranges. Each range is a separate supernode for any most_columns, and no
  /// column joins a range of several columns. Its columns must have one structure (pad_leaves()).
  std::span<const column_range> fixed{};
};

/// Throws input_error unless the ranges are ascending, disjoint, not empty and within [0, n).
void validate_ranges(std::span<const column_range> ranges, index_t n);

/// L + U by supernodes of columns: ranges of consecutive columns with one structure of L (type T2
/// of Demmel, Eisenstat, Gilbert, Li & Liu 1999): column j joins the supernode of column j - 1 iff
/// L(j, j-1) is structurally nonzero and the rows of column j of L below the diagonal equal the
/// rows of column j - 1 below j. One row list of L then serves all columns of a supernode, and U(k,
/// j) != 0 implies U(k', j) != 0 for all later k' < j of the supernode of k, so that the first row
/// determines a segment.
struct supernodal_pattern {
  std::vector<index_t> begin{0};  ///< supernodes + 1: first columns, ascending, ends with n
  /// supernodes + 1: rows[row_begin[s] .. row_begin[s+1]) are the rows of the first column of s in
  /// L, with the diagonal, ascending
  std::vector<offset_t> row_begin{0};
  std::vector<index_t> rows;
  /// n + 1: segments[segment_begin[j] .. segment_begin[j+1]) are the first rows of the segments of
  /// column j of U in the supernodes before its own, ascending
  std::vector<offset_t> segment_begin{0};
  std::vector<index_t> segments;

  [[nodiscard]] index_t supernodes() const { return static_cast<index_t>(begin.size()) - 1; }
  bool operator==(const supernodal_pattern&) const = default;
};

/// First columns of the supernodes, and n. joins[j]: column j has the structure to join column j -
/// 1 (joins[0] is ignored). Throws input_error for a fault of `rule`.
std::vector<index_t> cut_supernodes(std::span<const std::uint8_t> joins,
                                    const supernode_rule& rule);

/// The supernodes of L (strictly lower) and U (with the diagonal), both by rows. O(nnz).
supernodal_pattern supernodal_of(const pattern_view& l, const pattern_view& u,
                                 const supernode_rule& rule);

/// The relaxed supernodes of SuperLU: the maximal subtrees with at most `most` >= 1 vertices of a
/// postordered forest (parents, -1 or n for roots), as ranges; single leaves included. Throws
/// input_error if the forest is not postordered.
std::vector<column_range> relaxed_leaves(std::span<const index_t> parent, index_t most);

/// A with all entries that make each range a supernode whose segments of U begin with its first
/// row, as SuperLU stores its relaxed supernodes: its diagonal block whole, the union of the rows
/// of its columns in every one of them, the union of the columns of its rows in every one of these.
/// Ranges of one column are left as they are. Throws input_error if a column of a range has a row
/// above the range, or a row of it a column before: then it is no subtree of the elimination tree.
pattern pad_leaves(const pattern_view& a, std::span<const column_range> ranges);

/// The padded pattern of pad_leaves(), with one vertex in place of each range. All ranges are
/// leaves, so eliminating the vertices of a padded range one after the other gives the same fill as
/// eliminating one vertex with their rows and columns: L and U are the factors of the padded
/// pattern with each range contracted to a vertex.
struct contraction {
  pattern a;
  std::vector<column_range> of;  ///< columns that each vertex represents
  /// Supernodes of the contracted pattern that keep ranges of several columns apart.
  std::vector<column_range> fixed;
};

/// Throws input_error as pad_leaves() does.
contraction contract_leaves(const pattern_view& a, std::span<const column_range> ranges);

/// Supernodes of the padded pattern from those of the contracted one, cut with contraction::fixed.
supernodal_pattern expand_leaves(const supernodal_pattern& s, std::span<const column_range> of);

/// Number of entries of each row: of L below the diagonal, and of U with the diagonal.
struct row_counts {
  std::vector<index_t> l, u;
};
/// Row counts of the padded pattern from the row counts and supernodes of the contracted pattern.
row_counts expand_leaves(const row_counts& counts, const supernodal_pattern& s,
                         std::span<const column_range> of);
/// As above, with `added` = added_columns().
row_counts expand_leaves(const row_counts& counts, std::span<const std::uint32_t> added,
                         std::span<const column_range> of);
/// For each vertex, the number of columns that its entries of L represent in addition to one column
/// each: below a range, each entry of the range's vertex represents all columns of the range.
std::vector<std::uint32_t> added_columns(const supernodal_pattern& s,
                                         std::span<const column_range> of);

}  // namespace gsofa
