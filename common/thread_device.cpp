#include "common/thread_device.hpp"

#include <utility>

namespace gsofa {

namespace {

thread_device_functions& functions_of_runtime() {
  static thread_device_functions functions;
  return functions;
}

}  // namespace

thread_device_functions set_thread_device_functions(const thread_device_functions& functions) {
  return std::exchange(functions_of_runtime(), functions);
}

int thread_device() {
  const auto get = functions_of_runtime().get;
  return get == nullptr ? 0 : get();
}

void use_thread_device(int device) {
  // To name a device prepares it for use, which takes long and is not needed for what a thread has.
  if (device == thread_device()) return;
  functions_of_runtime().use(device);
}

}  // namespace gsofa
