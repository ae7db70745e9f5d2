#pragma once

#include "common/pattern.hpp"

namespace gsofa {

/// Pattern of A + A^T for a square A, with or without the diagonal, on up to `threads` host
/// threads; the result does not depend on their number. O(nnz log(longest row) + n). Throws error
/// if the system refuses a thread.
pattern symmetrized(const pattern_view& a, diagonal mode, int threads);

/// symmetrized(a, diagonal::drop, threads): `a` itself if that is equal, otherwise in `storage`.
pattern_view graph_of(const pattern_view& a, int threads, pattern& storage);

/// Whether the pattern of a square A, with any diagonal, is symmetric.
bool is_symmetric(const pattern_view& a, int threads);

}  // namespace gsofa
