#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gsofa {

/// One CUDA device as the runtime reports it.
struct cuda_device {
  int index = 0;
  std::string name;
  std::int64_t memory_bytes = 0;
  std::string compute_capability;  ///< "9.0"
  std::string uuid;                ///< "GPU-01234567-89ab-...", as nvidia-smi prints it
};

/// What the CUDA runtime finds on this machine.
struct cuda_devices {
  std::vector<cuda_device> devices;
  std::string driver;   ///< CUDA version of the driver, "13.0"; empty without a driver
  std::string runtime;  ///< runtime version of this build; empty without CUDA
  std::string reason;   ///< why `devices` is empty
};

/// The first call asks the runtime; later calls return the same answer. Never throws; creates no
/// context.
const cuda_devices& find_cuda_devices();

}  // namespace gsofa
