#include "harness/record/table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/run/status.hpp"

namespace gsofa {

void text_table::add(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  for (auto& cell : cells) cell = one_line(std::move(cell));
  rows_.push_back(std::move(cells));
}

void text_table::print(std::ostream& out) const {
  std::vector<std::size_t> width(columns_.size());
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    width[c] = columns_[c].title.size();
    for (const auto& row : rows_) width[c] = std::max(width[c], row[c].size());
  }
  auto line = [&](auto&& cell) {
    std::string text;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const std::string& s = cell(c);
      text += columns_[c].side == align::right ? fmt::format("{:>{}}", s, width[c])
                                               : fmt::format("{:<{}}", s, width[c]);
      if (c + 1 < columns_.size()) text += "  ";
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out << text << '\n';
  };
  line([&](std::size_t c) -> const std::string& { return columns_[c].title; });
  for (const auto& row : rows_) {
    line([&](std::size_t c) -> const std::string& { return row[c]; });
  }
}

std::string with_commas(long long value) {
  const std::string digits = std::to_string(value);
  std::string out;
  for (std::size_t p = 0; p < digits.size(); ++p) {
    const bool first = out.empty() || out == "-";
    if (!first && (digits.size() - p) % 3 == 0) out.push_back(',');
    out.push_back(digits[p]);
  }
  return out;
}

std::string milliseconds(double seconds) {
  const double ms = 1000 * seconds;
  if (ms >= 1000) return fmt::format("{:.0f}", ms);
  if (ms >= 100) return fmt::format("{:.1f}", ms);
  if (ms >= 10) return fmt::format("{:.2f}", ms);
  return fmt::format("{:.3f}", ms);
}

}  // namespace gsofa
