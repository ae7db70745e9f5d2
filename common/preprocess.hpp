#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/ordering.hpp"
#include "common/prepared.hpp"

namespace gsofa {

/// Which rows to match to columns: auto (permute rows by `maximum` if the diagonal has a zero),
/// none (keep the rows and add the missing diagonal entries), or a method as for find_matching().
inline constexpr const char* match_auto = "auto";
inline constexpr const char* match_none = "none";

/// How to prepare a matrix.
struct prepare_options {
  std::string match = match_auto;
  std::string order = "metis";  ///< as for find_order(), or the path of a permutation file
  std::int64_t seed = -1;       ///< for the order; -1: the method's default
  int threads = 1;              ///< host threads for the order; any number gives the same order
};

/// Structural rank of A and, if it is full, for each column j the row row_of_col[j] with
/// A(row_of_col[j], j) != 0, distinct (a maximum transversal: Duff 1981, as in SuiteSparse BTF).
struct transversal {
  index_t structural_rank = 0;
  std::vector<index_t> row_of_col;  ///< -1 for an unmatched column
};
transversal maximum_transversal(const pattern_view& a);
/// The library of maximum_transversal() and its version; empty if this build lacks it.
std::string matching_library();

/// Number of diagonal blocks of the block triangular form of a square A of full structural rank
/// (strongly connected components after matching), and the order of the largest.
struct block_structure {
  index_t blocks = 0;
  index_t largest = 0;
};
block_structure block_triangular_form(const pattern_view& a);

/// Elimination tree of the symmetric pattern `s` (diagonal ignored): parent of each vertex, -1 for
/// roots. Liu 1990 with path compression; O(nnz log n).
std::vector<index_t> elimination_tree(const pattern_view& s);

/// Elimination tree of A + A^T for a square A and its transpose `t`, without that sum.
std::vector<index_t> elimination_tree_of_sum(const pattern_view& a, const pattern_view& t);

/// The same for P A P^T with the permutation `order` (old index by new position), without P A P^T.
std::vector<index_t> elimination_tree_of_sum(const pattern_view& a, const pattern_view& t,
                                             std::span<const index_t> order);

/// Postorder of a forest: vertices by new position, children before parents, subtrees contiguous.
std::vector<index_t> postorder(std::span<const index_t> parent);

/// A square pattern and its permutations: entry (i, j) of `a` is entry (row_order[i], col_order[j])
/// of the original.
struct permuted_pattern {
  pattern a;
  std::vector<index_t> row_order, col_order;
};

/// Outcome of match_diagonal().
struct matched_pattern {
  permuted_pattern matched{};  ///< no zero on the diagonal; empty if structural_rank < n
  std::string how{};           ///< as provenance::match
  std::string note{};          ///< row_matching::how of a method that was named; else empty
  index_t diagonal_added = 0;
  index_t structural_rank = 0;  ///< less than n only if a needed matching was not found
};

/// Gives a square pattern a zero-free diagonal as `match` says. values: of the entries, or none; a
/// method that needs values throws input_error without them.
matched_pattern match_diagonal(pattern a, const std::string& match,
                               std::span<const double> values = {}, int threads = 1);

/// Whether the matching `symmetric`, with an order of its own, is expected to save more than it
/// takes after `maximum`. It saves a tenth of the operations of matrices with zero diagonals, and
/// takes up to 2 us an entry (variants/matchings/README.md). contested_s: ordering::contested_s.
inline bool symmetric_may_pay(double contested_s, offset_t entries) {
  return 0.1 * contested_s > 2e-6 * static_cast<double>(entries);
}

/// Permutes rows and columns of `p` alike by `order` (old index by new position), then, if
/// `postordered`, by a postorder of the etree of A + A^T.
void reorder(permuted_pattern& p, std::span<const index_t> order, bool postordered);

/// Outcome of match_and_order().
struct ordered_pattern {
  matched_pattern matching;  ///< `matched` is in the order below
  ordering order;            ///< its permutation has been moved from
  bool postordered = false;
};

/// match_diagonal(), then compute_order() and, unless the order is natural, a postorder. Under
/// match_auto `symmetric` contends with `maximum` where symmetric_may_pay(). Stops before the order
/// if the structural rank is less than n.
ordered_pattern match_and_order(pattern a, const prepare_options& options,
                                std::span<const double> values = {});

/// file -> pattern -> prepared pattern: matching, ordering, and, except for natural order, a
/// postorder of the etree of A + A^T as in SuperLU_DIST. Throws input_error for an empty or
/// non-square matrix and, unless `match` is none, for a structurally singular one (with its
/// structural rank). values: as match_diagonal().
prepared_pattern prepare(const pattern& raw, const prepare_options& options, provenance origin,
                         std::span<const double> values = {});

}  // namespace gsofa
