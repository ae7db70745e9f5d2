#include "common/run_context.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <thread>

using namespace gsofa;

TEST_CASE("phases are exclusive and sum to the run") {
  run_context context;
  context.phases.start(phase_id::traverse);
  {
    const phase outer(context, phase_id::init);
    {
      const phase inner(context, phase_id::compact);
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
    }
  }
  const double total = context.phases.stop();
  double sum = 0;
  for (const auto& [name, seconds] : context.phases.seconds()) sum += seconds;
  CHECK(sum == doctest::Approx(total).epsilon(1e-9));
  CHECK(context.phases.seconds().at("compact") >= 0.003);
  CHECK(context.phases.seconds().count("d2h") == 0);
  context.phases.start(phase_id::h2d);
  context.phases.stop();
  CHECK(context.phases.seconds().count("compact") == 0);
}

TEST_CASE("a deadline is noticed and can be lifted") {
  run_context context;
  CHECK_NOTHROW(context.check_deadline());
  context.set_timeout(1e-9);
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK_THROWS_AS(context.check_deadline(), timeout_error);
  context.set_timeout(0);
  CHECK_NOTHROW(context.check_deadline());
}

TEST_CASE("a limit beyond what the clock can count is none") {
  run_context context;
  for (const double seconds : {1e10, 1e300, std::numeric_limits<double>::infinity(),
                               std::numeric_limits<double>::quiet_NaN()}) {
    context.set_timeout(seconds);
    CHECK_NOTHROW(context.check_deadline());
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

TEST_CASE("a run answers a probe only when it was asked") {
  run_context context;
  CHECK_NOTHROW(context.check_deadline(1, 4));  // nobody watches
  progress_probe probe;
  context.probe = &probe;
  context.check_deadline(1, 4);
  CHECK(probe.ask() == -1);
  context.check_deadline(2, 4);
  context.check_deadline(3, 4);
  CHECK(probe.ask() == 0.5);
  context.check_deadline(0, 0);
  CHECK(probe.ask() == 0.5);
  context.check_deadline(4, 4);
  run_context another;
  another.share_deadline(context);
  CHECK(another.probe == &probe);
  CHECK(probe.ask() == 1);
  probe.reset();
  CHECK(probe.ask() == -1);
}
