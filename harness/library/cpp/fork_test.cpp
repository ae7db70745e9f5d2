// Analyses in a process that was forked from one that had begun or ended some.

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "gsofa/gsofa.hpp"
#include "reference/test_patterns.hpp"

// The thread sanitizer starts no thread in a child of a process of several.
#ifndef __SANITIZE_THREAD__

namespace gsofa {
namespace {

using reference::testing::five_point_grid;
using reference::testing::random_pattern;

csr_view view_of(const pattern& a) { return {a.n_rows, a.row_ptr, a.col_idx}; }

pid_t begin_child(const auto& holds) {
  const pid_t child = fork();
  if (child != 0) return child;
  alarm(120);  // a child that hangs is killed
  int code = 2;
  try {
    code = holds() ? 0 : 1;
  } catch (...) {
  }
  _exit(code);
}

int end_of(pid_t child) {
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  return status;
}

// The wait status of a child that calls holds(): 0 if that returned true.
int in_child(const auto& holds) { return end_of(begin_child(holds)); }

bool same(const analysis& a, const analysis& b) {
  return a.row_order == b.row_order && a.l.col_idx == b.l.col_idx && a.u.col_idx == b.u.col_idx &&
         a.supernodal.rows == b.supernodal.rows && a.supernodal.segments == b.supernodal.segments;
}

analysis_options plain(int threads = 1) {
  return {.device = compute_device::cpu,
          .threads = threads,
          .order = order_method::amd,
          .factors = true,
          .supernodal = true};
}

TEST_CASE("an analyzer that is older than a fork works in the child") {
  const pattern a = five_point_grid(12);
  const pattern b = five_point_grid(9);
  for (const int threads : {1, 3}) {
    CAPTURE(threads);
    const analysis of_a = analyze(view_of(a), plain(threads));
    const analysis of_b = analyze(view_of(b), plain(threads));
    analyzer used(plain(threads)), unused(plain(threads)), other(plain(threads));
    const analysis& before = used.analyze(view_of(a));
    REQUIRE(same(before, of_a));
    REQUIRE(same(other.analyze(view_of(a)), of_a));
    const auto work = [&] {
      bool holds = same(before, of_a);  // a result of the parent stays
      holds = holds && same(used.analyze(view_of(b)), of_b);
      holds = holds && same(used.analyze(view_of(a)), of_a);
      holds = holds && same(unused.analyze(view_of(b)), of_b);
      holds = holds && same(other.analyze(view_of(b)), of_b);
      used = analyzer{};
      const analyzer moved = std::move(other);
      return holds;
    };
    CHECK(in_child(work) == 0);
    CHECK(in_child([&] { return in_child(work) == 0 && work(); }) == 0);
    CHECK(in_child([&] {
            const analyzer gone = std::move(used);
            return true;
          }) == 0);
    CHECK(work());
  }
}

// The allocator of the address sanitizer stays locked in a child that was forked while another
// thread was in it.
#ifndef __SANITIZE_ADDRESS__

TEST_CASE("processes forked while threads analyse") {
  std::mt19937_64 engine(71);
  const pattern a = random_pattern(engine, 300, 4);
  const auto options = plain(3);
  const analysis expected = analyze(view_of(a), options);
  std::atomic<bool> ends{false};
  std::vector<std::jthread> busy;
  for (int t = 0; t < 2; ++t) {
    busy.emplace_back([&] {
      analyzer by(options);
      while (!ends) by.analyze(view_of(a));
    });
  }
  std::vector<pid_t> children;
  for (int k = 0; k < 12; ++k) {
    children.push_back(begin_child([&] {
      analyzer by(options);
      return same(analyze(view_of(a), options), expected) && same(by.analyze(view_of(a)), expected);
    }));
  }
  for (const pid_t child : children) CHECK(end_of(child) == 0);
  ends = true;
}

TEST_CASE("a child forked by a callback has no analysis") {
  const pattern a = five_point_grid(50);
  pid_t child = 0;
  bool in_this_child = false;
  const auto forks = [&] {
    if (child != 0 || in_this_child) return;
    child = fork();
    in_this_child = child == 0;
    if (in_this_child) alarm(120);
  };
  // Calls analysis(options), in the child too.
  const auto check_child = [&](analysis_options options, const auto& analysis) {
    child = 0;
    bool refused = false;
    try {
      analysis(options);
    } catch (const analysis_error& e) {
      refused = e.kind() == failure::unavailable;
    }
    if (in_this_child) _exit(refused ? 0 : 1);
    CHECK_FALSE(refused);
    CHECK(end_of(child) == 0);
  };
  analysis_options watched = plain(2);
  watched.progress_seconds = 1e-5;
  int calls = 0;
  watched.progress = [&](const analysis_progress&) {
    if (++calls == 2) forks();  // the first one comes before there is another thread
    return true;
  };
  const auto again = [&](const auto& analysis) {
    return [&](const analysis_options& options) {
      while (child == 0 && !in_this_child) {
        calls = 0;
        analysis(options);
      }
    };
  };
  check_child(watched, again([&](const auto& options) { analyze(view_of(a), options); }));
  check_child(watched, again([&](const auto& options) { estimate(view_of(a), options); }));
  check_child(watched, again([&](const auto& options) { analyzer(options).analyze(view_of(a)); }));
}

#endif

}  // namespace
}  // namespace gsofa

#endif
