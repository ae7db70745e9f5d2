#include "harness/check/worker_process.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "common/error.hpp"

using namespace gsofa;

TEST_CASE("how a process ended is told in words") {
  CHECK(process_end{.by_signal = false, .number = 3}.text() == "ends with status 3");
  CHECK(process_end{.by_signal = true, .number = SIGSEGV}.text() ==
        "ends by signal 11 (Segmentation fault)");
  CHECK(process_end{.by_signal = true, .number = SIGKILL}.text().find("memory") !=
        std::string::npos);
}

TEST_CASE("a worker is this program anew, and sends nothing by itself") {
  worker_process worker("test", {"--no-run"});
  while (!worker.ended()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK_FALSE(worker.ended()->by_signal);
  CHECK(worker.ended()->number == 0);
  CHECK(worker.read_lines().empty());
  CHECK(worker.page().item == worker_page::none);
  CHECK(worker.page().runs == 0);
}

TEST_CASE("a process that was not started as a worker has no parent to tell") {
  CHECK_THROWS_AS(worker_channel(), input_error);
}
