#include "common/cuda_device.hpp"

#ifdef GSOFA_HAVE_CUDA
#include <cuda_runtime_api.h>
#endif

namespace gsofa {

namespace {

#ifdef GSOFA_HAVE_CUDA

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string uuid_text(const cudaUUID_t& uuid) {
  constexpr const char* digits = "0123456789abcdef";
  std::string text = "GPU";
  for (int k = 0; k < 16; ++k) {
    if (k == 0 || k == 4 || k == 6 || k == 8 || k == 10) text += '-';
    const auto byte = static_cast<unsigned char>(uuid.bytes[k]);
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

cuda_devices ask_runtime() {
  cuda_devices found;
  found.runtime = version_text(CUDART_VERSION);
  int driver = 0;
  if (cudaDriverGetVersion(&driver) == cudaSuccess && driver > 0) {
    found.driver = version_text(driver);
  }
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) {
    found.reason = "no CUDA device";
    if (status != cudaSuccess && status != cudaErrorNoDevice) {
      found.reason += std::string(": ") + cudaGetErrorString(status);
    }
    return found;
  }
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, i) != cudaSuccess) continue;
    found.devices.push_back({.index = i,
                             .name = properties.name,
                             .memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem),
                             .compute_capability = std::to_string(properties.major) + "." +
                                                   std::to_string(properties.minor),
                             .uuid = uuid_text(properties.uuid)});
  }
  if (found.devices.empty()) found.reason = "no CUDA device answers";
  return found;
}

#else

cuda_devices ask_runtime() {
  cuda_devices found;
  found.reason = "no CUDA device: built without CUDA";
  return found;
}

#endif

}  // namespace

const cuda_devices& find_cuda_devices() {
  static const cuda_devices found = ask_runtime();
  return found;
}

}  // namespace gsofa
