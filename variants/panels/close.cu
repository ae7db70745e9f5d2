// The masks of panels where L is U transposed, without elimination: no panel waits for another.
//
// Let C be the pattern of chol(A + A^T), which the position lists hold, and C(k, f), k < f, its
// entries. C(k, f) holds for a vertex k of panel J iff one of the following does (Liu 1990: the
// structure of a column is the union of its structure in A and of the structures of its children in
// the tree, without their first rows):
//   1. k and f are neighbours in A + A^T;
//   2. k is the vertex q(K) of a child panel K of J, and f is beyond k in the boundary of K;
//   3. a child c of k in J has C(c, f).
// So the mask of position f has the members that 1 and 2 give, and all ancestors of these members
// that are inside J and below f. First every panel adds 2 to the masks of its parent, then every
// panel closes its own masks. Each position has an upper and a lower mask, which differ in 1:
// `upper` takes A(k, f), `lower` takes A(f, k).
//
// If both closed masks agree at all positions, U and the transpose of L are C, exactly. The masks
// are then the masks of C: closing commutes with OR. U and L are parts of C. By induction on k,
// U(k, f) != 0 and L(f, k) != 0 for all f with C(k, f): the closed upper mask of f has k, by 1:
// A(k, f) is an entry; by 2: some root r of K has k as its parent and C(r, f), and C(r, k); r < k,
// so that L(k, r) != 0 and U(r, f) != 0, hence U(k, f) != 0; by 3: the same with c for r. Likewise
// L. QED
//
// If A is symmetric, the masks agree. If they differ at some position, nothing follows, and the
// elimination has to start again from the masks of A.
//
// If panel J - 1 is a child of J and its boundary is all of F_J, the first vertex of J is in the
// mask of every later position, by 2. Then panel J - 1 adds nothing; the closure of J adds the
// vertex. If in addition every vertex of J is an ancestor of the previous vertex, all masks are
// full, for any A. On grids this holds for most panels of the large separators.
//
// Waves: a panel adds 2 to the masks of its parent in its own wave. The wave that closes the parent
// is the same wave or a later one.
//
// Cost: two passes over the masks, which also count rows, and one pass over the places in the
// parents' lists.

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include <algorithm>

#include "variants/device/tile_scan.hpp"
#include "variants/panels/device_tuning.hpp"
#include "variants/panels/stages_device.hpp"

namespace gsofa::panels {

namespace {

/// Whether panel j - 1 is a child of panel j whose boundary is all of the list of j.
GSOFA_DEVICE bool has_full_child(const panel_view& p, index_t j) {
  return j > 0 && p.parent[j - 1] == j && p.length(j - 1) - p.width(j - 1) == p.length(j);
}

/// Adds the vertex q(K) of every panel K of the wave to the masks of its parent at the places of
/// the boundary of K beyond q(K). A block takes a panel, long ones first.
GSOFA_KERNEL void add_to_parents_kernel(panel_view p, panel_range wave,
                                        const std::uint32_t* children) {
  simt::after_earlier_launches();
  for (auto k = static_cast<index_t>(simt::block_index()); k < wave.end - wave.begin;
       k += static_cast<index_t>(simt::grid_size())) {
    const index_t j = wave.end - 1 - k;
    const index_t w = p.width(j);
    const index_t length = p.length(j);
    if (length == w) continue;
    const index_t parent = p.parent[j];
    if (parent == j + 1 && has_full_child(p, parent)) continue;
    const offset_t first = p.position_begin[j];
    // The first boundary vertex is q(K).
    const mask_t q = bit(p.columns[first + w] - p.begin[parent]);
    mask_pair* const above = p.masks + p.position_begin[parent];
    // No other panel adds to the masks of a parent with one child.
    const bool alone = children[parent] == 1;
    for (index_t z = w + 1 + static_cast<index_t>(simt::thread_index()); z < length;
         z += static_cast<index_t>(simt::block_size())) {
      mask_pair& m = above[p.in_parent[first + z]];
      if (alone) {
        m = {m.upper | q, m.lower | q};
      } else {
        simt::atomic_or(&m.upper, q);
        simt::atomic_or(&m.lower, q);
      }
    }
  }
}

/// The ancestors of each vertex of a panel inside it; shared memory.
struct panel_ancestors {
  mask_t of[mask_bits];
  std::uint32_t next[mask_bits];  ///< vertices as far above as members of `of`; mask_bits: none

  /// One warp calls this. Every step doubles the reach of `of` and `next`.
  GSOFA_DEVICE void find(const std::uint32_t* tree_parent, index_t begin, index_t width) {
    constexpr auto outside = static_cast<std::uint32_t>(mask_bits);
    const unsigned lane = lane_index();
    for (unsigned c = lane; c < outside; c += 32) {
      std::uint32_t up = outside;
      if (static_cast<index_t>(c) < width) {
        const std::uint32_t parent = tree_parent[begin + static_cast<index_t>(c)];
        if (parent < static_cast<std::uint32_t>(begin + width)) {
          up = parent - static_cast<std::uint32_t>(begin);
        }
      }
      next[c] = up;
      of[c] = up == outside ? 0 : mask_t{1} << up;
    }
    for (bool more = true; more;) {
      simt::sync_warp();
      mask_t reached[2];
      std::uint32_t farther[2];
      GSOFA_UNROLL for (unsigned half = 0; half < 2; ++half) {
        const std::uint32_t up = next[lane + half * 32];
        reached[half] = up == outside ? 0 : of[up];
        farther[half] = up == outside ? outside : next[up];
      }
      more = simt::ballot(farther[0] != outside || farther[1] != outside) != 0;
      simt::sync_warp();
      GSOFA_UNROLL for (unsigned half = 0; half < 2; ++half) {
        of[lane + half * 32] |= reached[half];
        next[lane + half * 32] = farther[half];
      }
    }
  }

  /// Whether all vertices behind the first one are its ancestors.
  [[nodiscard]] GSOFA_DEVICE bool first_reaches(index_t width) const {
    return (of[0] | 1U) == vertices(width);
  }
  [[nodiscard]] static GSOFA_DEVICE mask_t vertices(index_t width) {
    return width < mask_bits ? below(width) : ~mask_t{0};
  }

  /// The members and all their ancestors.
  [[nodiscard]] GSOFA_DEVICE mask_t close(mask_t members) const {
    for (mask_t left = members; left != 0;) {
      const unsigned c = simt::lowest_bit(left);
      members |= of[c];
      left &= ~of[c] & ~(mask_t{1} << c);
    }
    return members;
  }
};

/// A panel as its closure sees it.
struct closed_panel {
  const panel_ancestors& ancestors;
  index_t width;
  bool full_child;  ///< the first vertex is in all masks behind it
  bool full;        ///< so are all vertices

  GSOFA_DEVICE mask_t limit(index_t z) const {
    return z < width ? below(z) : panel_ancestors::vertices(width);
  }
  /// The closed masks of position z, which has masks m unless the panel is full.
  GSOFA_DEVICE mask_pair close(index_t z, const mask_pair& m) const {
    const mask_t within = limit(z);
    if (full) return {within, within};
    const mask_t added = full_child && z > 0 ? 1 : 0;
    const mask_t upper = ancestors.close(m.upper | added) & within;
    return {upper, m.lower == m.upper ? upper : ancestors.close(m.lower | added) & within};
  }
};

/// Numbers of entries of two rows of U of a panel, lane and lane + 32.
struct lane_counts {
  std::uint32_t u[2];
};

/// Closes 64 positions of panel j from `tile` on by one warp, and counts them if counts.l is not
/// null: transposed, the masks of U are a word per row of the panel. Returns whether the masks of
/// U and L differ.
GSOFA_DEVICE bool close_tile(const panel_view& p, index_t j, const closed_panel& panel,
                             index_t tile, const row_counts& counts, lane_counts& rows) {
  const offset_t first = p.position_begin[j];
  const index_t length = p.length(j);
  mask_pair* const masks = p.masks + first;
  row_pair by_row[1] = {{0, 0}};
  bool differ = false;
  for (index_t half = 0; half < 2; ++half) {
    const index_t z = tile + half * 32 + static_cast<index_t>(lane_index());
    if (z >= length) continue;
    const mask_pair m = panel.close(z, panel.full ? mask_pair{0, 0} : masks[z]);
    differ = differ || m.upper != m.lower;
    masks[z] = m;
    (half == 0 ? by_row[0].low : by_row[0].high) = m.upper;
    if (counts.l == nullptr || m.lower == 0) continue;
    simt::atomic_add(counts.l + p.caller(p.columns[first + z]),
                     static_cast<std::uint32_t>(simt::population(m.lower)));
  }
  if (counts.l == nullptr || panel.full) return differ;
  transpose(by_row);
  rows.u[0] += static_cast<std::uint32_t>(simt::population(by_row[0].low));
  rows.u[1] += static_cast<std::uint32_t>(simt::population(by_row[0].high));
  return differ;
}

/// Closes the masks of the panels of the wave, and sets `refuted` where those of U
/// and L differ. A block takes a panel, long ones first, a warp 64 positions at a time. Counts the
/// rows of L and U, those with the diagonal, unless counts.l is null: the counts are void where the
/// masks differ.
GSOFA_KERNEL void close_kernel(panel_view p, panel_range wave, const std::uint32_t* tree_parent,
                               row_counts counts, std::uint32_t* refuted) {
  simt::after_earlier_launches();
  panel_ancestors& ancestors = *simt::shared_memory<panel_ancestors>();
  const auto warp = static_cast<index_t>(simt::thread_index() / 32);
  const auto stride = static_cast<index_t>(simt::block_size()) * 2;
  bool differ = false;
  for (auto k = static_cast<index_t>(simt::block_index()); k < wave.end - wave.begin;
       k += static_cast<index_t>(simt::grid_size())) {
    const index_t j = wave.end - 1 - k;
    const index_t w = p.width(j);
    const index_t length = p.length(j);
    if (warp == 0) ancestors.find(tree_parent, p.begin[j], w);
    simt::sync_block();
    const bool full_child = has_full_child(p, j);
    const closed_panel panel{ancestors, w, full_child, full_child && ancestors.first_reaches(w)};
    lane_counts rows{{0, 0}};
    for (index_t tile = warp * 64; tile < length; tile += stride) {
      differ = close_tile(p, j, panel, tile, counts, rows) || differ;
    }
    for (index_t half = 0; counts.u != nullptr && half < 2; ++half) {
      const auto row = static_cast<index_t>(lane_index()) + half * 32;
      std::uint32_t mine = half == 0 ? rows.u[0] : rows.u[1];
      // The diagonal; row `row` of a full panel has all positions behind it.
      if (warp == 0) mine += 1 + (panel.full ? static_cast<std::uint32_t>(length - 1 - row) : 0);
      if (row < w && mine != 0) simt::atomic_add(counts.u + p.caller(p.begin[j] + row), mine);
    }
    simt::sync_block();
  }
  if (differ) simt::store_to_host(refuted, 1);
}

}  // namespace

void close_masks(const panel_arrays& p, panel_range wave, row_counts counts,
                 std::uint32_t* refuted) {
  const int blocks = std::min(wave.end - wave.begin, 1 << 16);
  launch_overlapping(add_to_parents_kernel, blocks, close_tuning::threads, 0, p.view(), wave,
                     p.children());
  launch_overlapping(close_kernel, blocks, close_tuning::threads, sizeof(panel_ancestors), p.view(),
                     wave, static_cast<const std::uint32_t*>(p.tree_parent.data()), counts,
                     refuted);
}

}  // namespace gsofa::panels

#endif
