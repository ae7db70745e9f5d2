#pragma once

namespace gsofa {

/// How a host thread reads and selects its device, for code without a device runtime.
struct thread_device_functions {
  int (*get)() = nullptr;      ///< 0 without a device
  void (*use)(int) = nullptr;  ///< takes a number that get() has returned
};

/// Installs the functions of the program's device runtime, while static objects are initialised.
/// Returns the previous functions.
thread_device_functions set_thread_device_functions(const thread_device_functions& functions);

/// The device of the calling thread; threads that work for this thread must use it too. New threads
/// begin with device 0. Without a runtime: 0.
int thread_device();
void use_thread_device(int device);

}  // namespace gsofa
