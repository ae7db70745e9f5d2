#include "harness/run/watchdog.hpp"

#include <doctest/doctest.h>

#include <future>

using namespace gsofa;

TEST_CASE("a watchdog that is let go in time does nothing") {
  bool fired = false;
  {
    const watchdog guard(std::chrono::hours(1), [&] { fired = true; });
  }
  CHECK_FALSE(fired);
}

TEST_CASE("a watchdog whose limit passes acts") {
  std::promise<void> fired;
  const watchdog guard(std::chrono::milliseconds(1), [&] { fired.set_value(); });
  CHECK(fired.get_future().wait_for(std::chrono::minutes(5)) == std::future_status::ready);
}
