#pragma once

// Processes of a test, and what one of them gives the others.

#include <doctest/doctest.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "harness/library/superlu/node_share.hpp"
#include "harness/testing/processes.hpp"

namespace gsofa::superlu {

using testing::end_of;
using testing::ended;
using testing::times_in;

// Exit statuses of the processes of a test.
enum : int { found = 10, given = 20, nothing = 30, wrong = 40 };

inline std::string new_name() {
  static int count = 0;
  return "gsofa.test." + std::to_string(getpid()) + "." + std::to_string(count++);
}

// Exit statuses of processes 0 .. count - 1, in ascending order; a signal counts as 100 + its
// number.
inline std::vector<int> ends(int count, const std::function<int(int)>& body) {
  std::vector<pid_t> children;
  for (int k = 0; k < count; ++k) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);  // ends a process that waits without a limit
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

/// Runs `body` in three processes with the environment of a job of three ranks, verbose, that share
/// results of every size. `body` calls its argument to wait for the others, and returns whether all
/// was right. Returns what they wrote to stderr.
inline std::string said_by_job_of_three(
    const std::function<bool(const std::function<void()>& wait_for_all)>& body) {
  constexpr int processes = 3;
  struct barrier {
    pthread_barrier_t value;
  };
  const auto all = in_all_processes<barrier>();
  pthread_barrierattr_t attributes;
  pthread_barrierattr_init(&attributes);
  pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  REQUIRE(pthread_barrier_init(&all->value, &attributes, processes) == 0);
  std::array<int, 2> said{};
  REQUIRE(pipe(said.data()) == 0);
  std::vector<pid_t> children;
  for (int k = 0; k < processes; ++k) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child > 0) {
      children.push_back(child);
      continue;
    }
    alarm(100);
    dup2(said[1], 2);
    setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "3", 1);
    setenv("GSOFA_SUPERLU", "verbose", 1);
    setenv("GSOFA_SUPERLU_SHARE", "1", 1);
    _exit(body([&] { pthread_barrier_wait(&all->value); }) ? 0 : 1);
  }
  close(said[1]);
  std::string text = testing::read_all(said[0]);
  for (const pid_t child : children) {
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
  return text;
}

inline std::vector<int> numbers(int size) {
  std::vector<int> out(static_cast<std::size_t>(size));
  std::iota(out.begin(), out.end(), 7);
  return out;
}

inline void give(node_share& share, const std::vector<int>& values) {
  const std::array<std::span<const std::byte>, 1> parts{std::as_bytes(std::span(values))};
  share.give(parts);
}

// Exit status of a process that waits: given these values, others, or nothing.
inline int result_of(node_share& share, const std::vector<int>& expected,
                     std::chrono::seconds limit = std::chrono::seconds(600)) {
  const shared_bytes shared = share.wait(limit);
  if (shared.bytes.empty()) return nothing;
  return std::ranges::equal(shared.bytes, std::as_bytes(std::span(expected))) ? given : wrong;
}

}  // namespace gsofa::superlu
