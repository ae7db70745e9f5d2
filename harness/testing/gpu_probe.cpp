// Names the CUDA devices of this machine; with arguments after `--then`, goes on with that command.
// Exit status 77, the "skipped" of ctest, without a device.
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "common/cuda_device.hpp"
#include "common/process.hpp"

int main(int argc, char** argv) {
  gsofa::guard_descriptors();
  const auto& found = gsofa::find_cuda_devices();
  if (found.devices.empty()) {
    std::printf("skipped: %s\n", found.reason.c_str());
    return 77;
  }
  for (const auto& d : found.devices) {
    std::printf("%d: %s, %lld bytes, compute capability %s\n", d.index, d.name.c_str(),
                static_cast<long long>(d.memory_bytes), d.compute_capability.c_str());
  }
  std::fflush(stdout);
  if (argc > 2 && std::strcmp(argv[1], "--then") == 0) {
    execv(argv[2], argv + 2);
    std::perror(argv[2]);
    return 1;
  }
  return 0;
}
