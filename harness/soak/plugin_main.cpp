// libgsofa as a plugin: threads load it, analyse, and unload it, again and again, while others do;
// a process that is forked meanwhile does so too. The program does not link the library.

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

#include "gsofa/gsofa.h"

namespace {

// A square grid, 5 points.
struct grid {
  std::vector<std::int64_t> row_ptr{0};
  std::vector<std::int32_t> col_idx;
  explicit grid(std::int32_t side) {
    for (std::int32_t v = 0; v < side * side; ++v) {
      if (v >= side) col_idx.push_back(v - side);
      if (v % side != 0) col_idx.push_back(v - 1);
      col_idx.push_back(v);
      if (v % side != side - 1) col_idx.push_back(v + 1);
      if (v + side < side * side) col_idx.push_back(v + side);
      row_ptr.push_back(static_cast<std::int64_t>(col_idx.size()));
    }
  }
  [[nodiscard]] std::int32_t n() const { return static_cast<std::int32_t>(row_ptr.size()) - 1; }
};

template <class Function>
bool find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  return function != nullptr;
}

// Null, or what is wrong.
const char* load_and_analyze(const char* path, const grid& a, std::int64_t& nnz_u) {
  void* const library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return "dlopen() fails";
  decltype(gsofa_analyze)* analyze = nullptr;
  decltype(gsofa_get_result_sized)* get_result = nullptr;
  decltype(gsofa_free)* release = nullptr;
  decltype(gsofa_last_error)* last_error = nullptr;
  if (!find(library, "gsofa_analyze", analyze) ||
      !find(library, "gsofa_get_result_sized", get_result) ||
      !find(library, "gsofa_free", release) || !find(library, "gsofa_last_error", last_error)) {
    return "a function is missing";
  }
  gsofa_analysis* f = nullptr;
  if (analyze(a.n(), a.row_ptr.data(), a.col_idx.data(), nullptr, &f) != GSOFA_OK) {
    return "an analysis fails";
  }
  gsofa_result r{};
  get_result(f, &r, sizeof r);
  nnz_u = r.nnz_u;
  release(f);
  if (analyze(-1, nullptr, nullptr, nullptr, &f) != GSOFA_INVALID_INPUT || *last_error() == '\0') {
    return "an order of -1 is not refused";
  }
  return dlclose(library) == 0 ? nullptr : "dlclose() fails";
}

// Loads and unloads in rounds until one fails or the time is over.
struct attack {
  const char* path;
  double seconds;
  long rounds_at_most;  // 0: any number
  std::atomic<long> rounds{0};
  std::atomic<int> failures{0};
  std::atomic<std::int64_t> expected{-1};
  const std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();

  [[nodiscard]] bool goes_on() const {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    return failures == 0 && (seconds <= 0 || spent.count() < seconds) &&
           (rounds_at_most == 0 || rounds < rounds_at_most);
  }
  void fail(const char* what) {
    ++failures;
    std::printf("failed: plugin: %s\n", what);
    std::fflush(stdout);
  }
  void run_round(const grid& a) {
    ++rounds;
    std::int64_t found = -1, before = -1;
    if (const char* const what = load_and_analyze(path, a, found)) return fail(what);
    if (!expected.compare_exchange_strong(before, found) && before != found) {
      fail("two analyses of one pattern differ");
    }
  }
  void fork_once([[maybe_unused]] const grid& a) {
// The allocator of the address sanitizer stays locked in the child where a thread was in it.
#ifndef __SANITIZE_ADDRESS__
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      std::int64_t found = -1;
      const char* const what = load_and_analyze(path, a, found);
      const std::int64_t before = expected;
      _exit(what == nullptr && (before < 0 || before == found) ? 0 : 1);
    }
    int status = -1;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) fail("a forked process");
#endif
  }
};

}  // namespace

int main(int argc, char** argv) {
  attack all{.path = GSOFA_LIBRARY, .seconds = 0, .rounds_at_most = 0};
  int threads = 4;
  for (int k = 1; k < argc; ++k) {
    const std::string_view word = argv[k];
    const char* const value = argv[k] + word.find('=') + 1;
    if (word.starts_with("--seconds=")) {
      all.seconds = std::strtod(value, nullptr);
    } else if (word.starts_with("--cases=")) {
      all.rounds_at_most = std::strtol(value, nullptr, 10);
    } else if (word.starts_with("--threads=")) {
      threads = static_cast<int>(std::strtol(value, nullptr, 10));
    } else {
      std::fprintf(stderr, "Usage: gsofa_soak_plugin [--seconds=S] [--cases=N] [--threads=T]\n");
      return 2;
    }
  }
  const grid a(20);
  std::vector<std::thread> others;
  for (int t = 1; t < threads; ++t) {
    others.emplace_back([&] {
      while (all.goes_on()) {
        // A new thread has nothing of the library yet.
        std::thread([&] { all.run_round(a); }).join();
      }
    });
  }
  while (all.goes_on()) {
    all.run_round(a);
    all.fork_once(a);
  }
  for (std::thread& t : others) t.join();
  std::printf("%ld executions\n", all.rounds.load());
  return all.failures == 0 ? 0 : 1;
}
