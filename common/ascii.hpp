#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gsofa {

inline char lower_letter(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

/// The beginning of text from a file, for an error message: at most `most` characters followed by
/// "...", with '?' for everything that is not printable ASCII.
inline std::string excerpt(std::string_view text, std::size_t most) {
  std::string out(text.substr(0, most));
  for (char& c : out) {
    if (c < ' ' || c > '~') c = '?';
  }
  if (text.size() > most) out += "...";
  return out;
}

}  // namespace gsofa
