// Processes of a node that look for the same: one finds it, whoever else lives gets it.
#include "harness/superlu/node_share.hpp"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

using namespace gsofa::superlu;
using namespace std::chrono_literals;

namespace {

// What a process of a test says at its end.
enum : int { found = 10, given = 20, nothing = 30, wrong = 40 };

std::string new_name() {
  static int count = 0;
  return "gsofa.test." + std::to_string(getpid()) + "." + std::to_string(count++);
}

// The ends of processes 0 .. count - 1, in ascending order; a signal counts as 100 and its number.
std::vector<int> ends(int count, const std::function<int(int)>& body) {
  std::vector<pid_t> children;
  for (int k = 0; k < count; ++k) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);  // a process that waits for ever
      _exit(body(k));
    }
    REQUIRE(child > 0);
    children.push_back(child);
  }
  std::vector<int> out;
  for (const pid_t child : children) {
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    out.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status));
  }
  std::ranges::sort(out);
  return out;
}

// An object that the processes of a test share.
template <class T>
std::unique_ptr<T, void (*)(T*)> in_all_processes() {
  void* const place =
      mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(place != MAP_FAILED);
  return {new (place) T(), [](T* t) { munmap(t, sizeof(T)); }};
}

std::vector<int> numbers(int size) {
  std::vector<int> out(static_cast<std::size_t>(size));
  std::iota(out.begin(), out.end(), 7);
  return out;
}

descriptor memory_of(const std::vector<int>& values) {
  const std::array<std::span<const std::byte>, 1> parts{std::as_bytes(std::span(values))};
  return sealed_memory(parts);
}

bool holds(const descriptor& memory, const std::vector<int>& values) {
  const mapped_memory mapped(memory);
  const auto bytes = std::as_bytes(std::span(values));
  return std::ranges::equal(mapped.bytes(), bytes);
}

// Of a process that waits.
int result_of(node_share& share, const std::vector<int>& expected) {
  const descriptor memory = share.wait();
  if (!memory) return nothing;
  return holds(memory, expected) ? given : wrong;
}

}  // namespace

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
      share.give([&] { return memory_of(expected); });
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
  first.give([&] { return memory_of(expected); });
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
    alone.give([] { return memory_of({1}); });
  }
  CHECK(std::chrono::steady_clock::now() - begin < 5s);
}

TEST_CASE("nobody waits where there is no memory to share") {
  const std::string name = new_name();
  const auto out = ends(2, [&](int) {
    node_share share(name, 1, {});
    if (!share.finds()) return result_of(share, {});
    share.give([] { return descriptor(); });
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

TEST_CASE("only memory that cannot change is taken") {
  const auto values = numbers(10);
  descriptor open_memory(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(write(open_memory.get(), values.data(), sizeof(int) * values.size()) > 0);
  CHECK(mapped_memory(open_memory).bytes().empty());
  CHECK(mapped_memory(descriptor()).bytes().empty());
  const descriptor sealed = memory_of(values);
  CHECK(holds(sealed, values));
  CHECK(write(sealed.get(), "x", 1) < 0);
  CHECK(ftruncate(sealed.get(), 1) != 0);
  CHECK(!memory_of({}));
}
