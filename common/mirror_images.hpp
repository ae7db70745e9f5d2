#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "common/types.hpp"

namespace gsofa {

/// Finds the mirror images of entries below the diagonal of a square pattern with sorted rows, by
/// ranges of rows. The images of the rows i before the current one have been found in row j:
/// next[j] is the place of the next image. If row and column are in the same range, the image is
/// found at once; other entries are listed by the two ranges. Full: every row has its diagonal.
template <bool Full>
class mirror_images {
 public:
  /// first: first row of each range, and n. next: n numbers.
  mirror_images(std::span<const offset_t> ptr, std::span<const index_t> idx,
                std::span<offset_t> next, std::span<const index_t> first)
      : ptr_(ptr.data()),
        idx_(idx.data()),
        next_(next.data()),
        first_(first),
        listed_((first.size() - 1) * (first.size() - 1)) {}

  /// The place of the first entry of row i of range k that is not below the diagonal; -1 if an
  /// entry below the diagonal, in a column of the range, has no mirror image. The rows of a range
  /// are taken in ascending order; ranges may be taken at the same time.
  offset_t find(std::size_t k, index_t i) {
    const offset_t end = ptr_[i + 1];
    offset_t q = ptr_[i];
    std::size_t of_column = 0;
    for (; (Full || q < end) && idx_[q] < first_[k]; ++q) {
      while (idx_[q] >= first_[of_column + 1]) ++of_column;
      listed(k, of_column).push_back({.row = i, .column = idx_[q]});
    }
    for (; (Full || q < end) && idx_[q] < i; ++q) {
      if (!is_next(i, idx_[q])) return -1;
    }
    next_[i] = Full || (q < end && idx_[q] == i) ? q + 1 : q;
    return q;
  }

  /// True if the listed entries of later ranges in the columns of range k have mirror images.
  /// Before: find() has returned for the rows of all ranges.
  bool find_listed(std::size_t k) {
    for (std::size_t of_row = k + 1; of_row + 1 < first_.size(); ++of_row) {
      for (const entry& e : listed(of_row, k)) {
        if (!is_next(e.row, e.column)) return false;
      }
    }
    return true;
  }

 private:
  struct entry {
    index_t row, column;
  };
  std::vector<entry>& listed(std::size_t of_row, std::size_t of_column) {
    return listed_[of_row * (first_.size() - 1) + of_column];
  }
  bool is_next(index_t i, index_t j) {
    const offset_t p = next_[j]++;
    return p != ptr_[j + 1] && idx_[p] == i;
  }

  const offset_t* ptr_;
  const index_t* idx_;
  offset_t* next_;
  std::span<const index_t> first_;
  std::vector<std::vector<entry>> listed_;  // by range of the row and range of the column
};

}  // namespace gsofa
