#include "harness/commands/svg.hpp"

#include <fmt/format.h>

#include <cmath>

namespace gsofa::svg {

std::string hex_of(const std::array<double, 3>& c) {
  return fmt::format("#{:02x}{:02x}{:02x}", std::lround(255 * c[0]), std::lround(255 * c[1]),
                     std::lround(255 * c[2]));
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else
      out.push_back(c);
  }
  return out;
}

offset_t step_of(offset_t n) {
  for (offset_t power = 1;; power *= 10) {
    for (const offset_t factor : {1, 2, 5}) {
      if (n <= 5 * factor * power) return factor * power;
    }
  }
}

std::string begin_document(int panels) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<style>.frame{{fill:none;stroke:#000;stroke-width:0.8}}.title{{font-size:14px}}</style>\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n",
      panels * panel, height);
}

std::string begin_panel(int k, const std::array<std::string, 2>& title) {
  return fmt::format(
      "<g transform=\"translate({},{})\">\n"
      "<text class=\"title\" x=\"0\" y=\"-28\">{}</text><text class=\"title\" x=\"0\" "
      "y=\"-11\">{}</text>\n",
      k * panel + margin_left, margin_top, escaped(title[0]), escaped(title[1]));
}

}  // namespace gsofa::svg
