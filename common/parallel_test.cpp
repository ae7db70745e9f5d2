#include "common/parallel.hpp"

#include <doctest/doctest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace gsofa;

TEST_CASE("ranges cover every index once, also next to the largest index") {
  for (int threads : {1, 2, 5}) {
    for (int n : {0, 1, 7, 100}) {
      std::vector<std::atomic<int>> hits(static_cast<std::size_t>(n));
      parallel_ranges<int>(threads, n, 3, [&](int, int begin, int end) {
        for (int i = begin; i < end; ++i) ++hits[static_cast<std::size_t>(i)];
      });
      for (const auto& h : hits) CHECK(h == 1);
    }
  }
  constexpr std::int32_t huge = 2147483647;
  std::atomic<std::int64_t> covered{0};
  parallel_ranges<std::int32_t>(
      2, huge, 1 << 30, [&](int, std::int32_t begin, std::int32_t end) { covered += end - begin; });
  CHECK(covered == huge);
}

TEST_CASE("every part is taken once, also by few threads, until one throws") {
  for (const bool kept : {false, true}) {
    const kept_threads threads(kept ? 7 : 1);
    for (int parts : {1, 2, 7}) {
      for (int round = 0; round < 100; ++round) {
        std::vector<int> hits(static_cast<std::size_t>(parts), 0);
        parallel_parts(parts, [&](int part) { ++hits[static_cast<std::size_t>(part)]; });
        for (const int h : hits) CHECK(h == 1);
      }
      const auto fails = [&] {
        parallel_parts(parts, [&](int part) {
          if (part == parts - 1) throw std::runtime_error("x");
        });
      };
      CHECK_THROWS_AS(fails(), std::runtime_error);
    }
  }
}

TEST_CASE("a call admits threads until it is closed, and waits for those in it") {
  detail::call_gate gate;
  const auto look = [](const auto& done) { return done(); };
  CHECK_FALSE(gate.enter(0));
  for (std::uint32_t call = 1; call < 200; ++call) {
    gate.open(call);
    CHECK_FALSE(gate.enter(call - 1));
    CHECK_FALSE(gate.enter(call + 1));
    REQUIRE(gate.enter(call));
    int written = 0;  // not atomic: close() orders it
    std::jthread other([&] {
      if (call % 2 == 0) std::this_thread::yield();
      written = 1;
      gate.leave();
    });
    gate.close(look);
    CHECK(written == 1);
    CHECK_FALSE(gate.enter(call));
  }
}

TEST_CASE("no thread starts that can have no work") {
  CHECK(useful_threads(4, 100) == 4);
  CHECK(useful_threads(4, std::size_t{3}) == 3);
  CHECK(useful_threads(4, std::int64_t{1} << 40) == 4);
  CHECK(useful_threads(4, 0) == 1);
  CHECK(useful_threads(0, 5) == 1);
  // The ranges [0, 2) and [2, 3) wait for each other, so that two threads take them.
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> arrived{0}, largest{0};
    parallel_ranges<int>(50, 3, 2, [&](int t, int, int) {
      ++arrived;
      while (arrived != 2) std::this_thread::yield();
      for (int seen = largest; seen < t && !largest.compare_exchange_weak(seen, t);) continue;
    });
    CHECK(largest == 1);
  }
}

TEST_CASE("no thread begins before all exist") {
  // Each waits for all others: a body that began early would wait for ever.
  for (int threads : {1, 2, 9}) {
    std::atomic<int> arrived{0};
    on_threads(threads, [&](int) {
      ++arrived;
      while (arrived != threads) std::this_thread::yield();
    });
    CHECK(arrived == threads);
  }
}

TEST_CASE("kept threads do all that new ones do, again and again") {
  const kept_threads kept(2);
  std::vector<std::thread::id> first;
  for (int round = 0; round < 300; ++round) {
    const int threads = 1 + round % 7;
    std::vector<std::thread::id> who(static_cast<std::size_t>(threads));
    std::atomic<int> arrived{0};
    on_threads(threads, [&](int t) {
      who[static_cast<std::size_t>(t)] = std::this_thread::get_id();
      ++arrived;
      while (arrived != threads) std::this_thread::yield();
    });
    CHECK(who[0] == std::this_thread::get_id());
    // The same threads as before, as far as there were any.
    for (std::size_t t = 0; t < who.size(); ++t) {
      if (t == first.size()) first.push_back(who[t]);
      CHECK(who[t] == first[t]);
    }
    CHECK_THROWS_WITH_AS(on_threads(threads,
                                    [&](int t) {
                                      if (t == threads - 1) throw std::runtime_error("one");
                                    }),
                         "one", std::runtime_error);
  }
  CHECK(first.size() == 7);
}

TEST_CASE("a body on kept threads may need threads itself") {
  const kept_threads kept(2);
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> visits{0};
    on_threads(3, [&](int) { on_threads(2, [&](int) { ++visits; }); });
    CHECK(visits == 6);
  }
  {
    const kept_threads inner(2);  // of no effect
    std::atomic<int> visits{0};
    on_threads(4, [&](int) { ++visits; });
    CHECK(visits == 4);
  }
  std::atomic<int> visits{0};
  on_threads(5, [&](int) { ++visits; });
  CHECK(visits == 5);
}

namespace {
std::vector<std::thread::id> who_works(int threads) {
  const kept_threads kept(2);
  std::vector<std::thread::id> who(static_cast<std::size_t>(threads));
  on_threads(threads,
             [&](int t) { who[static_cast<std::size_t>(t)] = std::this_thread::get_id(); });
  return who;
}
}  // namespace

TEST_CASE("a run has the threads of the one before it") {
  const auto first = who_works(4);
  for (int round = 0; round < 50; ++round) {
    const auto threads = static_cast<std::size_t>(2 + round % 3);
    const auto again = who_works(static_cast<int>(threads));
    CHECK(std::equal(again.begin(), again.end(), first.begin()));
    // Sleeping ones, too.
    if (round % 10 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

TEST_CASE("runs at the same time have threads of their own") {
  constexpr int runs = 3;
  for (int round = 0; round < 20; ++round) {
    std::vector<std::vector<std::thread::id>> who(runs);
    std::atomic<int> arrived{0};
    std::vector<std::jthread> callers;
    for (auto& of_run : who) {
      callers.emplace_back([&] {
        const kept_threads kept(2);
        of_run.resize(3);
        on_threads(3, [&](int t) {
          of_run[static_cast<std::size_t>(t)] = std::this_thread::get_id();
          ++arrived;
          while (arrived != 3 * runs) std::this_thread::yield();
        });
      });
    }
    callers.clear();
    std::set<std::thread::id> all;
    for (const auto& of_run : who) all.insert(of_run.begin(), of_run.end());
    CHECK(all.size() == 3 * runs);
  }
}

TEST_CASE("threads run where those that the caller starts would") {
  cpu_set_t before;
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  static_cast<void>(who_works(3));
  cpu_set_t one;
  CPU_ZERO(&one);
  for (std::size_t k = 0; k < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++k) {
    if (CPU_ISSET(k, &before) != 0) CPU_SET(k, &one);
  }
  for (const cpu_set_t& set : {one, before, one}) {
    REQUIRE(sched_setaffinity(0, sizeof set, &set) == 0);
    const kept_threads kept(2);
    std::atomic<int> same{0};
    on_threads(3, [&](int) {
      cpu_set_t mine;
      if (sched_getaffinity(0, sizeof mine, &mine) == 0 && CPU_EQUAL(&mine, &set) != 0) ++same;
    });
    CHECK(same == 3);
  }
  REQUIRE(sched_setaffinity(0, sizeof before, &before) == 0);
}

// The thread sanitizer starts no thread in a child of a process of several.
#ifndef __SANITIZE_THREAD__
TEST_CASE("a forked process starts threads of its own") {
  static_cast<void>(who_works(4));
  const kept_threads kept(2);
  std::atomic<int> visits{0};
  const auto visit = [&](int) { ++visits; };
  on_threads(4, visit);  // of which the child, too, is in the run
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    visits = 0;
    for (int round = 0; round < 3; ++round) on_threads(4, visit);
    static_cast<void>(who_works(3));
    _exit(visits == 12 ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  on_threads(4, visit);
  CHECK(visits == 8);
}

TEST_CASE("a thread of a forked process has nothing to do with threads that kept a team before") {
  std::atomic<int> state{0};
  std::jthread keeps([&] {
    const kept_threads kept(3);
    on_threads(3, [](int) {});
    state = 1;
    state.notify_all();
    state.wait(1);
  });
  state.wait(0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    alarm(60);
    std::atomic<int> visits{0};
    // They may get the names of the lost threads.
    for (int k = 0; k < 4; ++k) {
      std::thread([&] { on_threads(3, [&](int) { ++visits; }); }).join();
    }
    _exit(visits == 12 ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  state = 2;
  state.notify_all();
}
#endif

TEST_CASE("levels end when there is none left, and at the first exception of either side") {
  for (int threads : {1, 2, 5}) {
    CAPTURE(threads);
    std::atomic<int> visits{0};
    int levels = 0;
    parallel_levels(
        threads, [&](int) { ++visits; }, [&] { return ++levels < 7; });
    CHECK(levels == 7);
    CHECK(visits == 7 * threads);

    levels = 0;
    const auto work_fails = [&] {
      parallel_levels(
          threads,
          [&](int t) {
            if (levels == 3 && t == threads - 1) throw std::runtime_error("work");
          },
          [&] { return ++levels < 7; });
    };
    CHECK_THROWS_WITH_AS(work_fails(), "work", std::runtime_error);
    CHECK(levels == 3);

    levels = 0;
    const auto step_fails = [&] {
      parallel_levels(
          threads, [](int) {},
          [&]() -> bool {
            if (++levels == 4) throw std::runtime_error("step");
            return true;
          });
    };
    CHECK_THROWS_WITH_AS(step_fails(), "step", std::runtime_error);
    CHECK(levels == 4);
  }
}

TEST_CASE("an exception on any thread reaches the caller") {
  for (int threads : {1, 3}) {
    CHECK_THROWS_AS(parallel_ranges<int>(threads, 100, 1,
                                         [](int, int begin, int) {
                                           if (begin == 50) throw std::runtime_error("x");
                                         }),
                    std::runtime_error);
  }
}
