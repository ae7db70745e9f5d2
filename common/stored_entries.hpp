#pragma once

#include <complex>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/matrix_parsers.hpp"
#include "common/pattern.hpp"

namespace gsofa {

/// Positions in the order of a file, possibly repeated, collected for a pattern.
class stored_entries {
 public:
  /// `name` begins messages. `mirrored`: each entry also represents its mirror image and may come
  /// from either triangle. All that needs memory throws budget_error if `bound` is too little.
  stored_entries(std::string name, const memory_bound& bound)
      : name_(std::move(name)), bound_(bound) {}

  /// Counts `bytes` that the parser holds until the end.
  void hold(offset_t bytes) {
    held_ += bytes;
    check_memory(0);
  }
  /// Takes memory for `likely` entries.
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
    if (entries_.rows.size() == entries_.rows.capacity()) reserve(2 * count() + 1024);
    entries_.rows.push_back(i);
    entries_.cols.push_back(j);
  }

  /// The value of the entry added last; for all entries or none.
  void add_value(std::complex<double> value) { values_.push_back(value); }

  [[nodiscard]] index_t n_rows() const { return entries_.n_rows; }
  [[nodiscard]] index_t n_cols() const { return entries_.n_cols; }
  [[nodiscard]] offset_t count() const { return static_cast<offset_t>(entries_.rows.size()); }

  /// The pattern, repeated positions merged.
  pattern assemble();
  /// Of each entry of the pattern `a` that assemble() returned: the magnitude of the sum of its
  /// values.
  [[nodiscard]] std::vector<double> magnitudes(const pattern_view& a) const;
  /// For the rows, what is held, and `bytes` besides.
  void check_memory(offset_t bytes) const;

 private:
  void reserve(offset_t count);
  static std::uint64_t key(index_t major, index_t minor) {
    return (static_cast<std::uint64_t>(major) << 32) | static_cast<std::uint64_t>(minor);
  }

  std::string name_;
  memory_bound bound_;
  offset_t held_ = 0;
  triplets entries_;
  std::vector<std::complex<double>> values_;
  bool mirrored_ = false;
  // Entries so far are strictly ascending by (column, row) or by (row, column).
  bool by_column_ = true, by_row_ = true;
  std::uint64_t last_by_column_ = 0, last_by_row_ = 0;
};

}  // namespace gsofa
