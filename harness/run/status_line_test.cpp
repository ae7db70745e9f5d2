#include "harness/run/status_line.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <thread>

using namespace gsofa;

TEST_CASE("durations for people") {
  CHECK(duration_text(0.42) == "0.4 s");
  CHECK(duration_text(9.96) == "10 s");
  CHECK(duration_text(99.4) == "99 s");
  CHECK(duration_text(180) == "3 min");
  CHECK(duration_text(9000) == "2.5 h");
}

TEST_CASE("the rest takes as long as its share") {
  CHECK(seconds_left(10, 0.5) == doctest::Approx(10));
  CHECK(seconds_left(10, 0.1) == doctest::Approx(90));
  CHECK(seconds_left(10, 1) == 0);
  CHECK(seconds_left(10, 0) < 0);
  CHECK(seconds_left(10, -1) < 0);
}

TEST_CASE("progress of a case: share of the first run, time of the others") {
  using namespace std::chrono_literals;
  case_progress p;
  p.begin("bcsstk18 cpu_fill2", 3);
  CHECK(p.text() == "bcsstk18 cpu_fill2: preparing, 0.0 s");
  p.run(0, "run");
  CHECK(p.text() == "bcsstk18 cpu_fill2: run 1 of 3, 0.0 s");
  p.probe.answer(1, 4);
  std::this_thread::sleep_for(100ms);
  const std::string first = p.text();
  CAPTURE(first);
  CHECK(first.find("run 1 of 3, ") != std::string::npos);
  CHECK(first.find(", 25 % of it done, ") != std::string::npos);
  CHECK(first.ends_with(" left or more"));
  p.run_done();
  p.step("verifying run 1");
  CHECK(p.text().find("left") == std::string::npos);
  p.run(1, "run");
  const std::string second = p.text();
  CAPTURE(second);
  CHECK(second.find("run 2 of 3, ") != std::string::npos);
  CHECK(second.find(" % ") == std::string::npos);
  CHECK(second.ends_with(" s left"));
}
