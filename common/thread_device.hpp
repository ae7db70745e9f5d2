#pragma once

namespace gsofa {

/// How a host thread tells and chooses its device, for code that knows no runtime of a device.
struct thread_device_functions {
  int (*get)() = nullptr;      ///< 0 where there is no device
  void (*use)(int) = nullptr;  ///< of a number that get() has returned
};

/// Takes the functions of the runtime that this program has; called while static objects are made.
/// Returns those it had.
thread_device_functions set_thread_device_functions(const thread_device_functions& functions);

/// The device of the calling thread: what a thread that works for it has to use too. New threads
/// begin with device 0. Without a runtime: 0.
int thread_device();
void use_thread_device(int device);

}  // namespace gsofa
