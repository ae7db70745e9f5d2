#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace gsofa {

/// Plain text table with aligned columns; the last column is never padded.
class text_table {
 public:
  enum class align { left, right };
  struct column {
    std::string title;
    align side = align::left;
    /// If the table is too wide, the column with the largest number is left out first; 0: never.
    int leave_out = 0;
    /// Words may be shortened; numbers may not.
    bool words = false;
    /// Statuses, printed in colours.
    bool status = false;
  };

  explicit text_table(std::vector<column> columns) : columns_(std::move(columns)) {}
  /// Adds a row of as many cells as there are columns; each is shown by one_line().
  void add(std::vector<std::string> cells);
  /// At most `width` characters a line, if no number must be cut for it; 0: no limit. Words
  /// are shortened first, to no less than 16 characters, then columns are left out and named below
  /// the table.
  void print(std::ostream& out, std::size_t width = 0, bool colours = false) const;
  /// print() for standard output as it is.
  void print_fitting(std::ostream& out) const;
  [[nodiscard]] bool empty() const { return rows_.empty(); }

 private:
  std::vector<column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// 1234567 -> "1,234,567".
std::string with_commas(long long value);

/// Seconds as milliseconds with four significant digits.
std::string milliseconds(double seconds);

}  // namespace gsofa
