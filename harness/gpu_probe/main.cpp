// Names the CUDA devices of this machine. Exit status 77, the "skipped" of ctest, without one.
#include <cstdio>

#include "common/cuda_device.hpp"

int main() {
  const auto& found = gsofa::find_cuda_devices();
  if (found.devices.empty()) {
    std::printf("skipped: %s\n", found.reason.c_str());
    return 77;
  }
  for (const auto& d : found.devices) {
    std::printf("%d: %s, %lld bytes, compute capability %s\n", d.index, d.name.c_str(),
                static_cast<long long>(d.memory_bytes), d.compute_capability.c_str());
  }
  return 0;
}
