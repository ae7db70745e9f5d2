#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace gsofa::soak {

/// Which allocations of the process fail. They are those of malloc, calloc, realloc and their like,
/// operator new among them; in a build with sanitizers, which have a malloc of their own, those of
/// operator new only. A program that links allocations.cpp has its allocation functions replaced.
struct allocation_rule {
  std::int64_t first = 0;  ///< number, from 1, of the first one that fails; 0: none
  bool all_after = false;  ///< all from the first on fail, not only the first
  std::size_t largest = std::numeric_limits<std::size_t>::max();  ///< larger ones fail, in bytes
};

/// Counts allocations of all threads from now on and applies the rule to them.
void watch_allocations(const allocation_rule& rule);

/// Ends the watch of watch_allocations(); returns how many allocations were asked for.
std::int64_t unwatch_allocations();

/// True if malloc and its like are watched, false if operator new only.
bool watches_malloc();

}  // namespace gsofa::soak
