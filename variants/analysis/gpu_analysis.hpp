#pragma once

// The steps between a matrix and its symbolic factorization, on the device: those of
// device_patterns.hpp, the elimination tree, a postorder. Their results are those of
// common/preprocess.hpp and depend on no number of blocks; all arrays stay in device memory.

#include "common/pattern.hpp"
#include "variants/device/device_patterns.hpp"
#include "variants/device/postorder.hpp"
#include "variants/device/runtime.hpp"
#include "variants/device/timeline.hpp"
#include "variants/orderings/dissection/nested_dissection.hpp"

#if defined(GSOFA_GPU)

namespace gsofa::gpu::analysis {

using namespace patterns;  // NOLINT(google-build-using-namespace)

// --------------------------------------------- elimination tree: gpu_elimination_tree.cu

/// Parent of each vertex in the elimination tree of A + A^T, -1 for roots, as elimination_tree() of
/// symmetrized(a) (Liu 1990). The rows of `a` may be in any order; any numbering will do.
device_array<index_t> elimination_tree(const rows_view& a, memory_budget& budget);

using gpu::postorder;

/// order[post[k]] by k: the order that is `order` followed by `post`.
device_array<index_t> composed(index_t n, const index_t* order, const index_t* post,
                               memory_budget& budget);

// -------------------------------------------------------------- all of it: gpu_analysis.cu

/// The pattern that a symbolic factorization takes (rows sorted, the etree postordered), and where
/// its vertices come from: entry (i, j) of `a` is entry (order[i], order[j]) of the matrix.
struct ordered {
  device_array<index_t> order;  ///< n
  device_pattern a;
};

/// From raw rows on the device (in any order, columns repeated) to that pattern: sorted rows, the
/// graph of A + A^T, nested dissection as gpu_nested_dissection, the elimination tree, a postorder.
/// No entry passes through the host; the host plans the dissection and expands its order to all
/// vertices. Adds the phases sort, graph, those of dissection, permute and postorder to `time`.
/// Throws as sorted_rows(); error if the diagonal has zeros.
ordered analyze(const rows_view& raw, const orders::dissection_settings& search,
                memory_budget& budget, timeline& time);

}  // namespace gsofa::gpu::analysis

#endif
