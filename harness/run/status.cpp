#include "harness/run/status.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "common/text.hpp"

namespace gsofa {

const char* to_string(run_status status) {
  static constexpr std::array<const char*, 7> names{"pass",    "fail", "unverified", "skipped",
                                                    "timeout", "oom",  "error"};
  return names.at(static_cast<std::size_t>(status));
}

std::string one_line(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  return printable(text);
}

}  // namespace gsofa
