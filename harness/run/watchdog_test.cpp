#include "harness/run/watchdog.hpp"

#include <doctest/doctest.h>
#include <pthread.h>

#include <cstddef>
#include <future>
#include <string>

using namespace gsofa;

TEST_CASE("a watchdog that is let go in time does nothing") {
  bool fired = false;
  {
    const watchdog guard(std::chrono::hours(1), [&] { fired = true; });
  }
  CHECK_FALSE(fired);
}

TEST_CASE("a watchdog whose thread the system refuses says so") {
  // The stack of a new thread has this size, which no address space holds.
  pthread_attr_t usual;
  REQUIRE(pthread_getattr_default_np(&usual) == 0);
  pthread_attr_t huge = usual;
  REQUIRE(pthread_attr_setstacksize(&huge, std::size_t{1} << 50) == 0);
  REQUIRE(pthread_setattr_default_np(&huge) == 0);
  try {
    const watchdog guard(std::chrono::hours(1), [] {});
    FAIL("a thread with a stack of a petabyte");
  } catch (const watchdog_error& e) {
    CHECK(e.code() == exit_code::run_failed);
    CHECK(std::string(e.what()) ==
          "cannot start the thread that enforces the time limit: Resource temporarily unavailable");
  }
  REQUIRE(pthread_setattr_default_np(&usual) == 0);
}

TEST_CASE("a watchdog whose limit passes acts") {
  std::promise<void> fired;
  const watchdog guard(std::chrono::milliseconds(1), [&] { fired.set_value(); });
  CHECK(fired.get_future().wait_for(std::chrono::minutes(5)) == std::future_status::ready);
}
