#pragma once

/// Counts, digests, supernodes and sorted rows from the fill stamps of a batch of sources: the
/// common part of all GPU variants that find rows by marking vertices.

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "common/device_rows.hpp"
#include "common/digest.hpp"
#include "common/variant.hpp"
#include "variants/device/runtime.hpp"
#include "variants/support/counting.hpp"

namespace gsofa::gpu {

#if defined(GSOFA_GPU)

/// Fill of the sources begin .. begin + sources - 1: fill[slot * n + v] == src + 1 iff (src, v) is
/// in L+U.
struct stamped_rows {
  const std::uint32_t* fill;
  index_t n;
  index_t begin;
  index_t sources;

  GSOFA_DEVICE bool has(index_t slot, index_t v) const {
    return fill[static_cast<std::size_t>(slot) * static_cast<std::size_t>(n) +
                static_cast<std::size_t>(v)] == static_cast<std::uint32_t>(begin + slot) + 1;
  }
};

/// Rows as bits: bit v of the row of `slot` is set iff (begin + slot, v) is in L+U.
struct bitmap_rows {
  const std::uint32_t* bits;
  std::size_t words;  // of a row
  index_t n;
  index_t begin;
  index_t sources;

  GSOFA_DEVICE bool has(index_t slot, index_t v) const {
    const auto k = static_cast<std::size_t>(static_cast<std::uint32_t>(v));
    return (bits[static_cast<std::size_t>(slot) * words + k / 32] >> (k % 32) & 1U) != 0;
  }
  /// The bits of vertices 32 k .. 32 k + 31.
  GSOFA_DEVICE std::uint32_t word(index_t slot, std::size_t k) const {
    return bits[static_cast<std::size_t>(slot) * words + k];
  }
};

GSOFA_DEVICE unsigned lane_index() { return simt::thread_index() & 31U; }
GSOFA_DEVICE unsigned lower_lanes() { return (1U << lane_index()) - 1U; }

/// Source of a slot: rows.source(slot) if sources are listed; otherwise sources are consecutive.
template <class Rows>
GSOFA_DEVICE index_t source_of(const Rows& rows, index_t slot) {
  if constexpr (requires { rows.source(slot); }) {
    return rows.source(slot);
  } else {
    return rows.begin + slot;
  }
}

/// One block per source computes the digest of its row; `digests` is indexed by source.
template <class Rows>
GSOFA_KERNEL void digest_kernel(Rows rows, std::uint64_t* digests) {
  auto* const partial = simt::shared_memory<std::uint64_t>();
  const unsigned warps = simt::block_size() / 32;
  for (unsigned slot = simt::block_index(); slot < static_cast<unsigned>(rows.sources);
       slot += simt::grid_size()) {
    const index_t src = source_of(rows, static_cast<index_t>(slot));
    std::uint64_t sum = 0;
    if constexpr (requires { rows.word(index_t{0}, std::size_t{0}); }) {
      for (std::size_t k = simt::thread_index(); k < rows.words; k += simt::block_size()) {
        for (std::uint32_t bits = rows.word(static_cast<index_t>(slot), k); bits != 0;
             bits &= bits - 1) {
          sum += entry_hash(src, static_cast<index_t>(k * 32 + simt::lowest_bit(bits)));
        }
      }
    } else {
      for (index_t v = static_cast<index_t>(simt::thread_index()); v < rows.n;
           v += static_cast<index_t>(simt::block_size())) {
        if (rows.has(static_cast<index_t>(slot), v)) sum += entry_hash(src, v);
      }
    }
    for (unsigned step = 16; step > 0; step /= 2) sum += simt::shuffle_xor(sum, step);
    if (lane_index() == 0) partial[simt::thread_index() / 32] = sum;
    simt::sync_block();
    if (simt::thread_index() == 0) {
      std::uint64_t total = 0;
      for (unsigned w = 0; w < warps; ++w) total += partial[w];
      digests[src] = total;
    }
    simt::sync_block();
  }
}

/// One block per source of [first, first + count) writes its columns, ascending, to
/// out[offsets[slot - first]] and the places after it.
template <class Rows>
GSOFA_KERNEL void rows_kernel(Rows rows, index_t first, index_t count, const offset_t* offsets,
                              index_t* out) {
  auto* const warp_sums = simt::shared_memory<std::uint32_t>();
  const unsigned warps = simt::block_size() / 32;
  const unsigned warp = simt::thread_index() / 32;
  for (unsigned k = simt::block_index(); k < static_cast<unsigned>(count); k += simt::grid_size()) {
    const index_t slot = first + static_cast<index_t>(k);
    offset_t written = offsets[k];
    for (offset_t tile = 0; tile < rows.n; tile += simt::block_size()) {
      const offset_t v = tile + simt::thread_index();
      const bool hit = v < rows.n && rows.has(slot, static_cast<index_t>(v));
      const unsigned hits = simt::ballot(hit);
      if (lane_index() == 0) warp_sums[warp] = simt::population(hits);
      simt::sync_block();
      offset_t before = 0;
      offset_t all = 0;
      for (unsigned w = 0; w < warps; ++w) {
        if (w < warp) before += warp_sums[w];
        all += warp_sums[w];
      }
      if (hit) {
        out[written + before + simt::population(hits & lower_lanes())] = static_cast<index_t>(v);
      }
      written += all;
      simt::sync_block();
    }
  }
}

/// The paper's two-phase supernode detection (Section 5, Figure 8) for the rows of a batch; the
/// calling block processes the `number`-th piece of `piece` rows. Phase I: a bitmap of the rows
/// whose U count is one less than their predecessor's, and a queue of all other rows, the leaders,
/// both in shared memory. Phase II: one thread per leader follows the set bits and tests L(s, r);
/// if the test fails, s leads a new supernode. A walk may leave its piece (it recomputes the bits
/// beyond) and ends with the chunk. carry_in: start of the supernode that contains the last row of
/// the previous batch; the walk that reaches the end of this batch stores the start of its own
/// supernode in carry_out. u_counts and is_start are indexed by row; each is an array or an object
/// that indexes like an array. is_start is zero before the call.
template <class Rows, class Counts, class Starts>
GSOFA_DEVICE void detect_supernodes(const Rows& rows, const Counts& u_counts, index_t chunk,
                                    unsigned piece, unsigned number, const index_t* carry_in,
                                    index_t* carry_out, const Starts& is_start) {
  auto* const bitmap = simt::shared_memory<std::uint32_t>();
  auto* const queue = bitmap + (piece + 31) / 32;
  std::uint32_t* const leaders = queue + piece;
  const index_t begin = rows.begin + static_cast<index_t>(number * piece);
  const index_t end_of_batch = rows.begin + rows.sources;
  const index_t rest = end_of_batch - begin;
  const unsigned size = rest < static_cast<index_t>(piece) ? static_cast<unsigned>(rest) : piece;
  auto follows = [&](index_t s) {
    return s > 0 && (chunk == 0 || s % chunk != 0) && u_counts[s] == u_counts[s - 1] - 1;
  };
  for (unsigned w = simt::thread_index(); w < (piece + 31) / 32; w += simt::block_size()) {
    bitmap[w] = 0;
  }
  if (simt::thread_index() == 0) *leaders = 0;
  simt::sync_block();
  for (unsigned k = simt::thread_index(); k < size; k += simt::block_size()) {
    if (follows(begin + static_cast<index_t>(k))) {
      simt::atomic_or(&bitmap[k / 32], std::uint32_t{1} << (k % 32));
    } else {
      queue[simt::atomic_add(leaders, std::uint32_t{1})] = k;
    }
  }
  simt::sync_block();
  auto walk = [&](index_t r, index_t s) {
    for (; s < end_of_batch; ++s) {
      const auto k = static_cast<unsigned>(s - begin);
      const bool set = k < size ? (bitmap[k / 32] >> (k % 32) & 1U) != 0 : follows(s);
      if (!set) return;
      if (!rows.has(s - rows.begin, r)) {
        is_start[s] = 1;
        r = s;
      }
    }
    *carry_out = r;
  };
  const unsigned count = *leaders;
  for (unsigned q = simt::thread_index(); q < count; q += simt::block_size()) {
    const index_t leader = begin + static_cast<index_t>(queue[q]);
    is_start[leader] = 1;
    walk(leader, leader + 1);
  }
  // Thread 0 of the block of the first piece continues the supernode that reaches into the batch.
  if (begin == rows.begin && simt::thread_index() == 0 && size > 0 && (bitmap[0] & 1U) != 0) {
    walk(*carry_in, begin);
  }
}

/// Shared memory of detect_supernodes, bytes.
constexpr std::size_t supernode_shared_bytes(unsigned piece) {
  return ((piece + 31) / 32 + piece + 1) * 4;
}

/// detect_supernodes for a batch, one block per piece.
template <class Rows>
GSOFA_KERNEL void supernode_kernel(Rows rows, const index_t* u_counts, index_t chunk,
                                   unsigned piece, const index_t* carry_in, index_t* carry_out,
                                   unsigned char* is_start) {
  detect_supernodes(rows, u_counts, chunk, piece, simt::block_index(), carry_in, carry_out,
                    is_start);
}

/// Per-row results on the device, filled batch by batch, and the rows themselves on the host.
class row_results {
 public:
  void prepare(index_t n, const run_settings& settings, memory_budget& budget) {
    n_ = n;
    wants_ = settings.wants;
    chunk_ = settings.chunk_size;
    const bool digests = wants_.has(want::digest);
    const bool starts = wants_.has(want::supernodes);
    // One array, which one launch clears, holds digests, counts of L and of U, two words, starts.
    const offset_t bytes = offset_t{n} * (8 + (digests ? 8 : 0) + (starts ? 1 : 0)) + 8;
    zeroed_ = {budget, "row_results", (bytes + 3) / 4 * 4};
    digests_ = digests ? reinterpret_cast<std::uint64_t*>(zeroed_.data()) : nullptr;
    l_counts_ = reinterpret_cast<index_t*>(zeroed_.data() + (digests ? offset_t{n} * 8 : 0));
    u_counts_ = l_counts_ + n;
    carry_ = u_counts_ + n;
    is_start_ = starts ? reinterpret_cast<unsigned char*>(carry_ + 2) : nullptr;
    if (wants_.has(want::pattern)) {
      // One row always fits; more make fewer copies.
      row_entries_ = std::max<offset_t>(n, std::min<offset_t>(offset_t{1} << 24, offset_t{n} * 64));
      entries_ = {budget, "row_buffer", row_entries_};
      offsets_ = {budget, "row_buffer", max_rows};
    }
  }

  [[nodiscard]] std::uint32_t* l_counts() const {
    return reinterpret_cast<std::uint32_t*>(l_counts_);
  }
  [[nodiscard]] std::uint32_t* u_counts() const {
    return reinterpret_cast<std::uint32_t*>(u_counts_);
  }

  /// Clears the counts on the device, which is asynchronous, and drops the results of the last run.
  void start() {
    fill_bytes(zeroed_.data(), 0, zeroed_.size());
    batch_ = 0;
    l_ = u_ = pattern{};
    l_.n_rows = l_.n_cols = u_.n_rows = u_.n_cols = n_;
  }

  /// An engine that finds supernodes itself marks their first rows in this array; start() zeroes
  /// it.
  [[nodiscard]] unsigned char* supernode_starts() const { return is_start_; }
  /// An engine that computes digests itself stores them in this array; start() zeroes it. Null if
  /// digests are not requested.
  [[nodiscard]] std::uint64_t* digests() const { return digests_; }

  /// Takes over a finished batch; batches come in ascending order and their counts are set.
  /// `has_digests` and `has_pattern`: the engine delivers these parts itself, and they are not
  /// computed here.
  template <class Rows>
  void add(const Rows& rows, run_context& context, bool has_digests = false,
           bool has_pattern = false) {
    if (wants_.has(want::digest) && !has_digests) {
      const phase timed(context, phase_id::compact);
      launch(digest_kernel<Rows>, std::min(rows.sources, 1 << 16), threads, threads / 32 * 8, rows,
             digests_);
      synchronize();
    }
    if (wants_.has(want::supernodes)) {
      const phase timed(context, phase_id::supernode);
      find_supernodes(rows);
      synchronize();
    }
    if (wants_.has(want::pattern) && !has_pattern) copy_rows(rows, context);
    ++batch_;
  }

  /// Finds the supernodes that begin in a finished batch, if requested; asynchronous.
  template <class Rows>
  void find_supernodes(const Rows& rows) {
    if (!wants_.has(want::supernodes)) return;
    const unsigned piece = chunk_ == 0 || chunk_ > 1024 ? 1024U : static_cast<unsigned>(chunk_);
    const int blocks = static_cast<int>((static_cast<unsigned>(rows.sources) - 1) / piece + 1);
    launch(supernode_kernel<Rows>, blocks, 128, supernode_shared_bytes(piece), rows,
           static_cast<const index_t*>(u_counts_), chunk_, piece,
           static_cast<const index_t*>(carry_ + batch_ % 2), carry_ + (batch_ + 1) % 2, is_start_);
  }

  /// Takes rows that an engine delivers itself.
  void set_pattern(pattern l, pattern u) {
    l_ = std::move(l);
    u_ = std::move(u);
  }

  /// Returns the result. The pattern moves to the caller: a second call returns none.
  result collect(want_set wants) {
    result out;
    std::vector<index_t> l(static_cast<std::size_t>(n_));
    std::vector<index_t> u(static_cast<std::size_t>(n_));
    copy_to_host(l.data(), l_counts_, n_);
    copy_to_host(u.data(), u_counts_, n_);
    for (const index_t c : l) out.nnz_l += c;
    for (const index_t c : u) out.nnz_u += c;
    if (wants.has(want::counts)) {
      out.l_row_counts = std::move(l);
      out.u_row_counts = std::move(u);
    }
    if (wants.has(want::digest)) {
      out.row_digests.resize(static_cast<std::size_t>(n_));
      copy_to_host(out.row_digests.data(), digests_, n_);
      for (const std::uint64_t d : out.row_digests) out.digest += d;
    }
    if (wants.has(want::supernodes)) {
      std::vector<unsigned char> starts(static_cast<std::size_t>(n_));
      copy_to_host(starts.data(), is_start_, n_);
      for (index_t i = 0; i < n_; ++i) {
        if (starts[static_cast<std::size_t>(i)] != 0) out.supernode_starts.push_back(i);
      }
    }
    if (wants.has(want::pattern)) {
      out.l = std::exchange(l_, {});
      out.u = std::exchange(u_, {});
    }
    return out;
  }

 private:
  static constexpr int threads = 256;
  static constexpr offset_t max_rows = 1 << 16;

  // Copies the sorted rows to the host through a buffer of bounded size.
  template <class Rows>
  void copy_rows(const Rows& rows, run_context& context) {
    const auto sources = static_cast<std::size_t>(rows.sources);
    std::vector<index_t> l(sources), u(sources), buffer;
    {
      const phase timed(context, phase_id::d2h);
      copy_to_host(l.data(), l_counts_ + rows.begin, rows.sources);
      copy_to_host(u.data(), u_counts_ + rows.begin, rows.sources);
    }
    std::size_t slot = 0;
    while (slot < sources) {
      std::vector<offset_t> offsets;
      offset_t total = 0;
      std::size_t last = slot;
      while (last < sources && static_cast<offset_t>(offsets.size()) < max_rows &&
             total + l[last] + u[last] <= row_entries_) {
        offsets.push_back(total);
        total += l[last] + u[last];
        ++last;
      }
      {
        const phase timed(context, phase_id::compact);
        copy_to_device(offsets_.data(), offsets.data(), static_cast<offset_t>(offsets.size()));
        launch(rows_kernel<Rows>, static_cast<int>(offsets.size()), threads, threads / 32 * 4, rows,
               static_cast<index_t>(slot), static_cast<index_t>(last - slot),
               static_cast<const offset_t*>(offsets_.data()), entries_.data());
        synchronize();
      }
      const phase timed(context, phase_id::d2h);
      buffer.resize(static_cast<std::size_t>(total));
      copy_to_host(buffer.data(), entries_.data(), total);
      auto from = buffer.begin();
      for (std::size_t k = slot; k < last; ++k) {
        l_.col_idx.insert(l_.col_idx.end(), from, from + l[k]);
        l_.row_ptr.push_back(static_cast<offset_t>(l_.col_idx.size()));
        u_.col_idx.insert(u_.col_idx.end(), from + l[k], from + l[k] + u[k]);
        u_.row_ptr.push_back(static_cast<offset_t>(u_.col_idx.size()));
        from += l[k] + u[k];
      }
      slot = last;
    }
  }

  index_t n_ = 0;
  want_set wants_;
  index_t chunk_ = 0;
  offset_t row_entries_ = 0;
  unsigned batch_ = 0;
  device_array<unsigned char> zeroed_;  // holds the next five
  std::uint64_t* digests_ = nullptr;
  index_t* l_counts_ = nullptr;
  index_t* u_counts_ = nullptr;
  index_t* carry_ = nullptr;
  unsigned char* is_start_ = nullptr;
  device_array<index_t> entries_;
  device_array<offset_t> offsets_;
  pattern l_, u_;
};

/// The matrix on the device: a copy, or the caller's arrays.
class device_matrix {
 public:
  void upload(const pattern_view& a, memory_budget& budget) {
    row_ptr_ = {budget, "matrix", static_cast<offset_t>(a.row_ptr.size())};
    col_idx_ = {budget, "matrix", static_cast<offset_t>(a.col_idx.size())};
    copy_to_device(row_ptr_.data(), a.row_ptr.data(), row_ptr_.size());
    copy_to_device(col_idx_.data(), a.col_idx.data(), col_idx_.size());
    rows_ = {a.n_rows, a.nnz(), row_ptr_.data(), col_idx_.data()};
  }
  void refer_to(const device_rows& a) {
    row_ptr_ = {};
    col_idx_ = {};
    rows_ = a;
  }
  [[nodiscard]] const device_rows& rows() const { return rows_; }
  [[nodiscard]] const offset_t* row_ptr() const { return rows_.row_ptr; }
  [[nodiscard]] const index_t* col_idx() const { return rows_.col_idx; }
  /// Bytes that this object takes from the budget.
  [[nodiscard]] offset_t bytes() const {
    return row_ptr_.size() * static_cast<offset_t>(sizeof(offset_t)) +
           col_idx_.size() * static_cast<offset_t>(sizeof(index_t));
  }

 private:
  device_rows rows_;
  device_array<offset_t> row_ptr_;
  device_array<index_t> col_idx_;
};

/// Reports the memory of a run and, in the counting build, its work: the edges traversed and the
/// counter named `second`.
inline void report_search(run_context& context, const memory_budget& budget,
                          [[maybe_unused]] const unsigned long long* work,
                          [[maybe_unused]] const char* second) {
  context.device_peak_bytes = budget.peak();
  context.device_bytes = budget.by_structure();
  if constexpr (detail::counting) {
    unsigned long long totals[2] = {};
    copy_to_host(totals, work, 2);
    context.counters.totals["edges_traversed"] = static_cast<std::int64_t>(totals[0]);
    context.counters.totals[second] = static_cast<std::int64_t>(totals[1]);
  }
}

#endif

}  // namespace gsofa::gpu
