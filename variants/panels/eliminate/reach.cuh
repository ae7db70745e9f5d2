#pragma once

/// Reachability among the vertices of one panel. The elimination asks two questions: which vertices
/// do the members of a mask reach (closure), and which members reach no other member (keep_last)?
/// bits.hpp has the host forms, closure() and uncovered().

#include "variants/panels/eliminate/worker.cuh"

#if defined(GSOFA_GPU)

namespace gsofa::panels::elimination {

/// The vertices that each vertex of a panel reaches inside it; transitively closed.
struct reach {
  mask_t from[mask_bits];  ///< [k]: those > k that k reaches
  mask_t to[mask_bits];    ///< [k]: those < k that reach k
  bool is_chain;           ///< every vertex reaches all later vertices
};

/// The closure of a panel's masks under a reach.
struct closure {
  const reach& r;
  mask_t all;  ///< vertices of the panel
  bool is_chain;

  GSOFA_DEVICE closure(const reach& by, mask_t vertices)
      : r(by), all(vertices), is_chain(by.is_chain) {}

  /// m and all vertices that its members reach.
  GSOFA_DEVICE mask_t operator()(mask_t m) const {
    return is_chain ? behind_lowest(m) : searched(m);
  }
  /// In a chain: the lowest member and all later vertices.
  GSOFA_DEVICE mask_t behind_lowest(mask_t m) const {
    return (mask_t{0} - (m & (mask_t{0} - m))) & all;
  }
  /// By halves of 32 bits: a member reaches only later vertices.
  GSOFA_DEVICE mask_t searched(mask_t m) const {
    std::uint32_t low = low_half(m);
    std::uint32_t high = high_half(m);
    for (std::uint32_t todo = low; todo != 0;) {
      const mask_t reached = r.from[simt::lowest_bit(todo)];
      low |= low_half(reached);
      high |= high_half(reached);
      todo &= (todo - 1) & ~low_half(reached);
    }
    for (std::uint32_t todo = high; todo != 0;) {
      const std::uint32_t reached = high_half(r.from[32 + simt::lowest_bit(todo)]);
      high |= reached;
      todo &= (todo - 1) & ~reached;
    }
    return joined(low, high);
  }
};

/// A map of masks that maps unions to unions, tabulated for four consecutive vertices at a time:
/// entry [k][m] is the image of m << 4 k.
struct mask_table {
  mask_t of[mask_bits / 4][16];

  /// No load depends on another, and lanes that read different entries of one row read different
  /// banks.
  GSOFA_DEVICE mask_t operator()(mask_t m) const {
    mask_t found = 0;
    if (m == 0) return found;
    GSOFA_UNROLL for (unsigned k = 0; k < mask_bits / 4; ++k) found |= of[k][m >> 4 * k & 15U];
    return found;
  }
};

/// The closure by a table, unless the reach is a chain.
struct tabled_closure {
  const closure& by;
  const mask_table& table;

  GSOFA_DEVICE mask_t operator()(mask_t m) const {
    return by.is_chain ? by.behind_lowest(m) : table(m);
  }
};

/// Fills a table by `size` threads of rank `rank`, where of(k) is the image of vertex k. The
/// caller passes a barrier before the table is used.
template <class Of>
GSOFA_DEVICE void fill_table(mask_table& table, const Of& of, index_t rank, index_t size) {
  for (index_t at = rank; at < mask_bits / 4 * 16; at += size) {
    const index_t first = at / 16 * 4;
    mask_t found = 0;
    GSOFA_UNROLL for (index_t b = 0; b < 4; ++b) {
      if ((at >> b & 1) != 0) found |= of(first + b);
    }
    table.of[at / 16][at % 16] = found;
  }
}

/// Replaces every m[q] by its closure under by[q]; the searches overlap.
template <int Count>
GSOFA_DEVICE void apply_closures(mask_t (&m)[Count], const closure* const (&by)[Count]) {
  mask_t todo[Count];
  GSOFA_UNROLL for (int q = 0; q < Count; ++q) {
    todo[q] = by[q]->is_chain ? 0 : m[q];
    if (by[q]->is_chain) m[q] = by[q]->behind_lowest(m[q]);
  }
  GSOFA_KEEP_LOOP for (mask_t left = 1; left != 0;) {
    left = 0;
    GSOFA_UNROLL for (int q = 0; q < Count; ++q) {
      if (todo[q] != 0) {
        const mask_t reached = by[q]->r.from[simt::lowest_bit(todo[q])];
        m[q] |= reached;
        todo[q] &= (todo[q] - 1) & ~reached;
      }
      left |= todo[q];
    }
  }
}

/// Removes from every m[q] the members that reach another member; the searches overlap.
template <int Count>
GSOFA_DEVICE void keep_last(mask_t (&m)[Count], const reach* const (&r)[Count]) {
  mask_t last[Count];
  GSOFA_UNROLL for (int q = 0; q < Count; ++q) last[q] = 0;
  GSOFA_KEEP_LOOP for (mask_t left = 1; left != 0;) {
    left = 0;
    GSOFA_UNROLL for (int q = 0; q < Count; ++q) {
      if (m[q] != 0) {
        const unsigned k = simt::highest_bit(m[q]);
        const mask_t here = bit(static_cast<index_t>(k));
        last[q] |= here;
        m[q] &= ~(here | r[q]->to[k]);
      }
      left |= m[q];
    }
  }
  GSOFA_UNROLL for (int q = 0; q < Count; ++q) m[q] = last[q];
}

}  // namespace gsofa::panels::elimination

#endif
