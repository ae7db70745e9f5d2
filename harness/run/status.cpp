#include "harness/run/status.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <cstring>

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

std::string text_of_end(bool by_signal, int number) {
  if (!by_signal) return fmt::format("ends with status {}", number);
  return fmt::format("ends by signal {} ({}{})", number, strsignal(number),
                     number == SIGKILL ? ", perhaps for want of memory" : "");
}

}  // namespace gsofa
