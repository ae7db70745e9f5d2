#pragma once

// The steps between a matrix and its symbolic factorization, on the device: those of
// device_patterns.hpp, a zero-free diagonal, the elimination tree, a postorder. Their results are
// those of common/preprocess.hpp and depend on no number of blocks; all arrays stay in device
// memory.

#include <cstdint>
#include <vector>

#include "common/pattern.hpp"
#include "variants/device/device_patterns.hpp"
#include "variants/device/postorder.hpp"
#include "variants/device/runtime.hpp"
#include "variants/device/timeline.hpp"
#include "variants/orderings/dissection/nested_dissection.hpp"

#if defined(GSOFA_GPU)

namespace gsofa::gpu::analysis {

/// No vertex.
inline constexpr std::uint32_t none = 0xffffffffU;

using namespace patterns;  // NOLINT(google-build-using-namespace)

// ------------------------------------------------------------ matching: gpu_matching.cu

/// A maximum matching of rows and columns along entries.
struct matching {
  index_t structural_rank = 0;
  /// n: the row matched to each column, -1 where there is none. With full rank it is the row order
  /// that puts no zero on the diagonal.
  device_array<index_t> row_of_col;
  /// Rows, ascending, that have entries in fewer columns than there are such rows, by
  /// n - structural_rank; empty with full rank. The set is the same for all maximum matchings
  /// (Dulmage & Mendelsohn 1958).
  std::vector<index_t> deficient_rows;
};

/// A maximum matching that keeps as many entries of the diagonal as a search along augmenting paths
/// leaves in place: where the diagonal has no zero, it is the diagonal. The rows of `a` may be in
/// any order, with repeated columns. Greedy rounds by least degrees (Karp & Sipser 1981), then
/// breadth-first searches from all unmatched rows at once, each with disjoint trees (Azad, Buluc &
/// Pothen 2017). O(nnz) for each search; there may be n searches, of n levels, at worst.
matching maximum_matching(const rows_view& a, memory_budget& budget);

// --------------------------------------------- elimination tree: gpu_elimination_tree.cu

/// Parent of each vertex in the elimination tree of A + A^T, -1 for roots, as elimination_tree() of
/// symmetrized(a) (Liu 1990). The rows of `a` may be in any order; any numbering will do.
device_array<index_t> elimination_tree(const rows_view& a, memory_budget& budget);

using gpu::postorder;

/// order[post[k]] by k: the order that is `order` followed by `post`.
device_array<index_t> composed(index_t n, const index_t* order, const index_t* post,
                               memory_budget& budget);

// -------------------------------------------------------------- all of it: gpu_analysis.cu

/// The pattern that a symbolic factorization takes, and where its rows and columns come from: entry
/// (i, j) of `a` is entry (row_order[i], col_order[j]) of the matrix.
struct analyzed {
  index_t structural_rank = 0;
  std::vector<index_t> deficient_rows;         ///< as of matching; then all that follows is empty
  device_array<index_t> row_order, col_order;  ///< n
  device_pattern a;  ///< rows sorted, no zero on the diagonal, the etree postordered
};

/// From raw rows on the device (in any order, columns repeated) to that pattern: sorted rows, a
/// zero-free diagonal, the graph of A + A^T, nested dissection as gpu_nested_dissection, the
/// elimination tree, a postorder. No entry passes through the host; the host plans the dissection
/// and expands its order to all vertices. Adds the phases sort, match, graph, those of dissection,
/// permute and postorder to `time`. Throws as sorted_rows(); error for zeros on the diagonal where
/// `matches` is false.
analyzed analyze(const rows_view& raw, const orders::dissection_settings& search, bool matches,
                 memory_budget& budget, timeline& time);

}  // namespace gsofa::gpu::analysis

#endif
