#pragma once

namespace gsofa {

/// True in the program whose variants fill the work counters (gsofa_counting).
bool is_counting_build();

}  // namespace gsofa
