#pragma once

/// Several devices of one host.

#include "common/thread_device.hpp"
#include "variants/device/runtime.hpp"

namespace gsofa::gpu {

#if defined(GSOFA_GPU)

/// Number of devices.
inline int visible_devices() {
#if defined(__CUDACC__)
  int count = 0;
  check(cudaGetDeviceCount(&count), "devices");
  return count;
#else
  return 1;
#endif
}

/// Uses a device while it lives.
class on_device {
 public:
  explicit on_device(int device) : before_(thread_device()) { use_thread_device(device); }
  on_device(const on_device&) = delete;
  on_device& operator=(const on_device&) = delete;
  ~on_device() { use_thread_device(before_); }

 private:
  int before_;
};

/// Copies from the memory of device `from_device` to that of `to_device`, the current one. The
/// runtime goes through memory of the host where the devices do not reach each other.
/// Asynchronous.
template <class T>
void copy_between_devices(T* to, [[maybe_unused]] int to_device, const T* from,
                          [[maybe_unused]] int from_device, offset_t count) {
  if (count == 0) return;
#if defined(__CUDACC__)
  check(cudaMemcpyPeerAsync(to, to_device, from, from_device,
                            static_cast<std::size_t>(count) * sizeof(T), cudaStreamPerThread),
        "copy between devices");
#else
  copy_on_device(to, from, count);
#endif
}

#endif

}  // namespace gsofa::gpu
