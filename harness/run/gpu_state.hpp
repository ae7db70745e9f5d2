#pragma once

#include <string>
#include <vector>

namespace gsofa {

/// Clocks and temperature of a GPU at one moment; 0 where the driver does not say.
struct gpu_state {
  unsigned sm_mhz = 0;
  unsigned memory_mhz = 0;
  unsigned celsius = 0;
};

/// What the driver's management library (NVML) says of this machine. It is loaded when the first
/// function is called; where it is absent, everything is empty.
namespace nvml {

/// Version of the kernel driver, "580.65.06".
const std::string& driver_version();
/// UUIDs of all GPUs of the machine in ascending order, including GPUs that this process may not
/// use.
const std::vector<std::string>& all_uuids();
/// States of the GPUs with these UUIDs, in their order.
std::vector<gpu_state> states_of(const std::vector<std::string>& uuids);

}  // namespace nvml

}  // namespace gsofa
