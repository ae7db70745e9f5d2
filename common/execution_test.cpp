#include "common/execution.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <thread>

using namespace gsofa;

TEST_CASE("phases are exclusive and sum to the run") {
  execution exec;
  exec.phases.start(phase_id::traverse);
  {
    const phase outer(exec, phase_id::init);
    {
      const phase inner(exec, phase_id::compact);
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
    }
  }
  const double total = exec.phases.stop();
  double sum = 0;
  for (const auto& [name, seconds] : exec.phases.seconds()) sum += seconds;
  CHECK(sum == doctest::Approx(total).epsilon(1e-9));
  CHECK(exec.phases.seconds().at("compact") >= 0.003);
  CHECK(exec.phases.seconds().count("d2h") == 0);
  exec.phases.start(phase_id::h2d);
  exec.phases.stop();
  CHECK(exec.phases.seconds().count("compact") == 0);
}

TEST_CASE("a deadline is noticed and can be lifted") {
  execution exec;
  CHECK_NOTHROW(exec.check_deadline());
  exec.set_timeout(1e-9);
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK_THROWS_AS(exec.check_deadline(), timeout_error);
  exec.set_timeout(0);
  CHECK_NOTHROW(exec.check_deadline());
}

TEST_CASE("a limit beyond what the clock can count is none") {
  execution exec;
  for (const double seconds : {1e10, 1e300, std::numeric_limits<double>::infinity(),
                               std::numeric_limits<double>::quiet_NaN()}) {
    exec.set_timeout(seconds);
    CHECK_NOTHROW(exec.check_deadline());
  }
}

TEST_CASE("every phase has its own name") {
  for (int i = 0; i < static_cast<int>(phase_id::count_); ++i) {
    for (int j = 0; j < i; ++j) {
      CHECK(std::string(phase_name(static_cast<phase_id>(i))) !=
            phase_name(static_cast<phase_id>(j)));
    }
  }
}
