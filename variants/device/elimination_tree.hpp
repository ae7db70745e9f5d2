#pragma once

/// The elimination tree of A + A^T from the entries of A, for any numbering.

#include "variants/device/matrix_entries.hpp"

namespace gsofa::gpu {

#if defined(GSOFA_GPU)

inline constexpr std::uint32_t no_parent = 0xffffffffU;

/// Elimination tree of A + A^T without locks. At any time M is the multiset of the edges (v,
/// parent[v]) and of the edges that threads hold, each with its smaller end first. Initially M is
/// the edges of A. One step of a thread with edge (r, t):
///   parent[r] empty: the edge moves there;         parent[r] == t: a repeated edge is dropped;
///   parent[r] == s < t: (r, t) becomes (s, t);     parent[r] == s > t: (r, t) stays, the thread
///                                                  goes on with (t, s).
/// With a < b the last two replace (r, a), (r, b) by (r, a), (a, b). For no u does that change what
/// is connected in M restricted to 0..u: b <= u has a and r inside. The etree depends on nothing
/// else: parent(v) is the least u > v adjacent to v's component of 0..v. At the end every v has at
/// most one larger neighbour, and of such a graph the etree is the graph. Each step raises the
/// smaller end of the thread's edge: it ends, and the outcome depends on no order.
///
/// hint[r] = h > 0: h is an ancestor of r in the etree, that is, connected to r within 0..h; a
/// fact about M that no step changes. Where h < t, the edge (r, t), no part of 0..h, may become
/// (h, t). Hints are halved paths, as in union-find.
///
/// All accesses are single words, relaxed; what holds of M holds in the modification order of each.
[[maybe_unused]] GSOFA_KERNEL void etree_kernel(matrix_view a, std::uint32_t* parent,
                                                std::uint32_t* hint) {
  simt::after_earlier_launches();
  for_each_entry(a, [&](index_t i, index_t j) {
    if (i == j) return;
    auto r = static_cast<std::uint32_t>(i < j ? i : j);
    auto t = static_cast<std::uint32_t>(i < j ? j : i);
    std::uint32_t before = r;  // a descendant of r, or r
    for (;;) {
      std::uint32_t next = simt::load_shared_state(hint + r);
      if (next <= r || next >= t) {
        const std::uint32_t old = simt::atomic_min(parent + r, t);
        if (old == no_parent || old == t) break;
        next = old < t ? old : t;
        t = old < t ? t : old;
      }
      if (before != r) simt::atomic_max(hint + before, next);
      before = r;
      r = next;
    }
  });
}

#endif

}  // namespace gsofa::gpu
