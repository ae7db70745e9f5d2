// Processes of a node that want the same result: one finds it, every other one that lives gets it.
#include "harness/library/superlu/node_share.hpp"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>
#include <vector>

#include "harness/library/superlu/test_processes.hpp"

using namespace gsofa::superlu;
using namespace std::chrono_literals;

TEST_CASE("one process finds, the others get what it found and lend their processors") {
  for (const int count : {2, 5}) {
    const std::string name = new_name();
    const auto expected = numbers(100000);
    // The process that finds stays until the others have what it gave.
    const auto served = in_all_processes<std::atomic<int>>();
    const auto out = ends(count, [&](int k) {
      helper self;
      CPU_ZERO(&self.processors);
      CPU_SET(k, &self.processors);
      self.threads = k + 1;
      node_share share(name, count - 1, self);
      if (!share.finds()) {
        const int end = result_of(share, expected);
        ++*served;
        return end;
      }
      const auto others = share.helpers(10s, 10s);
      int threads = k + 1;
      cpu_set_t all = self.processors;
      for (const helper& other : others) {
        threads += other.threads;
        CPU_OR(&all, &all, &other.processors);
      }
      if (threads != count * (count + 1) / 2 || CPU_COUNT(&all) != count) return int{wrong};
      share.give([&](auto&) { return memory_of(expected); });
      while (*served + 1 < count) std::this_thread::sleep_for(1ms);
      return int{found};
    });
    std::vector<int> wanted(static_cast<std::size_t>(count), given);
    wanted[0] = found;
    CHECK(out == wanted);
  }
}

TEST_CASE("who asks late gets it too, while it is there") {
  const std::string name = new_name();
  const auto expected = numbers(1000);
  node_share first(name, 2, {});
  REQUIRE(first.finds());
  CHECK(first.helpers(1ms, 10s).empty());
  first.give([&](auto&) { return memory_of(expected); });
  for (int k = 0; k < 2; ++k) {
    node_share later(name, 2, {});
    REQUIRE(!later.finds());
    CHECK(result_of(later, expected) == given);
  }
  // All have been answered: the next one finds.
  std::this_thread::sleep_for(50ms);
  const node_share next(name, 2, {});
  CHECK(next.finds());
}

TEST_CASE("nobody waits for a process that was killed") {
  const std::string name = new_name();
  const auto out = ends(3, [&](int) {
    node_share share(name, 2, {});
    if (!share.finds()) return result_of(share, {});
    if (share.helpers(10s, 10s).size() == 2) kill(getpid(), SIGKILL);
    return int{wrong};
  });
  CHECK(out == std::vector<int>{nothing, nothing, 100 + SIGKILL});
}

TEST_CASE("nobody waits for a process that gave up, nor does it wait for others") {
  const std::string name = new_name();
  const auto out = ends(3, [&](int) {
    node_share share(name, 2, {});
    if (!share.finds()) return result_of(share, {});
    return share.helpers(10s, 10s).size() == 2 ? int{found} : int{wrong};
  });
  CHECK(out == std::vector<int>{found, nothing, nothing});
  const auto begin = std::chrono::steady_clock::now();
  {
    node_share alone(new_name(), 3, {});
    REQUIRE(alone.finds());
    CHECK(alone.helpers(1ms, 10s).empty());
    alone.give([](auto&) { return memory_of({1}); });
  }
  CHECK(std::chrono::steady_clock::now() - begin < 5s);
}

TEST_CASE("nobody waits where there is no memory to share") {
  const std::string name = new_name();
  const auto out = ends(2, [&](int) {
    node_share share(name, 1, {});
    if (!share.finds()) return result_of(share, {});
    share.give([](auto&) { return descriptor(); });
    std::this_thread::sleep_for(200ms);
    return int{found};
  });
  CHECK(out == std::vector<int>{found, nothing});
}

TEST_CASE("names are apart") {
  node_share a(new_name(), 1, {});
  node_share b(new_name(), 1, {});
  CHECK(a.finds());
  CHECK(b.finds());
}
