#pragma once

/// Pairs (i, j) as words i * 2^b + j with 2^b >= n, sorted: rows of columns.

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include <algorithm>
#include <bit>
#include <cstdint>

#include "variants/device/tile_scan.hpp"

#if defined(__CUDACC__)
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_select.cuh>
#endif

namespace gsofa::gpu {

using word_t = std::uint64_t;

/// Entries as words. Row n marks words that are no entry; they sort after all entries.
struct coding {
  index_t n;
  int bits;  ///< of a column number

  explicit coding(index_t order)
      : n(order), bits(std::bit_width(static_cast<std::uint32_t>(order))) {}
  GSOFA_DEVICE word_t word(index_t i, index_t j) const {
    return static_cast<word_t>(i) << bits | static_cast<word_t>(j);
  }
  GSOFA_DEVICE word_t row_begin(index_t i) const { return word(i, 0); }
  GSOFA_DEVICE index_t column(word_t w) const {
    return static_cast<index_t>(w & ((word_t{1} << bits) - 1));
  }
  [[nodiscard]] int word_bits() const { return 2 * bits; }
};

/// row_ptr[i]: words before row i, for `rows` values of i.
[[maybe_unused]] GSOFA_KERNEL void row_begins_kernel(const word_t* words, offset_t count,
                                                     coding code, offset_t rows,
                                                     offset_t* row_ptr) {
  simt::after_earlier_launches();
  for (const offset_t i : grid_items(rows)) {
    const word_t first = code.row_begin(static_cast<index_t>(i));
    offset_t low = 0;
    for (offset_t high = count; low < high;) {
      const offset_t middle = low + (high - low) / 2;
      if (words[middle] < first) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    row_ptr[i] = low;
  }
}

[[maybe_unused]] GSOFA_KERNEL void columns_kernel(const word_t* words, offset_t count, coding code,
                                                  index_t* col_idx) {
  simt::after_earlier_launches();
  for (const offset_t k : grid_items(count)) {
    col_idx[k] = code.column(words[k]);
  }
}

/// Sorts words and optionally removes repeated words.
class sorted_words {
 public:
  sorted_words(offset_t count, memory_budget& budget)
      : count_(count), words_(budget, "sort", count), budget_(&budget) {}
  [[nodiscard]] word_t* data() const { return words_.data(); }
  [[nodiscard]] offset_t count() const { return count_; }

  void sort([[maybe_unused]] int bits) {
    if (count_ == 0) return;
#if defined(__CUDACC__)
    device_array<word_t> other(*budget_, "sort", count_);
    cub::DoubleBuffer<word_t> buffers(words_.data(), other.data());
    std::size_t bytes = 0;
    check(cub::DeviceRadixSort::SortKeys(nullptr, bytes, buffers, count_, 0, bits), "sort");
    const device_array<unsigned char> temporary(*budget_, "sort", static_cast<offset_t>(bytes));
    check(cub::DeviceRadixSort::SortKeys(temporary.data(), bytes, buffers, count_, 0, bits),
          "sort");
    if (buffers.Current() != words_.data()) words_ = std::move(other);
#else
    std::sort(words_.data(), words_.data() + count_);
#endif
  }

  void remove_repetitions() {
    if (count_ == 0) return;
#if defined(__CUDACC__)
    device_array<word_t> other(*budget_, "sort", count_);
    const device_array<offset_t> found(*budget_, "sort", 1);
    std::size_t bytes = 0;
    check(cub::DeviceSelect::Unique(nullptr, bytes, words_.data(), other.data(), found.data(),
                                    count_),
          "unique");
    const device_array<unsigned char> temporary(*budget_, "sort", static_cast<offset_t>(bytes));
    check(cub::DeviceSelect::Unique(temporary.data(), bytes, words_.data(), other.data(),
                                    found.data(), count_),
          "unique");
    copy_to_host(&count_, found.data(), 1);
    words_ = std::move(other);
#else
    count_ = std::unique(words_.data(), words_.data() + count_) - words_.data();
#endif
  }

 private:
  offset_t count_;
  device_array<word_t> words_;
  memory_budget* budget_;
};

}  // namespace gsofa::gpu

#endif
