#include "variants/support/build_kind.hpp"

#include "variants/support/counting.hpp"

namespace gsofa {

bool is_counting_build() { return detail::counting; }

const char* gpu_build() {
#if defined(GSOFA_EMULATE_GPU)
  return "emulated";
#elif defined(GSOFA_BUILD_CUDA)
  return "cuda";
#else
  return "none";
#endif
}

}  // namespace gsofa
