#pragma once

#include "common/pattern.hpp"

namespace gsofa {

/// symmetrized(a, diagonal::drop, threads): `a` itself if that is equal, otherwise in `storage`.
pattern_view graph_of(const pattern_view& a, int threads, pattern& storage);

/// Whether the pattern of a square A, with any diagonal, is symmetric.
bool is_symmetric(const pattern_view& a, int threads);

}  // namespace gsofa
