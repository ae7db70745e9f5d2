#include "common/thread_device.hpp"

#include <doctest/doctest.h>

#include <thread>

using namespace gsofa;

namespace {
thread_local int chosen = 0;
thread_local int calls = 0;
}  // namespace

TEST_CASE("a thread works on the device of another") {
  const auto before = set_thread_device_functions({[] { return chosen; },
                                                   [](int device) {
                                                     chosen = device;
                                                     ++calls;
                                                   }});
  use_thread_device(3);
  CHECK(thread_device() == 3);
  use_thread_device(3);
  CHECK(calls == 1);
  std::thread([device = thread_device()] {
    CHECK(thread_device() == 0);
    use_thread_device(device);
    CHECK(thread_device() == 3);
  }).join();
  set_thread_device_functions({});
  CHECK(thread_device() == 0);
  use_thread_device(0);
  set_thread_device_functions(before);
}
