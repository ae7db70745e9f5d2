#include "harness/record/table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "harness/run/status.hpp"
#include "harness/run/terminal.hpp"

namespace gsofa {

void text_table::add(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  for (auto& cell : cells) cell = one_line(std::move(cell));
  rows_.push_back(std::move(cells));
}

void text_table::print(std::ostream& out, std::size_t limit, bool colours) const {
  constexpr std::size_t gap = 2;
  constexpr std::size_t least_words = 16;
  std::vector<std::size_t> width(columns_.size());
  std::vector<std::size_t> shown(columns_.size());
  std::iota(shown.begin(), shown.end(), std::size_t{0});
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    width[c] = display_width(columns_[c].title);
    for (const auto& row : rows_) width[c] = std::max(width[c], display_width(row[c]));
  }
  auto total = [&] {
    std::size_t sum = gap * (shown.size() - 1);
    for (const std::size_t c : shown) sum += width[c];
    return sum;
  };
  // The widest words first; true if the table fits then.
  auto shorten_words = [&](std::size_t least) {
    while (total() > limit) {
      std::size_t widest = columns_.size();
      for (const std::size_t c : shown) {
        const std::size_t floor = std::max(least, display_width(columns_[c].title));
        const bool can = columns_[c].words && width[c] > floor;
        if (can && (widest == columns_.size() || width[c] > width[widest])) widest = c;
      }
      if (widest == columns_.size()) return false;
      --width[widest];
    }
    return true;
  };
  std::vector<std::string> left_out;
  if (limit > 0) {
    const std::vector<std::size_t> whole = width;
    while (!shorten_words(least_words)) {
      const auto least =
          std::ranges::max_element(shown, {}, [&](std::size_t c) { return columns_[c].leave_out; });
      if (columns_[*least].leave_out == 0) {
        shorten_words(1);
        break;
      }
      left_out.push_back(columns_[*least].title);
      shown.erase(least);
      width = whole;
    }
  }
  auto line = [&](auto&& cell, bool colour) {
    std::string text;
    for (const std::size_t c : shown) {
      const std::string s = columns_[c].words ? shortened(cell(c), width[c]) : cell(c);
      const std::string blanks(width[c] - std::min(width[c], display_width(s)), ' ');
      const std::string painted = colour && columns_[c].status ? coloured_status(s) : s;
      text += columns_[c].side == align::right ? blanks + painted : painted + blanks;
      if (c != shown.back()) text += std::string(gap, ' ');
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out << text << '\n';
  };
  line([&](std::size_t c) -> const std::string& { return columns_[c].title; }, false);
  for (const auto& row : rows_) {
    line([&](std::size_t c) -> const std::string& { return row[c]; }, colours);
  }
  if (!left_out.empty()) {
    const std::string note = fmt::format("(no room for {})", fmt::join(left_out, ", "));
    out << shortened(note, std::max(limit, least_words)) << '\n';
  }
}

void text_table::print_fitting(std::ostream& out) const {
  print(out, output_width(), output_has_colour());
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
