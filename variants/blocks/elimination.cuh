#pragma once

// Eliminates a block by a warp, and lists sorted rows. gpu_diagonal_blocks.cu has the encoding and
// the invariant.

#include <bit>
#include <cstdint>

#include "common/digest.hpp"
#include "variants/blocks/cuts.cuh"
#include "variants/support/counting.hpp"

namespace gsofa::gpu::blocks {

/// The requested results of the rows.
struct results_view {
  index_t* l_counts;
  index_t* u_counts;
  unsigned long long* digests;  ///< null: not requested
  unsigned char* is_start;      ///< null: supernodes are not requested
  index_t chunk;
  bool bits;                     ///< complete rows in place of A's, for sorted rows
  unsigned long long* counters;  ///< counting build: rows read, rows updated
};

/// A lane's words of the row at a position: of U and of L, words lane and lane + 32.
struct row_parts {
  std::uint32_t u[2] = {0, 0};
  std::uint32_t l[2] = {0, 0};
};

/// The lane's counts of 64 rows of L, 32 of each part, as binary digits: bit k of digit[q][d] is
/// digit d of the count of row number k of part q.
struct row_tally {
  std::uint32_t digit[2][count_bits] = {};

  /// Counts a column of L.
  template <unsigned First>
  GSOFA_DEVICE void add(const row_parts& row) {
    GSOFA_UNROLL
    for (unsigned q = First; q < 2; ++q) {
      std::uint32_t carry = row.l[q];
      GSOFA_UNROLL
      for (unsigned d = 0; d < count_bits; ++d) {
        const std::uint32_t sum = digit[q][d] ^ carry;
        carry &= digit[q][d];
        digit[q][d] = sum;
      }
    }
  }
};

/// A warp at work on a block.
struct elimination {
  std::uint32_t* bits;
  results_view out;
  offset_t words;  ///< as in `block`
  index_t begin;
  unsigned first, end;  ///< positions of the block
  row_parts next;       ///< the row of the next step, with all that is added to it so far
  row_tally tally;
  std::uint32_t leader[2] = {0, 0};  ///< the column of L of the first row of the supernode
  std::uint32_t last_count = 0;      ///< of U, of the row before
  unsigned long long updates = 0;    ///< counting build

  [[nodiscard]] GSOFA_DEVICE index_t row_of(unsigned p) const {
    return begin + static_cast<index_t>(p - first);
  }
};

template <unsigned First>
GSOFA_DEVICE row_parts load_row(const elimination& e, unsigned p) {
  const unsigned g = p / 32;
  const std::uint32_t* const row = e.bits + (e.words + words_before(p));
  row_parts parts;
  GSOFA_UNROLL
  for (unsigned q = First; q < 2; ++q) {
    const unsigned w = 32 * q + lane_index();
    if (w < g) continue;
    parts.u[q] = row[w - g];
    parts.l[q] = row[w - g + row_words - g];
  }
  return parts;
}

/// Writes the complete row back: what the step before added to it is in registers alone.
template <unsigned First>
GSOFA_DEVICE void store_row(const elimination& e, unsigned p, const row_parts& parts) {
  const unsigned g = p / 32;
  std::uint32_t* const row = e.bits + (e.words + words_before(p));
  GSOFA_UNROLL
  for (unsigned q = First; q < 2; ++q) {
    const unsigned w = 32 * q + lane_index();
    if (w < g) continue;
    row[w - g] = parts.u[q];
    row[w - g + row_words - g] = parts.l[q];
  }
}

/// Bits of word w at positions > p.
GSOFA_DEVICE std::uint32_t beyond(unsigned w, unsigned p) {
  return w < p / 32 ? 0U : w > p / 32 ? 0xffffffffU : 0xfffffffeU << (p % 32);
}

/// The least position p with U(k, p) and L(p, k); `positions` if there is none.
template <unsigned First>
GSOFA_DEVICE unsigned first_common(const row_parts& row) {
  GSOFA_UNROLL
  for (unsigned q = First; q < 2; ++q) {
    const std::uint32_t both = row.u[q] & row.l[q];
    const unsigned lanes = simt::ballot(both != 0);
    if (lanes == 0) continue;
    const unsigned lane = simt::lowest_bit(lanes);
    return 32 * (32 * q + lane) + simt::lowest_bit(simt::shuffle(both, lane));
  }
  return positions;
}

/// Calls visit(p) in all lanes for the positions p < limit of a set, ascending.
template <unsigned First, class Visit>
GSOFA_DEVICE void for_each_below(const std::uint32_t (&set)[2], unsigned limit, Visit&& visit) {
  GSOFA_UNROLL
  for (unsigned q = First; q < 2; ++q) {
    const unsigned w = 32 * q + lane_index();
    const std::uint32_t mine = limit == positions ? set[q]
                               : limit == 0       ? 0U
                                                  : set[q] & ~beyond(w, limit - 1);
    for (unsigned lanes = simt::ballot(mine != 0); lanes != 0; lanes &= lanes - 1) {
      const unsigned lane = simt::lowest_bit(lanes);
      for (std::uint32_t word = simt::shuffle(mine, lane); word != 0; word &= word - 1) {
        visit(32 * (32 * q + lane) + simt::lowest_bit(word));
      }
    }
  }
}

/// Adds the positions > t of a set to row t of U or to column t of L; p is the current step. A set
/// has no bit in a word before t's that is not masked out, so that the place is inside row t.
template <unsigned First, bool Upper>
GSOFA_DEVICE void update(elimination& e, unsigned p, unsigned t, const std::uint32_t (&set)[2]) {
  const unsigned g = t / 32;
  const offset_t row = e.words + words_before(t) + (Upper ? 0 : row_words - g);
  GSOFA_UNROLL
  for (unsigned q = First; q < 2; ++q) {
    const unsigned w = 32 * q + lane_index();
    const std::uint32_t added = set[q] & beyond(w, t);
    if (t == p + 1) {
      (Upper ? e.next.u[q] : e.next.l[q]) |= added;
    } else if (added != 0) {
      simt::atomic_or(e.bits + row + (w - g), added);
    }
  }
  if constexpr (detail::counting) ++e.updates;
}

/// The rule of README.md: with s the least position in both row and column p, rows t <= s of
/// column p take row p, and columns t <= s of row p take column p.
template <unsigned First>
GSOFA_DEVICE void update_all(elimination& e, unsigned p, const row_parts& row) {
  const unsigned s = first_common<First>(row);
  for_each_below<First>(row.l, s, [&](unsigned t) { update<First, true>(e, p, t, row.u); });
  for_each_below<First>(row.u, s, [&](unsigned t) { update<First, false>(e, p, t, row.l); });
  if (s == positions) return;
  update<First, true>(e, p, s, row.u);
  update<First, false>(e, p, s, row.l);
}

/// Adds the hashes of row p of U and of column p of L to the digests of their rows.
template <unsigned First>
GSOFA_DEVICE void add_digests(const elimination& e, unsigned p, const row_parts& row) {
  const index_t i = e.row_of(p);
  unsigned long long sum = lane_index() == 0 ? entry_hash(i, i) : 0;
  GSOFA_UNROLL
  for (unsigned q = First; q < 2; ++q) {
    const unsigned base = 32 * (32 * q + lane_index());
    for (std::uint32_t bits = row.u[q]; bits != 0; bits &= bits - 1) {
      sum += entry_hash(i, e.row_of(base + simt::lowest_bit(bits)));
    }
    for (std::uint32_t bits = row.l[q]; bits != 0; bits &= bits - 1) {
      const index_t t = e.row_of(base + simt::lowest_bit(bits));
      const unsigned long long hash = entry_hash(t, i);
      simt::atomic_add(e.out.digests + t, hash);
    }
  }
  for (unsigned step = 16; step > 0; step /= 2) sum += simt::shuffle_xor(sum, step);
  if (lane_index() == 0) simt::atomic_add(e.out.digests + i, sum);
}

/// Row p joins the supernode of the row before it iff |U(p, :)| = |U(p - 1, :)| - 1 and L(p, r) is
/// an entry, r the first row of that supernode. The first row of a block joins none.
template <unsigned First>
GSOFA_DEVICE void find_supernode(elimination& e, unsigned p, const row_parts& row,
                                 std::uint32_t count) {
  const index_t i = e.row_of(p);
  const std::uint32_t word =
      simt::shuffle(First == 0 && p < half ? e.leader[0] : e.leader[1], p / 32 % 32);
  const bool joins = p != e.first && count + 1 == e.last_count && (word >> (p % 32) & 1U) != 0 &&
                     (e.out.chunk == 0 || i % e.out.chunk != 0);
  e.last_count = count;
  if (joins) return;
  e.leader[0] = row.l[0];
  e.leader[1] = row.l[1];
  if (lane_index() == 0) e.out.is_start[i] = 1;
}

/// Steps from, .., to - 1. No row from there on has a word before part First.
template <unsigned First>
GSOFA_DEVICE void eliminate(elimination& e, unsigned from, unsigned to) {
  GSOFA_KEEP_LOOP
  for (unsigned p = from; p < to; ++p) {
    const row_parts row = e.next;
    // Later than all earlier updates of row p + 1, each by the lane that reads the word here.
    if (p + 1 < e.end) e.next = load_row<First>(e, p + 1);
    std::uint32_t mine = 0;
    bool in_u = false;
    bool in_l = false;
    GSOFA_UNROLL
    for (unsigned q = First; q < 2; ++q) {
      mine += simt::population(row.u[q]);
      in_u = in_u || row.u[q] != 0;
      in_l = in_l || row.l[q] != 0;
    }
    const bool any_u = simt::ballot(in_u) != 0;
    const bool any_l = simt::ballot(in_l) != 0;
    if (any_u && any_l) update_all<First>(e, p, row);
    if (e.out.bits) store_row<First>(e, p, row);
    e.tally.template add<First>(row);
    const std::uint32_t count = simt::add_of_warp(mine) + 1;
    if (lane_index() == 0) e.out.u_counts[e.row_of(p)] = static_cast<index_t>(count);
    if (e.out.digests != nullptr) add_digests<First>(e, p, row);
    if (e.out.is_start != nullptr) find_supernode<First>(e, p, row, count);
  }
}

/// Writes the row counts of L of part q.
template <unsigned Part>
GSOFA_DEVICE void write_l_counts(const elimination& e) {
  const unsigned base = 32 * (32 * Part + lane_index());
  for (unsigned k = 0; k < 32; ++k) {
    if (base + k < e.first || base + k >= e.end) continue;
    std::uint32_t count = 0;
    GSOFA_UNROLL
    for (unsigned d = 0; d < count_bits; ++d) count |= (e.tally.digit[Part][d] >> k & 1U) << d;
    e.out.l_counts[e.row_of(base + k)] = static_cast<index_t>(count);
  }
}

/// A warp takes blocks by tickets.
GSOFA_KERNEL void eliminate_kernel(blocks_view v, const std::uint32_t* order, std::uint32_t count,
                                   std::uint32_t* ticket, results_view out) {
  unsigned long long steps = 0;
  unsigned long long updates = 0;
  for (;;) {
    std::uint32_t k = 0;
    if (lane_index() == 0) k = simt::atomic_add(ticket, 1U);
    k = simt::shuffle(k, 0);
    if (k >= count) break;
    const std::uint32_t number = order[k];
    const block b = v.all[number];
    const auto first = static_cast<unsigned>(b.first);
    const auto rows = static_cast<unsigned>(v.all[number + 1].begin - b.begin);
    elimination e{.bits = v.bits,
                  .out = out,
                  .words = b.words,
                  .begin = b.begin,
                  .first = first,
                  .end = first + rows,
                  .next = {},
                  .tally = {}};
    e.next = load_row<0>(e, first);
    if (first < half) {
      eliminate<0>(e, first, half);
      write_l_counts<0>(e);
    }
    eliminate<1>(e, first < half ? half : first, e.end);
    write_l_counts<1>(e);
    steps += rows;
    updates += e.updates;
  }
  if constexpr (detail::counting) {
    if (lane_index() == 0) {
      simt::atomic_add(out.counters, steps);
      simt::atomic_add(out.counters + 1, updates);
    }
  }
}

/// Writes the sorted columns of row begin + k of L + U to out[offsets[k]] and the places behind, a
/// warp for each row. Rows that are not in the blocks of the view have none.
GSOFA_KERNEL void sorted_rows_kernel(blocks_view v, index_t begin, index_t count,
                                     const offset_t* offsets, index_t* out) {
  const unsigned lane = lane_index();
  for_each_window(count, [&](index_t k) {
    const index_t row = begin + k;
    const block b = v.all[v.block_of(row)];
    if (b.first < 0) return;
    const auto p = static_cast<unsigned>(row - b.begin + b.first);
    const auto first = static_cast<unsigned>(b.first);
    index_t* to = out + offsets[k];
    const auto write = [&](bool is_entry, unsigned position) {
      const unsigned entries = simt::ballot(is_entry);
      if (is_entry) {
        to[simt::population(entries & lower_lanes())] =
            b.begin + static_cast<index_t>(position - first);
      }
      to += simt::population(entries);
    };
    for (unsigned tile = first; tile < p; tile += 32) {
      const unsigned c = tile + lane;
      const unsigned g = c / 32;
      const bool is_entry =
          c < p && (v.bits[b.words + words_before(c) + (row_words - g) + (p / 32 - g)] >> (p % 32) &
                    1U) != 0;
      write(is_entry, c);
    }
    write(lane == 0, p);
    for (unsigned w = p / 32; w < row_words; ++w) {
      const std::uint32_t word = v.bits[b.words + words_before(p) + (w - p / 32)];
      write((word >> lane & 1U) != 0, 32 * w + lane);
    }
  });
}

}  // namespace gsofa::gpu::blocks
