#pragma once

#ifdef GSOFA_UNCOUNTED
#error "this source counts work, but sources.cmake of its folder lists it as UNCOUNTED: take it off that list"
#endif

namespace gsofa::detail {

// The same sources are compiled twice. Only the counting build (program gsofa_counting) pays for
// work counters; in the timed build every `if constexpr (counting)` block vanishes.
#ifdef GSOFA_COUNTING
inline namespace counting_build {
inline constexpr bool counting = true;
}
#else
inline namespace timed_build {
inline constexpr bool counting = false;
}
#endif

}  // namespace gsofa::detail
