#pragma once

#include <vector>

#include "common/pattern.hpp"

namespace gsofa::reference {

/// First rows of the T3 supernodes of L+U, ascending; empty for n = 0, else beginning with 0.
/// Row s joins the supernode that begins at row r and now ends at row s-1 iff
/// |U(s,:)| = |U(s-1,:)| - 1, L(s,r) is structurally nonzero, and s is not a multiple of
/// `chunk_size` (0: unlimited). Source: paper, Definition 1; Demmel et al. 1999.
/// `filled` is L+U with the diagonal, rows sorted. Throws input_error if it is not square or
/// chunk_size < 0.
std::vector<index_t> t3_supernodes(const pattern_view& filled, index_t chunk_size);

/// As above, from L (strictly lower) and U (with the diagonal) as two patterns.
std::vector<index_t> t3_supernodes(const pattern_view& l, const pattern_view& u,
                                   index_t chunk_size);

}  // namespace gsofa::reference
