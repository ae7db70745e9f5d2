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
  };

  explicit text_table(std::vector<column> columns) : columns_(std::move(columns)) {}
  /// Adds a row of as many cells as there are columns; each is shown by one_line().
  void add(std::vector<std::string> cells);
  void print(std::ostream& out) const;
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
