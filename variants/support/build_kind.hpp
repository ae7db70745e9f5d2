#pragma once

namespace gsofa {

/// True in the program whose variants fill the work counters (gsofa_counting).
bool is_counting_build();

/// How this program runs GPU variants: "cuda", "emulated" (on the host) or "none".
const char* gpu_build();

}  // namespace gsofa
