#pragma once

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
