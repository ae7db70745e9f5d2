#include "common/made_once.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>

namespace gsofa {

TEST_CASE("threads that make an object at the same time share one") {
  std::atomic<const int*> place;
  std::atomic<int> made{0};
  const int* seen[2] = {};
  const auto use = [&](const int*& mine) {
    mine = &made_once(place, [&] {
      for (++made; made < 2;) std::this_thread::yield();
      return std::make_unique<int>(7);
    });
  };
  std::thread other([&] { use(seen[1]); });
  use(seen[0]);
  other.join();
  CHECK(seen[0] == seen[1]);
  CHECK(*seen[0] == 7);
  CHECK(&made_once(place, [] { return std::make_unique<int>(8); }) == seen[0]);
  const std::unique_ptr<const int> owned(seen[0]);
}

// A guard of a static variable would let the child wait for a thread that it lacks.
TEST_CASE("a process that is forked while a thread makes an object makes its own") {
  std::atomic<const int*> place;
  std::atomic<int> state{0};
  std::jthread makes([&] {
    made_once(place, [&] {
      state = 1;
      state.notify_all();
      state.wait(1);
      return std::make_unique<int>(1);
    });
  });
  state.wait(0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    alarm(60);
    _exit(made_once(place, [] { return std::make_unique<int>(2); }));
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WEXITSTATUS(status) == 2);
  state = 2;
  state.notify_all();
  makes.join();
  CHECK(*place == 1);
  const std::unique_ptr<const int> owned(place.load());
}

}  // namespace gsofa
