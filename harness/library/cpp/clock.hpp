#pragma once

#include <chrono>
#include <utility>

namespace gsofa::library {

using clock = std::chrono::steady_clock;

/// Seconds since `since`, which becomes now.
inline double lap(clock::time_point& since) {
  const auto now = clock::now();
  return std::chrono::duration<double>(now - std::exchange(since, now)).count();
}

}  // namespace gsofa::library
