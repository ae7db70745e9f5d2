#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "common/pattern.hpp"

namespace gsofa {

/// Positions in the order of a file, possibly repeated, collected for a pattern.
class stored_entries {
 public:
  /// `name` begins messages. `mirrored`: each entry also represents its mirror image and may come
  /// from either triangle. `memory_limit`: bytes for the entries and the pattern.
  stored_entries(std::string name, std::int64_t memory_limit)
      : name_(std::move(name)), memory_limit_(memory_limit) {}

  /// Throws input_error unless the row pointers and `likely` entries fit in memory.
  void begin(index_t n_rows, index_t n_cols, bool mirrored, offset_t likely);

  /// 0-based, within the dimensions.
  void add(index_t i, index_t j) {
    // Either triangle may be stored; the lower one is kept.
    if (mirrored_ && i < j) std::swap(i, j);
    const std::uint64_t by_column = key(j, i), by_row = key(i, j);
    by_column_ &= entries_.rows.empty() || by_column > last_by_column_;
    by_row_ &= entries_.rows.empty() || by_row > last_by_row_;
    last_by_column_ = by_column;
    last_by_row_ = by_row;
    entries_.rows.push_back(i);
    entries_.cols.push_back(j);
  }

  [[nodiscard]] index_t n_rows() const { return entries_.n_rows; }
  [[nodiscard]] index_t n_cols() const { return entries_.n_cols; }
  [[nodiscard]] offset_t count() const { return static_cast<offset_t>(entries_.rows.size()); }

  /// The pattern, repeated positions merged. Throws input_error if it does not fit in memory.
  pattern assemble();
  /// Throws input_error if more than `bytes` bytes are needed than the limit allows.
  void check_memory(offset_t bytes) const;

 private:
  static std::uint64_t key(index_t major, index_t minor) {
    return (static_cast<std::uint64_t>(major) << 32) | static_cast<std::uint64_t>(minor);
  }

  std::string name_;
  std::int64_t memory_limit_;
  triplets entries_;
  bool mirrored_ = false;
  // Entries so far are strictly ascending by (column, row) or by (row, column).
  bool by_column_ = true, by_row_ = true;
  std::uint64_t last_by_column_ = 0, last_by_row_ = 0;
};

}  // namespace gsofa
