#include "variants/orderings/metis_library.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "common/preprocess.hpp"

#ifdef GSOFA_HAVE_METIS
#include <dlfcn.h>
#include <metis.h>
#endif

using namespace gsofa;

#ifdef GSOFA_HAVE_METIS

namespace {

struct graph {
  std::vector<index_t> xadj, adjncy;
};

// A square grid: METIS matches, separates and refines it at random.
const graph& grid() {
  static const graph made = [] {
    constexpr index_t side = 40;
    graph g{.xadj = {0}, .adjncy = {}};
    for (index_t v = 0; v < side * side; ++v) {
      if (v >= side) g.adjncy.push_back(v - side);
      if (v % side != 0) g.adjncy.push_back(v - 1);
      if (v % side != side - 1) g.adjncy.push_back(v + 1);
      if (v + side < side * side) g.adjncy.push_back(v + side);
      g.xadj.push_back(static_cast<index_t>(g.adjncy.size()));
    }
    return g;
  }();
  return made;
}

std::vector<index_t> order_with(const metis_library& by, const metis_options& options,
                                const std::atomic<bool>* stop = nullptr) {
  graph g = grid();
  return by.node_nd(g.xadj, g.adjncy, options, stop);
}

std::vector<index_t> order_by(const metis_library& by, std::int64_t seed,
                              const std::atomic<bool>* stop = nullptr) {
  return order_with(by, {.seed = seed}, stop);
}

// METIS as another user of the process has it, on rand() of the process.
std::vector<index_t> plain_order(std::int64_t seed, const std::map<int, idx_t>& values = {}) {
  static void* const library = dlopen(GSOFA_METIS_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library != nullptr);
  const auto node_nd = reinterpret_cast<decltype(METIS_NodeND)*>(dlsym(library, "METIS_NodeND"));
  const auto set_default_options = reinterpret_cast<decltype(METIS_SetDefaultOptions)*>(
      dlsym(library, "METIS_SetDefaultOptions"));
  std::vector<idx_t> xadj(grid().xadj.begin(), grid().xadj.end());
  std::vector<idx_t> adjncy(grid().adjncy.begin(), grid().adjncy.end());
  auto n = static_cast<idx_t>(xadj.size() - 1);
  std::vector<idx_t> perm(xadj.size() - 1), iperm(xadj.size() - 1);
  idx_t options[METIS_NOPTIONS];
  set_default_options(options);
  if (seed >= 0) options[METIS_OPTION_SEED] = static_cast<idx_t>(seed);
  for (const auto& [option, value] : values) options[option] = value;
  REQUIRE(node_nd(&n, xadj.data(), adjncy.data(), nullptr, options, perm.data(), iperm.data()) ==
          METIS_OK);
  return {perm.begin(), perm.end()};
}

// Whether all of 8 threads, 10 calls each, find `expected`.
bool all_find(const std::vector<index_t>& expected, std::int64_t seed) {
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&] {
        for (int k = 0; k < 10; ++k) wrong += order_by(metis(), seed) != expected ? 1 : 0;
      });
    }
  }
  return wrong == 0;
}

void note_signal(int /*number*/) {}

}  // namespace

TEST_CASE("orders are those of METIS on rand() of the C library") {
  for (const std::int64_t seed : {-1, 0, 1, 42, 2147483647}) {
    CAPTURE(seed);
    CHECK(order_by(metis(), seed) == plain_order(seed));
  }
  CHECK(plain_order(1) != plain_order(42));
}

TEST_CASE("options reach METIS, and the defaults are METIS's") {
  const std::vector<index_t> usual = plain_order(7);
  CHECK(plain_order(
            7, {{METIS_OPTION_NSEPS, 1}, {METIS_OPTION_UFACTOR, 200}, {METIS_OPTION_NO2HOP, 0}}) ==
        usual);
  const std::vector<index_t> uneven = order_with(metis(), {.seed = 7, .ufactor = 600});
  CHECK(uneven == plain_order(7, {{METIS_OPTION_UFACTOR, 600}}));
  CHECK(uneven != usual);
  // METIS makes no use of nseps below 2,000 vertices.
  CHECK(order_with(metis(), {.seed = 7, .nseps = 4}) == plain_order(7, {{METIS_OPTION_NSEPS, 4}}));
  CHECK(order_with(metis(), {.seed = 7, .no2hop = true}) ==
        plain_order(7, {{METIS_OPTION_NO2HOP, 1}}));
}

TEST_CASE("a copy has nothing of the METIS that the process has, and the process nothing of it") {
  const std::vector<index_t> expected = order_by(metis(), 7);
  const metis_library other(GSOFA_METIS_LIBRARY);
  CHECK(order_by(other, 7) == expected);
  CHECK(order_by(metis(), 7) == expected);
  // By this name all find the library of the process, if any: it has its own srand().
  if (void* const known = dlopen("libmetis.so.5", RTLD_LAZY | RTLD_NOLOAD)) {
    plain_order(7);
    const int next = std::rand();
    plain_order(7);
    CHECK(std::rand() == next);
    dlclose(known);
  }
}

TEST_CASE("METIS with indices of 64 bits is told by what it writes, and serves as well") {
  CHECK(metis().index_bits() == 8 * static_cast<int>(sizeof(idx_t)));
  const metis_library wide(GSOFA_FAKE_METIS);
  CHECK(wide.index_bits() == 64);
  std::vector<index_t> reverse(grid().xadj.size() - 1);
  for (std::size_t k = 0; k < reverse.size(); ++k) {
    reverse[k] = static_cast<index_t>(reverse.size() - 1 - k);
  }
  std::srand(5);
  const int next = std::rand();
  std::srand(5);
  CHECK(order_by(wide, 3) == reverse);
  CHECK(std::rand() == next);
  const auto shifted = [&](std::ptrdiff_t by) {
    std::vector<index_t> order = reverse;
    std::ranges::rotate(order, order.begin() + by);
    return order;
  };
  CHECK(order_with(wide, {.nseps = 2}) == shifted(2));
  CHECK(order_with(wide, {.ufactor = 300}) == shifted(300));
  CHECK(order_with(wide, {.nseps = 5, .no2hop = true}) == shifted(6));
}

TEST_CASE("a file that is no METIS is refused with its reason") {
  const auto said = [](const std::string& file) -> std::string {
    try {
      const metis_library none(file);
    } catch (const unavailable_error& e) {
      return e.what();
    }
    return "";
  };
  const std::string begin = "METIS cannot be loaded from ";
  CHECK(said("/nowhere/libmetis.so") == begin + "/nowhere/libmetis.so: No such file or directory");
  CHECK(said("/proc/self/exe").starts_with(begin + "/proc/self/exe: "));
  const std::string text = std::string(GSOFA_SOURCE_DIR) + "/README.md";
  CHECK(said(text) == begin + text + ": is no shared library of this machine");
  CHECK(said("/dev/null") == begin + "/dev/null: is no file with content");
  CHECK(said(GSOFA_SOURCE_DIR).starts_with(begin + GSOFA_SOURCE_DIR + ": "));
}

TEST_CASE("threads that order at the same time find the same") {
  CHECK(all_find(plain_order(7), 7));
}

TEST_CASE("more threads than places for calls find the same") {
  const auto expected = order_by(metis(), 7);
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 100; ++t) {
      threads.emplace_back([&] { wrong += order_by(metis(), 7) != expected ? 1 : 0; });
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("a child of fork() orders while threads of its parent do") {
  const auto expected = order_by(metis(), 7);
  std::atomic<bool> stop{false};
  std::vector<std::jthread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      while (!stop) order_by(metis(), 7);
    });
  }
  for (int k = 0; k < 5; ++k) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      _exit(order_by(metis(), 7) == expected ? 0 : 1);
    }
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
  stop = true;
}

TEST_CASE("orders do not depend on a thread that draws from rand() and seeds it all the time") {
  const auto expected = plain_order(7);
  std::jthread caller([](const std::stop_token& stop) {
    for (unsigned k = 0; !stop.stop_requested(); ++k) {
      std::srand(k);
      for (int draw = 0; draw < 50; ++draw) static_cast<void>(std::rand());
    }
  });
  CHECK(all_find(expected, 7));
}

TEST_CASE("the caller's rand() goes on as if nothing had been ordered") {
  std::srand(5);
  const std::vector<int> expected{std::rand(), std::rand(), std::rand()};
  std::srand(5);
  std::vector<int> drawn{std::rand()};
  order_by(metis(), 7);
  drawn.push_back(std::rand());
  order_by(metis(), 8);
  drawn.push_back(std::rand());
  CHECK(drawn == expected);
}

TEST_CASE("the caller's signal handlers are never replaced") {
  struct sigaction mine {
  }, before{};
  mine.sa_handler = note_signal;
  REQUIRE(sigaction(SIGTERM, &mine, &before) == 0);
  std::atomic<int> replaced{0};
  {
    std::jthread watcher([&](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        struct sigaction now {};
        sigaction(SIGTERM, nullptr, &now);
        replaced += now.sa_handler != note_signal ? 1 : 0;
      }
    });
    CHECK(all_find(order_by(metis(), 7), 7));
  }
  CHECK(replaced == 0);
  struct sigaction after {};
  REQUIRE(sigaction(SIGTERM, &before, &after) == 0);
  CHECK((after.sa_handler == note_signal));
}

TEST_CASE("a call that is to stop ends as cancelled, and the next one is whole") {
  const std::vector<index_t> expected = plain_order(7);
  for (const bool at_once : {true, false}) {
    std::atomic<bool> stop{at_once};
    // METIS takes this many patterns of 1,600 vertices longer than the other thread.
    std::jthread other([&] { stop = true; });
    bool cancelled = false;
    for (int k = 0; k < 100'000 && !cancelled; ++k) {
      try {
        order_by(metis(), 7, &stop);
      } catch (const cancelled_error&) {
        cancelled = true;
      }
    }
    CHECK(cancelled);
    other.join();
    stop = false;
    CHECK(order_by(metis(), 7, &stop) == expected);
  }
}

#else

TEST_CASE("without METIS its order is refused") {
  CHECK_THROWS_AS(compute_order(from_triplets({1, 1, {0}, {0}}, duplicates::reject), "metis", -1),
                  unavailable_error);
}

#endif
