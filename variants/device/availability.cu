// What runs the kernels of this program, and whether there is a GPU to run them on.

#include <cstdint>

#include "common/error.hpp"
#include "common/parallel.hpp"
#include "common/thread_device.hpp"
#include "variants/device/gpu_variant.hpp"
#include "variants/support/build_kind.hpp"

namespace gsofa {

const char* gpu_build() {
#if defined(__CUDACC__)
  return "cuda";
#elif defined(GSOFA_EMULATE_GPU)
  return "emulated";
#else
  return "none";
#endif
}

}  // namespace gsofa

namespace gsofa::gpu {

#if defined(__CUDACC__)
namespace {

// Whether this process was forked from one that has asked the runtime, which answers no call here.
bool lost_in_fork() {
  static const std::uint64_t first = process_number();
  return first != process_number();
}

[[maybe_unused]] const thread_device_functions before = set_thread_device_functions({
    [] {
      int device = 0;
      if (lost_in_fork()) return device;
      if (cudaGetDevice(&device) != cudaSuccess) {
        cudaGetLastError();
        return 0;
      }
      return device;
    },
    // A device that cannot be used says so where it is.
    [](int device) {
      if (!lost_in_fork()) static_cast<void>(cudaSetDevice(device));
    },
});

}  // namespace
#endif

std::optional<std::string> unavailable() {
#if defined(__CUDACC__)
  if (lost_in_fork()) return "no CUDA device in a process forked from one that has used CUDA";
  static const std::optional<std::string> reason = []() -> std::optional<std::string> {
    int devices = 0;
    const cudaError_t status = cudaGetDeviceCount(&devices);
    if (status == cudaSuccess && devices > 0) return std::nullopt;
    cudaGetLastError();
    if (status == cudaSuccess || status == cudaErrorNoDevice) return "no CUDA device";
    return std::string("no usable CUDA device: ") + cudaGetErrorString(status);
  }();
  return reason;
#elif defined(GSOFA_EMULATE_GPU)
  return std::nullopt;
#else
  return "built without CUDA; cmake -D GSOFA_WITH_CUDA=ON builds the GPU kernels";
#endif
}

std::optional<std::string> unavailable_to_races() {
#if defined(GSOFA_EMULATE_GPU)
  if (!simt::emulator::switches_at_accesses()) {
    return "the emulator does not switch threads at loads and stores here";
  }
#endif
  return unavailable();
}

option_spec memory_budget_option() {
  return {.name = "memory_budget_mb",
          .default_value = std::int64_t{0},
          .help = "device memory for everything but the matrix, MiB; 0: 3/4 of what is free",
          .minimum = 0,
          .maximum = 1 << 20,
          .tested = {"40"}};
}

void refuse() { throw unavailable_error("GPU variant: " + unavailable().value_or("no GPU code")); }

}  // namespace gsofa::gpu
