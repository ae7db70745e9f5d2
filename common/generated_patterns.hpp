#pragma once

/// What tests of generators ask about patterns and messages.

#include <algorithm>
#include <string>

#include "common/pattern.hpp"

namespace gsofa::testing {

inline std::size_t longest_row(const pattern& a) {
  std::size_t most = 0;
  for (index_t i = 0; i < a.n_rows; ++i) most = std::max(most, a.row(i).size());
  return most;
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace gsofa::testing
