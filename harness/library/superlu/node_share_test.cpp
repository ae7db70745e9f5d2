// Processes of a node that want the same result: one finds it, every other one that lives gets it.
#include "harness/library/superlu/node_share.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <string>
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
      give(share, expected);
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
  give(first, expected);
  for (int k = 0; k < 2; ++k) {
    node_share later(name, 2, {});
    REQUIRE(!later.finds());
    CHECK(result_of(later, expected) == given);
  }
  // All have it: the next one finds.
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
    give(alone, {1});
  }
  CHECK(std::chrono::steady_clock::now() - begin < 5s);
}

TEST_CASE("nobody waits where there is no memory to share") {
  const std::string name = new_name();
  const auto out = ends(2, [&](int) {
    node_share share(name, 1, {});
    if (!share.finds()) return result_of(share, {});
    while (share.helpers(10s, 10s).empty()) continue;
    // The segment cannot grow.
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit none{1, 1};
    if (setrlimit(RLIMIT_FSIZE, &none) != 0) return int{wrong};
    give(share, numbers(100000));
    return int{found};
  });
  CHECK(out == std::vector<int>{found, nothing});
}

TEST_CASE("a process that cannot map the result finds it itself, the others receive it") {
  const std::string name = new_name();
  const auto expected = numbers(10'000'000);
  const auto served = in_all_processes<std::atomic<int>>();
  const auto out = ends(3, [&](int) {
    node_share share(name, 2, {});
    if (share.finds()) {
      if (share.helpers(10s, 10s).size() != 2) return int{wrong};
      give(share, expected);
      while (*served < 2) std::this_thread::sleep_for(1ms);
      return int{found};
    }
    if (served->fetch_add(1) == 0) {
      const rlimit little{1 << 20, 1 << 20};
      if (setrlimit(RLIMIT_AS, &little) != 0) return int{wrong};
    }
    return result_of(share, expected);
  });
  CHECK(out == std::vector<int>{found, given, nothing});
}

TEST_CASE("nobody waits longer than the limit for a process that is stopped") {
  const std::string name = new_name();
  node_share first(name, 1, {});
  REQUIRE(first.finds());
  const auto out = ends(1, [&](int) {
    node_share later(name, 1, {});
    return result_of(later, {}, 1s);
  });
  CHECK(out == std::vector<int>{nothing});
}

TEST_CASE("only this user opens the segment, and its name goes once all processes have it") {
  const std::string name = new_name();
  const std::string path = "/" + name;
  const auto is_there = [&] {
    const int file = shm_open(path.c_str(), O_RDONLY, 0);
    struct stat found {};
    const bool is_private = file >= 0 && fstat(file, &found) == 0 && (found.st_mode & 0777) == 0600;
    if (file >= 0) close(file);
    return is_private;
  };
  {
    node_share first(name, 2, {});
    CHECK(is_there());
    const node_share second(name, 2, {});
    CHECK(is_there());
    const node_share third(name, 2, {});
    CHECK(!is_there());
    give(first, {1});
  }
  {
    const node_share alone(name, 2, {});
    CHECK(is_there());
  }
  CHECK(!is_there());
}

TEST_CASE("without shared memory every process finds the result itself") {
  node_share share(std::string(300, 'x'), 1, {});  // too long for a name
  CHECK(share.finds());
  CHECK(share.is_alone());
  CHECK(share.helpers(1ms, 1ms).empty());
  give(share, {1});
}

TEST_CASE("names are apart") {
  node_share a(new_name(), 1, {});
  node_share b(new_name(), 1, {});
  CHECK(a.finds());
  CHECK(b.finds());
}
