#pragma once

/// Scans in two launches with any associative operation on items computed in place, and launches of
/// one thread per item.

#include <algorithm>

#include "variants/device/runtime.hpp"

namespace gsofa::gpu {

#if defined(GSOFA_GPU)

// On the emulator small patterns must have several tiles, and fibers cost time.
#if defined(__CUDACC__)
inline constexpr int threads_per_block = 256;
#else
inline constexpr int threads_per_block = 32;
#endif

/// Blocks for loops over grid_items(items).
inline int blocks_for(offset_t items) {
  const offset_t most = offset_t{multiprocessors()} * 16;
  return static_cast<int>(std::clamp<offset_t>((items - 1) / threads_per_block + 1, 1, most));
}

/// The numbers from 0 to count - 1, divided among the threads of the grid:
/// `for (const offset_t k : grid_items(count))`.
class grid_items {
 public:
  struct end_of_items {
    offset_t count;
  };
  struct iterator {
    offset_t item, step;

    GSOFA_DEVICE offset_t operator*() const { return item; }
    GSOFA_DEVICE void operator++() { item += step; }
    GSOFA_DEVICE bool operator!=(const end_of_items& end) const { return item < end.count; }
  };

  GSOFA_DEVICE explicit grid_items(offset_t count) : count_(count) {}
  GSOFA_DEVICE iterator begin() const {
    return {offset_t{simt::block_index()} * simt::block_size() + simt::thread_index(),
            offset_t{simt::grid_size()} * simt::block_size()};
  }
  GSOFA_DEVICE end_of_items end() const { return {count_}; }

 private:
  offset_t count_;
};

// An operation Op has a trivial type `value`, identity(), combine(earlier, later), the number of
// items count(), item(k), and emit(k, inclusive).

/// Inclusive scan of one value per thread, in order; `values` has two places per thread.
template <class Op>
GSOFA_DEVICE typename Op::value block_scan(const Op& op, typename Op::value mine,
                                           typename Op::value* values) {
  const unsigned thread = simt::thread_index();
  const unsigned threads = simt::block_size();
  unsigned side = 0;
  values[thread] = mine;
  simt::sync_block();
  for (unsigned step = 1; step < threads; step *= 2, side ^= 1U) {
    const typename Op::value* const from = values + side * threads;
    if (thread >= step) mine = op.combine(from[thread - step], mine);
    values[(side ^ 1U) * threads + thread] = mine;
    simt::sync_block();
  }
  return mine;
}

/// Shared memory of the scans.
template <class Op>
constexpr std::size_t scan_bytes(int threads) {
  return 2 * static_cast<std::size_t>(threads) * sizeof(typename Op::value);
}

/// Scans items begin .. end - 1, starting from `carry`; each thread takes PerThread items at a
/// time. Emits the results if Emit. Returns the total.
template <class Op, bool Emit, int PerThread>
GSOFA_DEVICE typename Op::value scan_items(const Op& op, offset_t begin, offset_t end,
                                           typename Op::value carry) {
  auto* const values = simt::shared_memory<typename Op::value>();
  const unsigned threads = simt::block_size();
  const unsigned thread = simt::thread_index();
  // After the scan the values of all threads are in one of the two halves.
  unsigned side = 0;
  for (unsigned step = 1; step < threads; step *= 2) side ^= 1U;
  const typename Op::value* const scanned = values + side * threads;
  for (offset_t base = begin; base < end; base += offset_t{PerThread} * threads) {
    const offset_t first = base + offset_t{PerThread} * thread;
    typename Op::value items[PerThread];
    auto mine = Op::identity();
    GSOFA_UNROLL for (int q = 0; q < PerThread; ++q) {
      const offset_t k = first + q;
      items[q] = k < end ? op.item(static_cast<index_t>(k)) : Op::identity();
      mine = op.combine(mine, items[q]);
    }
    block_scan(op, mine, values);
    if constexpr (Emit) {
      auto upto = thread == 0 ? carry : op.combine(carry, scanned[thread - 1]);
      GSOFA_UNROLL for (int q = 0; q < PerThread; ++q) {
        upto = op.combine(upto, items[q]);
        if (first + q < end) op.emit(static_cast<index_t>(first + q), upto);
      }
    }
    carry = op.combine(carry, scanned[threads - 1]);
    simt::sync_block();
  }
  return carry;
}

/// Scans one tile of consecutive items. If a tile has more items than the block has threads, each
/// thread takes several items at a time, whose loads overlap.
template <class Op, bool Emit>
GSOFA_DEVICE typename Op::value scan_tile(const Op& op, typename Op::value carry) {
  const offset_t count = op.count();
  const offset_t per_tile = (count - 1) / simt::grid_size() + 1;
  const offset_t begin = per_tile * simt::block_index();
  const offset_t end = begin + per_tile < count ? begin + per_tile : count;
  return per_tile <= simt::block_size() ? scan_items<Op, Emit, 1>(op, begin, end, carry)
                                        : scan_items<Op, Emit, 4>(op, begin, end, carry);
}

/// Combines the items of each tile into partial[tile].
template <class Op>
GSOFA_KERNEL void reduce_kernel(Op op, typename Op::value* partial) {
  simt::after_earlier_launches();
  const auto sum = scan_tile<Op, false>(op, Op::identity());
  if (simt::thread_index() == 0) partial[simt::block_index()] = sum;
}

/// Emits the inclusive scan; there are at most as many tiles as threads in a block.
template <class Op>
GSOFA_KERNEL void scan_kernel(Op op, const typename Op::value* partial) {
  simt::after_earlier_launches();
  auto* const values = simt::shared_memory<typename Op::value>();
  const unsigned threads = simt::block_size();
  block_scan(
      op,
      simt::thread_index() < simt::block_index() ? partial[simt::thread_index()] : Op::identity(),
      values);
  unsigned side = 0;
  for (unsigned step = 1; step < threads; step *= 2) side ^= 1U;
  const auto before = values[side * threads + threads - 1];
  simt::sync_block();
  scan_tile<Op, true>(op, before);
}

// One launch scans up to this many items per thread of one block.
#if defined(__CUDACC__)
inline constexpr offset_t few_items = 8;
#else
inline constexpr offset_t few_items = 1;
#endif

// For this many items and more, larger blocks scan a tile.
#if defined(__CUDACC__)
inline constexpr offset_t many_items = 1 << 20;
#else
inline constexpr offset_t many_items = 100;
#endif

/// Threads of a block that scans a tile of `items` items in all, with up to 128 registers each.
inline int threads_of_scan(offset_t items) {
  return items < many_items ? threads_per_block : 2 * threads_per_block;
}

/// Emits the inclusive scan of all items by two launches, or by one launch for few items. `partial`
/// has threads_per_block places. Slower for more than most_items items.
template <class Op>
void scan(const Op& op, offset_t most_items, typename Op::value* partial,
          int threads = threads_per_block) {
  if (most_items <= few_items * threads_per_block) {
    launch_overlapping(scan_kernel<Op>, 1, threads_per_block, scan_bytes<Op>(threads_per_block), op,
                       static_cast<const typename Op::value*>(partial));
    return;
  }
  const auto tiles = static_cast<int>(
      std::min<offset_t>(threads_per_block, (most_items - 1) / threads_per_block + 1));
  // There are at most as many tiles as threads of a block.
  const std::size_t bytes = scan_bytes<Op>(threads);
  launch_overlapping(reduce_kernel<Op>, tiles, threads, bytes, op, partial);
  launch_overlapping(scan_kernel<Op>, tiles, threads, bytes, op,
                     static_cast<const typename Op::value*>(partial));
}

#endif

}  // namespace gsofa::gpu
