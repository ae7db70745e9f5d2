#pragma once

// What the lanes of a warp do together: places in lists, and rows, one for each lane.

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include "variants/device/batch_rows.hpp"
#include "variants/orderings/dissection/device/graphs.hpp"
#include "variants/orderings/dissection/device/trials.hpp"

namespace gsofa::orders::device {

constexpr unsigned rows_at_once = 4;
constexpr std::uint32_t zero_gain =
    0x80000000U;  // gains are kept plus 2^31, to compare without sign

GSOFA_DEVICE unsigned warp_of_thread() { return simt::thread_index() / 32; }
GSOFA_DEVICE unsigned warps_of_block() { return simt::block_size() / 32; }

/// Gives each lane with `wanted` one of the next places of a list; all lanes of the warp call it.
GSOFA_DEVICE std::uint32_t next_place(std::uint32_t* size, bool wanted) {
  const unsigned mask = simt::ballot(wanted);
  if (mask == 0) return 0;
  const unsigned leader = simt::lowest_bit(mask);
  std::uint32_t base = 0;
  if (lane_index() == leader) base = simt::atomic_add(size, simt::population(mask));
  return simt::shuffle(base, leader) + simt::population(mask & lower_lanes());
}

GSOFA_DEVICE std::uint64_t sum_of_warp(std::uint64_t value) {
  for (unsigned step = 16; step > 0; step /= 2) value += simt::shuffle_xor(value, step);
  return value;
}

/// A row, one for each lane.
struct lane_row {
  offset_t begin = 0;
  index_t length = 0;
};
GSOFA_DEVICE lane_row row_of(const level_view& g, bool is, index_t v) {
  lane_row r;
  if (is) {
    r.begin = g.begin[v];
    r.length = static_cast<index_t>(g.end[v] - r.begin);
  }
  return r;
}

/// Goes through the rows of the lanes of `mask`, several at a time: all lanes gather(e, u) for
/// entries e and neighbours u of one row, then all lanes call visit(lane of the row, whether they
/// have an entry, u, what they gathered).
template <class Item, class Gather, class Visit>
GSOFA_DEVICE void for_lane_rows(const index_t* adj, unsigned mask, const lane_row& mine,
                                Gather&& gather, Visit&& visit) {
  const auto lane = static_cast<index_t>(lane_index());
  while (mask != 0) {
    unsigned row[rows_at_once];
    lane_row r[rows_at_once];
    index_t longest = 0;
    GSOFA_UNROLL for (unsigned k = 0; k < rows_at_once; ++k) {
      row[k] = mask != 0 ? simt::lowest_bit(mask) : 32;
      mask &= mask - 1;
      r[k] = {};
      if (row[k] == 32) continue;
      r[k].begin = simt::shuffle(mine.begin, row[k]);
      r[k].length = simt::shuffle(mine.length, row[k]);
      longest = r[k].length > longest ? r[k].length : longest;
    }
    GSOFA_KEEP_LOOP for (index_t base = 0; base < longest; base += 32) {
      index_t u[rows_at_once];
      Item item[rows_at_once];
      GSOFA_UNROLL for (unsigned k = 0; k < rows_at_once; ++k) {
        u[k] = base + lane < r[k].length ? adj[r[k].begin + base + lane] : 0;
      }
      GSOFA_UNROLL for (unsigned k = 0; k < rows_at_once; ++k) {
        item[k] = {};
        if (base + lane < r[k].length) item[k] = gather(r[k].begin + base + lane, u[k]);
      }
      GSOFA_UNROLL for (unsigned k = 0; k < rows_at_once; ++k) {
        if (base < r[k].length) visit(row[k], base + lane < r[k].length, u[k], item[k]);
      }
    }
  }
}

/// What a move sees of a neighbour.
struct neighbour {
  vertex_status status = 0;
  index_t weight = 0;
  lane_row row{};
};

/// Prefetches a row that the moves will need if n's vertex comes to S: of large graphs, whose rows
/// are not in L1.
template <bool Prefetches>
GSOFA_DEVICE void prefetch_row(const level_view& g, const neighbour& n) {
  if constexpr (Prefetches) {
    constexpr index_t sector = 32 / sizeof(index_t);
    const index_t length = n.row.length < 8 * sector ? n.row.length : 8 * sector;
    for (index_t k = 0; k < length; k += sector) simt::prefetch(g.adj + n.row.begin + k);
  }
}

}  // namespace gsofa::orders::device

#endif
