// Whether there is a GPU to run on.

#include "variants/device/gpu_variants.hpp"
#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

namespace gsofa::gpu {

std::optional<std::string> unavailable() {
#if defined(__CUDACC__)
  static const std::optional<std::string> reason = []() -> std::optional<std::string> {
    int devices = 0;
    const cudaError_t status = cudaGetDeviceCount(&devices);
    if (status == cudaSuccess && devices > 0) return std::nullopt;
    cudaGetLastError();
    if (status == cudaSuccess || status == cudaErrorNoDevice) return "no CUDA device";
    return std::string("no usable CUDA device: ") + cudaGetErrorString(status);
  }();
  return reason;
#else
  return std::nullopt;
#endif
}

std::optional<std::string> unavailable_to_races() {
#if !defined(__CUDACC__)
  if (!simt::emulator::switches_at_accesses()) {
    return "the emulator does not switch threads at loads and stores here";
  }
#endif
  return unavailable();
}

}  // namespace gsofa::gpu

#endif
