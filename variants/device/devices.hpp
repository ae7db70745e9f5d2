#pragma once

/// Several devices of one host.

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

/// Lets device `reader` read the memory of another device, including its memory pool. Returns false
/// if the devices do not support it. The current device becomes `reader`.
inline bool let_read([[maybe_unused]] int reader, [[maybe_unused]] int owner) {
#if defined(__CUDACC__)
  if (reader == owner) return true;
  int can = 0;
  check(cudaDeviceCanAccessPeer(&can, reader, owner), "peer access");
  if (can == 0) return false;
  check(cudaSetDevice(owner), "device");
  if (const auto pool = memory_pool()) {
    cudaMemAccessDesc access{};
    access.location.type = cudaMemLocationTypeDevice;
    access.location.id = reader;
    access.flags = cudaMemAccessFlagsProtReadWrite;
    check(cudaMemPoolSetAccess(pool, &access, 1), "peer access of the memory pool");
  }
  check(cudaSetDevice(reader), "device");
  const cudaError_t enabled = cudaDeviceEnablePeerAccess(owner, 0);
  if (enabled == cudaErrorPeerAccessAlreadyEnabled) {
    (void)cudaGetLastError();
  } else {
    check(enabled, "peer access");
  }
#endif
  return true;
}

/// Copies from the memory of any device to the memory of the current device; `staged`: through host
/// memory.
template <class T>
void copy_between_devices(T* to, const T* from, offset_t count, bool staged) {
  if (count == 0) return;
  if (!staged) return copy_on_device(to, from, count);
  pinned_vector<T> stage(static_cast<std::size_t>(count));
  copy_to_host(stage.data(), from, count);
  copy_to_device(to, static_cast<const T*>(stage.data()), count);
}

#endif

}  // namespace gsofa::gpu
