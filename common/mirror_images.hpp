#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "common/types.hpp"

namespace gsofa {

/// Finds the mirror images of entries below the diagonal of a square pattern with sorted rows, for
/// ascending rows from `begin`. The images of earlier rows in row j have been found: next[j] is the
/// place of the next image. Rows before `begin` belong to other threads: places in these rows are
/// found by search, and some are remembered. Full: every row has its diagonal.
template <bool Full>
class mirror_images {
 public:
  /// next: n numbers; the numbers from `begin` to the last row of this object are used by this
  /// object only.
  mirror_images(std::span<const offset_t> ptr, std::span<const index_t> idx,
                std::span<offset_t> next, index_t begin)
      : ptr_(ptr.data()), idx_(idx.data()), next_(next.data()), begin_(begin) {
    noted_.fill({.row = -1, .next = 0});
  }

  /// The place of the first entry of row i that is not below the diagonal; -1 if an entry below the
  /// diagonal has no mirror image.
  offset_t find(index_t i) {
    const offset_t end = ptr_[i + 1];
    offset_t q = ptr_[i];
    for (; (Full || q < end) && idx_[q] < begin_; ++q) {
      if (!is_in_other_row(idx_[q], i)) return -1;
    }
    for (; (Full || q < end) && idx_[q] < i; ++q) {
      const index_t j = idx_[q];
      const offset_t p = next_[j]++;
      if (p == ptr_[j + 1] || idx_[p] != i) return -1;
    }
    next_[i] = Full || (q < end && idx_[q] == i) ? q + 1 : q;
    return q;
  }

 private:
  struct note {
    index_t row;
    offset_t next;
  };
  bool is_in_other_row(index_t j, index_t i) {
    note& of = noted_[at(j) % noted_.size()];
    const offset_t end = ptr_[j + 1];
    if (of.row != j || of.next == end || idx_[of.next] != i) {
      const index_t* const found = std::lower_bound(idx_ + ptr_[j], idx_ + end, i);
      if (found == idx_ + end || *found != i) return false;
      of = {.row = j, .next = found - idx_};
    }
    ++of.next;
    return true;
  }

  const offset_t* ptr_;
  const index_t* idx_;
  offset_t* next_;
  index_t begin_;
  std::array<note, 512> noted_;
};

}  // namespace gsofa
