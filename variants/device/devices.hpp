#pragma once

/// The device that a thread uses.

#include "common/thread_device.hpp"
#include "variants/device/runtime.hpp"

namespace gsofa::gpu {

#if defined(GSOFA_GPU)

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

#endif

}  // namespace gsofa::gpu
