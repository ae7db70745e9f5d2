#pragma once

// Processes of a test, and what one of them gives the others.

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <functional>
#include <memory>
#include <new>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "harness/library/superlu/node_share.hpp"

namespace gsofa::superlu {

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

inline std::vector<int> numbers(int size) {
  std::vector<int> out(static_cast<std::size_t>(size));
  std::iota(out.begin(), out.end(), 7);
  return out;
}

inline descriptor memory_of(const std::vector<int>& values) {
  const std::array<std::span<const std::byte>, 1> parts{std::as_bytes(std::span(values))};
  return sealed_memory(parts);
}

inline bool holds(const descriptor& memory, const std::vector<int>& values) {
  const mapped_memory mapped(memory);
  const auto bytes = std::as_bytes(std::span(values));
  return std::ranges::equal(mapped.bytes(), bytes);
}

// Exit status of a process that waits: given these values, others, or nothing that can be mapped.
inline int result_of(node_share& share, const std::vector<int>& expected) {
  const mapped_memory mapped(share.wait());
  if (mapped.bytes().empty()) return nothing;
  return std::ranges::equal(mapped.bytes(), std::as_bytes(std::span(expected))) ? given : wrong;
}

}  // namespace gsofa::superlu
