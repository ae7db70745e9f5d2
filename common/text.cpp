#include "common/text.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <system_error>
#include <utility>

namespace gsofa {

namespace {

constexpr std::string_view hex_digits = "0123456789abcdef";

unsigned byte_at(std::string_view text, std::size_t at) {
  return at < text.size() ? static_cast<unsigned char>(text[at]) : 0;
}

// Bytes of the UTF-8 character at the front of `text`; 0 if there is none (Unicode 15, table 3-7).
std::size_t utf8_length(std::string_view text) {
  const unsigned first = byte_at(text, 0);
  const unsigned second = byte_at(text, 1);
  if (first < 0x80) return text.empty() ? 0 : 1;
  const auto follows = [&](std::size_t at) { return (byte_at(text, at) & 0xc0U) == 0x80U; };
  if (first >= 0xc2 && first <= 0xdf) return follows(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const bool in_range =
        second >= (first == 0xe0 ? 0xa0U : 0x80U) && second <= (first == 0xed ? 0x9fU : 0xbfU);
    return in_range && follows(2) ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const bool in_range =
        second >= (first == 0xf0 ? 0x90U : 0x80U) && second <= (first == 0xf4 ? 0x8fU : 0xbfU);
    return in_range && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

// The code point of the character of `length` valid bytes at the front of `text`.
std::uint32_t code_point(std::string_view text, std::size_t length) {
  constexpr std::array<unsigned, 5> first_bits{0, 0x7f, 0x1f, 0x0f, 0x07};
  std::uint32_t code = byte_at(text, 0) & first_bits[length];
  for (std::size_t k = 1; k < length; ++k) code = code << 6U | (byte_at(text, k) & 0x3fU);
  return code;
}

// Characters that a terminal obeys or does not show: the general categories Cc without the line
// feed, Cf, Zl and Zp of Unicode 15. Some of Cf reorder the text around them (UAX 9).
bool is_invisible(std::uint32_t code) {
  using range = std::pair<std::uint32_t, std::uint32_t>;
  static constexpr auto ranges = std::to_array<range>(
      {{0x00, 0x09},       {0x0b, 0x1f},       {0x7f, 0x9f},       {0xad, 0xad},
       {0x600, 0x605},     {0x61c, 0x61c},     {0x6dd, 0x6dd},     {0x70f, 0x70f},
       {0x890, 0x891},     {0x8e2, 0x8e2},     {0x180e, 0x180e},   {0x200b, 0x200f},
       {0x2028, 0x202e},   {0x2060, 0x2064},   {0x2066, 0x206f},   {0xfeff, 0xfeff},
       {0xfff9, 0xfffb},   {0x110bd, 0x110bd}, {0x110cd, 0x110cd}, {0x13430, 0x1343f},
       {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0001, 0xe0001}, {0xe0020, 0xe007f}});
  const auto after = std::ranges::upper_bound(ranges, code, {}, &range::first);
  return after != ranges.begin() && code <= std::prev(after)->second;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t up = row[j];
      row[j] = std::min({up + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      diagonal = up;
    }
  }
  return row[b.size()];
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t valid = utf8_length(text.substr(at));
    const bool shown = valid > 0 && !is_invisible(code_point(text.substr(at), valid));
    const std::size_t length = std::max<std::size_t>(valid, 1);
    for (std::size_t k = at; k < at + length; ++k) {
      if (shown) {
        out.push_back(text[k]);
      } else {
        const unsigned byte = byte_at(text, k);
        out += {'\\', 'x', hex_digits[byte / 16], hex_digits[byte % 16]};
      }
    }
    at += length;
  }
  return out;
}

std::size_t utf8_prefix(std::string_view text) {
  std::size_t at = 0;
  while (const std::size_t length = utf8_length(text.substr(at))) at += length;
  return at;
}

std::string shell_quoted(const std::string& text) {
  constexpr const char* plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+";
  if (!text.empty() && text.find_first_not_of(plain) == std::string::npos) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

std::string nearest(std::string_view name, const std::vector<std::string>& names) {
  std::string hint;
  std::size_t best = name.size() / 2 + 1;
  for (const auto& candidate : names) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < best) {
      best = distance;
      hint = candidate;
    }
  }
  return hint;
}

std::string reason_of(int error_number) { return std::generic_category().message(error_number); }

std::string because_of_errno() { return errno == 0 ? "" : ": " + reason_of(errno); }

}  // namespace gsofa
