// gpu_diagonal_blocks: symbolic LU of many small patterns in one launch, one warp per diagonal
// block of their direct sum. Rows of U and columns of L are bit sets.
//
// Source: Rose & Tarjan 1978; Eisenstat & Liu 1992. README.md has the rule and its proof.
//
// Blocks. A cut before row c is a place that no entry of A crosses. The rows between two cuts are a
// block; blocks that lie within one window of 32 rows are joined, since a direct sum of blocks is a
// block. gpu_bitmap_panels handles blocks of more than most_rows rows and blocks whose bits do not
// fit in memory_budget_mb: it receives the rows of these blocks under their own numbers, and only
// the diagonal of all other rows.
//
// Encoding. A block of n rows has W = ceil(n / 32) words per row. Its vertices have the positions
// from 2048 - 32 W, so that the last word of every row is word 63. The row at position p holds the
// words p / 32 .. 63 of U(p, >p), followed by those words of L(>p, p), one bit per position. The
// rows of a block are contiguous: 128 W (W + 1) bytes per block, about n^2 / 8.
//
// Lane l of a warp reads and writes only the words l and l + 32 of all rows, and each row is read
// once, by the step that eliminates it. A step therefore needs no barrier. It adds to later rows by
// atomic ORs whose results are not needed, except to the next row, which is in registers.
//
// Invariant: when step p begins, row p of U and column p of L are complete.
//
// Launches of a run: extents of 32 rows each, two for their scan, cuts [the host reads the cuts, a
// bit per row, and lists the blocks, largest first]; then for as many blocks as fit in the budget,
// usually all: bits set to zero, bits of A, elimination with counts, digests and supernodes; if
// requested, sorted rows, one warp per row.
//
// Cost. A block of a symmetric pattern takes n steps, each with one read of a row and one OR of it
// into another; without symmetry a step may have several ORs. Latency of a step: about one read of
// device memory. Work per step: about 150 instructions of a warp, 200 in the first n - 1024 steps.

#include "variants/blocks/gpu_diagonal_blocks.hpp"

#if defined(GSOFA_GPU)

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <memory>
#include <span>

#include "variants/device/batch_rows.hpp"
#include "variants/device/matrix_entries.hpp"
#include "variants/device/tile_scan.hpp"
#include "variants/support/counting.hpp"

namespace gsofa::gpu::blocks {

namespace {

constexpr unsigned row_words = 64;              // of the largest block
constexpr unsigned positions = 32 * row_words;  // one behind the last
constexpr unsigned half = positions / 2;        // words of lower positions are a lane's part 0
constexpr unsigned count_bits = 11;             // of a row count of L

/// Words of the rows at positions 0 .. p - 1.
constexpr std::uint32_t words_before(unsigned p) {
  const unsigned g = p / 32;
  return 32 * g * (2 * row_words + 1 - g) + 2 * (p % 32) * (row_words - g);
}

/// A block of consecutive rows.
struct block {
  offset_t words;  ///< where the row at position 0 would begin; negative in most blocks
  index_t begin;   ///< its first row
  index_t first;   ///< position of that row; -1: not for a warp
};

/// The blocks first_block .. last_block - 1, and where rows are found among all blocks.
struct blocks_view {
  const block* all;
  const std::uint32_t* cuts;  ///< bit i % 32 of word i / 32: a block begins at row i
  const std::uint32_t* rank;  ///< by word: blocks that begin before its rows
  std::uint32_t* bits;
  std::uint32_t first_block, last_block;

  GSOFA_DEVICE std::uint32_t block_of(index_t row) const {
    const index_t k = row / 32;
    const std::uint32_t begun = simt::load_constant(cuts + k) & ((2U << (row % 32)) - 1U);
    return simt::load_constant(rank + k) + simt::population(begun) - 1;
  }
};

/// First and last columns of the rows of each window of 32, and what a scan makes of them.
struct extents_view {
  const offset_t* row_ptr;
  const index_t* col_idx;
  index_t n;
  index_t windows;
  index_t* last;   ///< then: the last column of the rows of this window and all before
  index_t* first;  ///< then: the first column of the rows of this window and all behind

  GSOFA_DEVICE index_t first_of(index_t i) const { return i < n ? col_idx[row_ptr[i]] : max_index; }
  GSOFA_DEVICE index_t last_of(index_t i) const { return i < n ? col_idx[row_ptr[i + 1] - 1] : -1; }
};

/// Calls visit(window) for all windows, a warp for each.
template <class Visit>
GSOFA_DEVICE void for_each_window(index_t windows, Visit&& visit) {
  const offset_t warps = offset_t{simt::grid_size()} * (simt::block_size() / 32);
  const offset_t warp =
      offset_t{simt::block_index()} * (simt::block_size() / 32) + simt::thread_index() / 32;
  for (offset_t k = warp; k < windows; k += warps) visit(static_cast<index_t>(k));
}

GSOFA_KERNEL void extents_kernel(extents_view e) {
  for_each_window(e.windows, [&](index_t k) {
    const index_t i = k * 32 + static_cast<index_t>(lane_index());
    const std::uint32_t last = simt::max_of_warp(static_cast<std::uint32_t>(e.last_of(i) + 1));
    const std::uint32_t first = ~simt::max_of_warp(~static_cast<std::uint32_t>(e.first_of(i)));
    if (lane_index() == 0) {
      e.last[k] = static_cast<index_t>(last) - 1;
      e.first[k] = static_cast<index_t>(first);
    }
  });
}

/// Scans `last` forwards and `first` backwards, each in its place.
struct extents_scan {
  struct value {
    index_t last, first;
  };
  extents_view e;

  GSOFA_DEVICE static value identity() { return {-1, max_index}; }
  GSOFA_DEVICE static value combine(const value& a, const value& b) {
    return {a.last > b.last ? a.last : b.last, a.first < b.first ? a.first : b.first};
  }
  GSOFA_DEVICE offset_t count() const { return e.windows; }
  GSOFA_DEVICE value item(index_t k) const { return {e.last[k], e.first[e.windows - 1 - k]}; }
  GSOFA_DEVICE void emit(index_t k, const value& v) const {
    e.last[k] = v.last;
    e.first[e.windows - 1 - k] = v.first;
  }
};

/// No entry crosses the place before row c iff all columns of the rows before it are less than c
/// and none of the others is. Of the cuts of a window the first and the last are kept: rows
/// between them are blocks of this window alone, which become one; a block that leaves the window
/// begins at the last one and ends at the first one of a later window.
GSOFA_KERNEL void cuts_kernel(extents_view e, std::uint32_t* cuts) {
  simt::after_earlier_launches();
  for_each_window(e.windows, [&](index_t k) {
    const index_t i = k * 32 + static_cast<index_t>(lane_index());
    index_t last = e.last_of(i);    // of the rows of the window up to i
    index_t first = e.first_of(i);  // of the rows of the window from i on
    for (unsigned step = 1; step < 32; step *= 2) {
      const index_t before = simt::shuffle_up(last, step);
      const index_t behind = simt::shuffle_down(first, step);
      last = before > last ? before : last;
      first = behind < first ? behind : first;
    }
    index_t before = simt::shuffle_up(last, 1);
    if (lane_index() == 0) before = -1;
    const index_t earlier = k > 0 ? e.last[k - 1] : -1;
    const index_t later = k + 1 < e.windows ? e.first[k + 1] : max_index;
    const bool is_cut = i < e.n && before < i && earlier < i && first >= i && later >= i;
    const std::uint32_t all = simt::ballot(is_cut);
    if (lane_index() == 0) {
      cuts[k] = all == 0 ? 0 : (all & (0U - all)) | 1U << simt::highest_bit(std::uint64_t{all});
    }
  });
}

/// Sets the bits of A in the blocks of the view.
GSOFA_KERNEL void entries_kernel(matrix_view a, blocks_view v) {
  simt::after_earlier_launches();
  for_each_entry(a, [&](index_t i, index_t j) {
    if (i == j) return;
    const std::uint32_t number = v.block_of(i);
    if (number < v.first_block || number >= v.last_block) return;
    const block b = v.all[number];
    if (b.first < 0) return;
    const auto low = static_cast<unsigned>((i < j ? i : j) - b.begin + b.first);
    const auto high = static_cast<unsigned>((i < j ? j : i) - b.begin + b.first);
    const unsigned g = low / 32;
    const offset_t word =
        b.words + words_before(low) + (high / 32 - g) + (i < j ? 0 : row_words - g);
    simt::atomic_or(v.bits + word, std::uint32_t{1} << (high % 32));
  });
}

/// What is wanted of the rows.
struct results_view {
  index_t* l_counts;
  index_t* u_counts;
  unsigned long long* digests;  ///< null: not wanted
  unsigned char* is_start;      ///< null: supernodes are not wanted
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

class diagonal_blocks final : public variant {
 public:
  explicit diagonal_blocks(const block_tuning& tuning = {}) : tuning_(tuning) {}

  void prepare(const pattern_view& a, const run_settings& settings, run_context& context) override {
    a_ = a;
    settings_ = settings;
    rest_ = nullptr;
    const option_set& o = settings.options;
    budget_.set_limit(std::numeric_limits<offset_t>::max());
    bits_ = {};
    matrix_.upload(a, budget_);
    const std::int64_t megabytes = o.integer("memory_budget_mb");
    const offset_t limit = megabytes > 0 ? megabytes << 20 : current_limits().free_bytes / 4 * 3;
    budget_.set_limit(limit + budget_.used());
    run_settings of_rows = settings;
    of_rows.wants = settings.wants.without(want::pattern);  // sorted rows are found here
    rows_.prepare(a.n_rows, of_rows, budget_);
    const offset_t windows = (offset_t{a.n_rows} - 1) / 32 + 1;
    extents_ = {budget_, "cuts", 2 * windows};
    partial_ = {budget_, "cuts", threads_per_block};
    cuts_ = {budget_, "cuts", windows};
    rank_ = {budget_, "cuts", windows};
    // A window has two cuts at most; one more block ends the list.
    blocks_ = {budget_, "blocks", 2 * windows + 1};
    order_ = {budget_, "blocks", 2 * windows};
    control_ = {budget_, "control", 1};
    counters_ = {budget_, "control", 2};
    host_cuts_.resize(static_cast<std::size_t>(windows));
    host_rank_.resize(static_cast<std::size_t>(windows));
    host_blocks_.reserve(static_cast<std::size_t>(2 * windows + 1));
    in_order_.reserve(static_cast<std::size_t>(2 * windows));
    threads_ = static_cast<int>(o.integer("warps_per_block")) * 32;
    resident_ = std::max(1, resident_blocks(eliminate_kernel, threads_, 0));
    context.predicted_bytes["cuts"] = extents_.size() * 4;
    context.predicted_bytes["blocks"] = blocks_.size() * static_cast<offset_t>(sizeof(block));
  }

  void run(run_context& context) override {
    rest_ = nullptr;
    l_ = u_ = {};
    l_.n_rows = l_.n_cols = u_.n_rows = u_.n_cols = a_.n_rows;
    phases_.start(context, phase_id::schedule);
    rows_.start();
    fill_bytes(counters_.data(), 0, 2);
    batches_ = 0;
    find_cuts();
    list_blocks();
    const offset_t room = words_at_once();
    const auto all = static_cast<std::uint32_t>(host_blocks_.size() - 1);
    for (std::uint32_t begin = 0; begin < all;) {
      context.check_deadline(host_blocks_[begin].begin, a_.n_rows);
      const std::uint32_t end = place_blocks(begin, room);
      eliminate_blocks(begin, end, context);
      begin = end;
      if (begin < all) phases_.start(context, phase_id::schedule);
    }
    if (all == 0) phases_.finish(context);
    if (settings_.wants.has(want::pattern)) rows_.set_pattern(std::move(l_), std::move(u_));
    if (rest_rows_ > 0) run_rest(context);
    report(context);
  }

  result collect(want_set wants) override {
    result out = rows_.collect(wants);
    if (rest_ != nullptr) take_rest(wants, out);
    return out;
  }

 private:
  static std::uint32_t words_of(unsigned rows) {
    const unsigned first = first_position(rows);
    return words_before(first + rows) - words_before(first);
  }
  static unsigned first_position(unsigned rows) { return positions - (rows + 31) / 32 * 32; }
  [[nodiscard]] index_t rows_of(std::size_t k) const {
    return host_blocks_[k + 1].begin - host_blocks_[k].begin;
  }

  void find_cuts() {
    const auto windows = static_cast<index_t>(cuts_.size());
    const extents_view e{matrix_.row_ptr(), matrix_.col_idx(), a_.n_rows,
                         windows,           extents_.data(),   extents_.data() + windows};
    const int blocks = blocks_for(offset_t{windows} * 32);
    launch(extents_kernel, blocks, threads_per_block, 0, e);
    scan(extents_scan{e}, windows, partial_.data());
    launch_overlapping(cuts_kernel, blocks, threads_per_block, 0, e, cuts_.data());
    copy_to_host(host_cuts_.data(), static_cast<const std::uint32_t*>(cuts_.data()), windows);
  }

  // From the cuts all blocks, those of too many rows marked as the rest.
  void list_blocks() {
    const auto most = static_cast<index_t>(settings_.options.integer("most_rows"));
    host_blocks_.clear();
    for (std::size_t k = 0; k < host_cuts_.size(); ++k) {
      host_rank_[k] = static_cast<std::uint32_t>(host_blocks_.size());
      for (std::uint32_t cuts = host_cuts_[k]; cuts != 0; cuts &= cuts - 1) {
        host_blocks_.push_back({0, static_cast<index_t>(32 * k) + std::countr_zero(cuts), 0});
      }
    }
    host_blocks_.push_back({0, a_.n_rows, -1});
    const offset_t room = words_left();
    rest_rows_ = 0;
    rest_blocks_ = 0;
    for (std::size_t k = 0; k + 1 < host_blocks_.size(); ++k) {
      const index_t rows = rows_of(k);
      if (rows > most || words_of(static_cast<unsigned>(rows)) > room) {
        host_blocks_[k].first = -1;
        rest_rows_ += rows;
        ++rest_blocks_;
      } else {
        host_blocks_[k].first = static_cast<index_t>(first_position(static_cast<unsigned>(rows)));
      }
    }
    copy_to_device(rank_.data(), static_cast<const std::uint32_t*>(host_rank_.data()),
                   rank_.size());
  }

  // Words that the bits may take beside all else, the buffers of sorted rows included.
  [[nodiscard]] offset_t words_left() const {
    const offset_t left = budget_.limit() - budget_.used() + 4 * bits_.size();
    const offset_t buffers = settings_.wants.has(want::pattern) ? left / 4 : 0;
    return std::clamp<offset_t>((left - buffers) / 4, 0, tuning_.most_words);
  }

  // The same, no more than there is use for; allocates the bits.
  offset_t words_at_once() {
    offset_t needed = 0;
    for (std::size_t k = 0; k + 1 < host_blocks_.size(); ++k) {
      if (host_blocks_[k].first >= 0) needed += words_of(static_cast<unsigned>(rows_of(k)));
    }
    const offset_t room = std::min(needed, words_left());
    if (bits_.size() < room) {
      bits_ = {};
      bits_ = {budget_, "bits", room};
    }
    return room;
  }

  // Gives places to the blocks from `begin` on that fit together; returns the first that does not.
  // Sorts them, the largest first.
  std::uint32_t place_blocks(std::uint32_t begin, offset_t room) {
    std::array<std::uint32_t, row_words + 1> by_words{};
    const auto words = [&](std::uint32_t k) { return (rows_of(k) + 31) / 32; };
    offset_t taken = 0;
    std::uint32_t end = begin;
    for (; end + 1 < host_blocks_.size(); ++end) {
      block& b = host_blocks_[end];
      if (b.first < 0) continue;
      const offset_t needed = words_of(static_cast<unsigned>(rows_of(end)));
      if (taken + needed > room) break;
      b.words = taken - words_before(static_cast<unsigned>(b.first));
      taken += needed;
      ++by_words[at(words(end))];
    }
    words_taken_ = taken;
    std::array<std::uint32_t, row_words + 1> place{};
    for (std::size_t w = row_words; w > 0; --w) place[w - 1] = place[w] + by_words[w];
    in_order_.resize(place[0]);
    for (std::uint32_t k = begin; k < end; ++k) {
      if (host_blocks_[k].first >= 0) in_order_[place[at(words(k))]++] = k;
    }
    return end;
  }

  void eliminate_blocks(std::uint32_t begin, std::uint32_t end, run_context& context) {
    ++batches_;
    const auto count = static_cast<std::uint32_t>(in_order_.size());
    const blocks_view v{blocks_.data(), cuts_.data(), rank_.data(), bits_.data(), begin, end};
    // Sorted rows are looked up in the blocks, those left to the panels too.
    copy_to_device(blocks_.data(), static_cast<const block*>(host_blocks_.data()),
                   static_cast<offset_t>(host_blocks_.size()));
    if (count > 0) {
      copy_to_device(order_.data(), static_cast<const std::uint32_t*>(in_order_.data()),
                     offset_t{count});
      phases_.mark(context, phase_id::init);
      fill_bytes(bits_.data(), 0, words_taken_);
      fill_bytes(control_.data(), 0, 1);
      launch_on_entries(
          entries_kernel,
          entries_of(matrix_.row_ptr(), matrix_.col_idx(), a_.n_rows, matrix_.rows().nnz), v);
      phases_.mark(context, phase_id::traverse);
      const int warps = threads_ / 32;
      const auto needed = static_cast<int>((count - 1) / static_cast<std::uint32_t>(warps) + 1);
      launch(eliminate_kernel, std::min(resident_, needed), threads_, 0, v,
             static_cast<const std::uint32_t*>(order_.data()), count, control_.data(), wanted());
    }
    phases_.finish(context);
    if (settings_.wants.has(want::pattern)) {
      sort_rows(v, host_blocks_[begin].begin, host_blocks_[end].begin, context);
    }
  }

  [[nodiscard]] results_view wanted() const {
    return {reinterpret_cast<index_t*>(rows_.l_counts()),
            reinterpret_cast<index_t*>(rows_.u_counts()),
            reinterpret_cast<unsigned long long*>(rows_.digests()),
            rows_.supernode_starts(),
            settings_.chunk_size,
            settings_.wants.has(want::pattern),
            counters_.data()};
  }

  // Appends the sorted rows begin .. end - 1, whose bits are those of the view, to l_ and u_.
  void sort_rows(const blocks_view& v, index_t begin, index_t end, run_context& context) {
    const auto rows = static_cast<std::size_t>(end - begin);
    std::vector<index_t> l(rows), u(rows);
    copy_to_host(l.data(), wanted().l_counts + begin, end - begin);
    copy_to_host(u.data(), wanted().u_counts + begin, end - begin);
    offset_t total = 0;
    for (std::size_t k = 0; k < rows; ++k) total += l[k] + u[k];
    // A row of a block has fewer than `positions` entries; 12 bytes hold an entry and an offset.
    const offset_t left = (budget_.limit() - budget_.used()) / 12;
    if (left < 1) throw budget_error("memory budget: no room for a sorted row");
    const offset_t room = std::clamp<offset_t>(total, 1, std::min(left, tuning_.most_entries));
    const offset_t most = std::min<offset_t>(static_cast<offset_t>(rows), left);
    const device_array<index_t> entries(budget_, "row_buffer", room);
    const device_array<offset_t> offsets(budget_, "row_buffer", most);
    std::vector<offset_t> places;
    std::vector<index_t> found;
    for (std::size_t from = 0; from < rows;) {
      places.clear();
      offset_t taken = 0;
      std::size_t to = from;
      while (to < rows && static_cast<offset_t>(places.size()) < most &&
             taken + l[to] + u[to] <= room) {
        places.push_back(taken);
        taken += l[to] + u[to];
        ++to;
      }
      if (to == from) throw budget_error("memory budget: no room for a sorted row");
      context.check_deadline();
      {
        const phase timed(context, phase_id::expand);
        const auto count = static_cast<index_t>(to - from);
        copy_to_device(offsets.data(), static_cast<const offset_t*>(places.data()), count);
        launch(sorted_rows_kernel, blocks_for(offset_t{count} * 32), threads_per_block, 0, v,
               begin + static_cast<index_t>(from), count,
               static_cast<const offset_t*>(offsets.data()), entries.data());
        synchronize();
      }
      const phase timed(context, phase_id::d2h);
      found.resize(static_cast<std::size_t>(taken));
      copy_to_host(found.data(), static_cast<const index_t*>(entries.data()), taken);
      append({l.data() + from, to - from}, {u.data() + from, to - from}, found);
      from = to;
    }
  }

  void append(std::span<const index_t> l, std::span<const index_t> u,
              const std::vector<index_t>& found) {
    auto from = found.begin();
    for (std::size_t k = 0; k < l.size(); ++k) {
      l_.col_idx.insert(l_.col_idx.end(), from, from + l[k]);
      u_.col_idx.insert(u_.col_idx.end(), from + l[k], from + l[k] + u[k]);
      from += l[k] + u[k];
      l_.row_ptr.push_back(static_cast<offset_t>(l_.col_idx.size()));
      u_.row_ptr.push_back(static_cast<offset_t>(u_.col_idx.size()));
    }
  }

  // Calls visit(row) for the rows of the blocks that are not for warps.
  template <class Visit>
  void for_each_rest_row(Visit&& visit) const {
    for (std::size_t k = 0; k + 1 < host_blocks_.size(); ++k) {
      if (host_blocks_[k].first >= 0) continue;
      for (index_t i = host_blocks_[k].begin; i < host_blocks_[k + 1].begin; ++i) visit(i);
    }
  }

  // Rows of the rest with the numbers that they have in A, of the others the diagonal.
  void run_rest(run_context& context) {
    const variant_info& by_panels = find_variant("gpu_bitmap_panels");
    bits_ = {};
    pattern_view of_rest = a_;
    if (rest_rows_ < a_.n_rows) {
      std::vector<char> is_rest(static_cast<std::size_t>(a_.n_rows), 0);
      for_each_rest_row([&](index_t i) { is_rest[at(i)] = 1; });
      masked_ = {};
      masked_.n_rows = masked_.n_cols = a_.n_rows;
      for (index_t i = 0; i < a_.n_rows; ++i) {
        if (is_rest[at(i)] != 0) {
          masked_.col_idx.insert(masked_.col_idx.end(), a_.row(i).begin(), a_.row(i).end());
        } else {
          masked_.col_idx.push_back(i);
        }
        masked_.row_ptr.push_back(static_cast<offset_t>(masked_.col_idx.size()));
      }
      of_rest = masked_;
    }
    run_settings settings = settings_;
    settings.options = option_set(by_panels.options);
    const offset_t megabytes = (budget_.limit() - budget_.used()) >> 20;
    settings.options.set(by_panels.options, "memory_budget_mb",
                         std::to_string(std::clamp<offset_t>(megabytes, 1, 1 << 20)));
    settings.runs_once = true;
    rest_ = by_panels.create();
    {
      const phase timed(context, phase_id::init);
      rest_->prepare(of_rest, settings, context);
    }
    rest_->run(context);
  }

  // Puts the rows of the rest in their places.
  void take_rest(want_set wants, result& out) {
    result rest = rest_->collect(wants | want::counts);
    const auto put = [](auto& to, const auto& from, index_t i) { to[at(i)] = from[at(i)]; };
    std::vector<char> is_rest(static_cast<std::size_t>(a_.n_rows), 0);
    for_each_rest_row([&](index_t i) {
      is_rest[at(i)] = 1;
      out.nnz_l += rest.l_row_counts[at(i)];
      out.nnz_u += rest.u_row_counts[at(i)];
      if (wants.has(want::counts)) {
        put(out.l_row_counts, rest.l_row_counts, i);
        put(out.u_row_counts, rest.u_row_counts, i);
      }
      if (wants.has(want::digest)) {
        put(out.row_digests, rest.row_digests, i);
        out.digest += rest.row_digests[at(i)];
      }
    });
    if (wants.has(want::supernodes)) {
      for (const index_t i : rest.supernode_starts) {
        if (is_rest[at(i)] != 0) out.supernode_starts.push_back(i);
      }
      std::ranges::sort(out.supernode_starts);
    }
    if (!wants.has(want::pattern)) return;
    out.l = merged(is_rest, rest.l, out.l);
    out.u = merged(is_rest, rest.u, out.u);
  }

  static pattern merged(const std::vector<char>& is_rest, const pattern& rest,
                        const pattern& others) {
    pattern out;
    out.n_rows = out.n_cols = rest.n_rows;
    for (index_t i = 0; i < out.n_rows; ++i) {
      const auto row = is_rest[at(i)] != 0 ? rest.row(i) : others.row(i);
      out.col_idx.insert(out.col_idx.end(), row.begin(), row.end());
      out.row_ptr.push_back(static_cast<offset_t>(out.col_idx.size()));
    }
    return out;
  }

  void report(run_context& context) {
    const offset_t of_rest = rest_ != nullptr ? context.device_peak_bytes : 0;
    context.device_peak_bytes = std::max(budget_.peak(), budget_.used() + of_rest);
    if (rest_ == nullptr) context.device_bytes.clear();
    for (const auto& [structure, bytes] : budget_.by_structure()) {
      context.device_bytes[structure] += bytes;
    }
    context.derived["blocks"] = static_cast<std::int64_t>(host_blocks_.size() - 1);
    context.derived["batches"] = batches_;
    context.derived["blocks_for_panels"] = rest_blocks_;
    if constexpr (detail::counting) {
      unsigned long long totals[2] = {};
      copy_to_host(totals, static_cast<const unsigned long long*>(counters_.data()), 2);
      context.counters.totals["rows_read"] = static_cast<std::int64_t>(totals[0]);
      context.counters.totals["rows_updated"] = static_cast<std::int64_t>(totals[1]);
    }
  }

  block_tuning tuning_;
  pattern_view a_;
  run_settings settings_;
  memory_budget budget_;
  device_matrix matrix_;
  row_results rows_;
  device_phases phases_;
  device_array<index_t> extents_;
  device_array<extents_scan::value> partial_;
  device_array<std::uint32_t> cuts_, rank_, order_, control_, bits_;
  device_array<block> blocks_;
  device_array<unsigned long long> counters_;
  pinned_vector<std::uint32_t> host_cuts_, host_rank_, in_order_;
  pinned_vector<block> host_blocks_;
  offset_t words_taken_ = 0;
  offset_t batches_ = 0, rest_rows_ = 0, rest_blocks_ = 0;
  int threads_ = 0, resident_ = 0;
  pattern l_, u_;
  pattern masked_;
  std::unique_ptr<variant> rest_;
};

}  // namespace

}  // namespace gsofa::gpu::blocks

namespace gsofa::gpu {

std::unique_ptr<variant> make_diagonal_blocks(const block_tuning& tuning) {
  return std::make_unique<blocks::diagonal_blocks>(tuning);
}

}  // namespace gsofa::gpu

#endif

GSOFA_REGISTER_VARIANT({
    .name = "gpu_diagonal_blocks",
    .device = "gpu",
    .summary = "elimination of many small diagonal blocks, a warp for each, rows as bit sets",
    .citation = "Rose & Tarjan 1978; Eisenstat & Liu 1992",
    .options = {{.name = "most_rows",
                 .default_value = std::int64_t{2048},
                 .help =
                     "rows of a block that a warp takes at most; gpu_bitmap_panels has the rest",
                 .minimum = 1,
                 .maximum = 2048,
                 .tested = {"2048", "2048", "33", "2048", "1"}},
                {.name = "warps_per_block",
                 .default_value = std::int64_t{8},
                 .help = "warps of a thread block",
                 .minimum = 1,
                 .maximum = 32,
                 .tested = {"1", "8", "2", "5"}},
                gsofa::gpu::memory_budget_option()},
    .unavailable = gsofa::gpu::unavailable,
    .create = GSOFA_GPU_CREATE(blocks::diagonal_blocks),
});
