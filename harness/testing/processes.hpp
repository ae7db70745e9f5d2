#pragma once

// What tests do with processes and their environment.

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

namespace gsofa::testing {

/// Sets an environment variable until the end of the scope.
struct environment {
  const char* name;
  environment(const char* n, const char* value) : name(n) { setenv(name, value, 1); }
  environment(const environment&) = delete;
  environment& operator=(const environment&) = delete;
  ~environment() { unsetenv(name); }
};

/// Everything that comes through a pipe until all processes have closed its other end.
inline std::string read_all(int from) {
  std::string out;
  std::array<char, 4096> buffer{};
  for (ssize_t size = 0; (size = read(from, buffer.data(), buffer.size())) > 0;) {
    out.append(buffer.data(), static_cast<std::size_t>(size));
  }
  close(from);
  return out;
}

/// What a process wrote to stdout and stderr, and its status from waitpid().
struct ended {
  std::string text;
  int status = 0;
};

/// Runs `body` in a process of its own, which ends with the status that `body` returns.
inline ended end_of(const std::function<int()>& body) {
  std::array<int, 2> said{};
  REQUIRE(pipe(said.data()) == 0);
  std::fflush(stdout);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    alarm(100);
    dup2(said[1], 1);
    dup2(said[1], 2);
    const int status = body();
    std::fflush(stdout);
    _exit(status);
  }
  close(said[1]);
  ended out;
  out.text = read_all(said[0]);
  REQUIRE(waitpid(child, &out.status, 0) == child);
  return out;
}

inline int times_in(const std::string& text, const std::string& words) {
  int times = 0;
  for (auto p = text.find(words); p != std::string::npos; p = text.find(words, p + 1)) ++times;
  return times;
}

}  // namespace gsofa::testing
