#include "common/metis_guard.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <thread>
#include <vector>

#include "common/preprocess.hpp"

using namespace gsofa;

#ifdef GSOFA_HAVE_METIS

namespace {

struct graph {
  idx_t n = 0;
  std::vector<idx_t> xadj, adjncy;
};

// A square grid: METIS matches, separates and refines it at random.
const graph& grid() {
  static const graph made = [] {
    constexpr idx_t side = 40;
    graph g{.n = side * side, .xadj = {0}, .adjncy = {}};
    for (idx_t v = 0; v < g.n; ++v) {
      if (v >= side) g.adjncy.push_back(v - side);
      if (v % side != 0) g.adjncy.push_back(v - 1);
      if (v % side != side - 1) g.adjncy.push_back(v + 1);
      if (v + side < g.n) g.adjncy.push_back(v + side);
      g.xadj.push_back(static_cast<idx_t>(g.adjncy.size()));
    }
    return g;
  }();
  return made;
}

struct arguments {
  graph g = grid();
  std::vector<idx_t> perm = std::vector<idx_t>(static_cast<std::size_t>(g.n));
  std::vector<idx_t> iperm = perm;
  idx_t options[METIS_NOPTIONS] = {};

  explicit arguments(idx_t seed) {
    METIS_SetDefaultOptions(options);
    options[METIS_OPTION_SEED] = seed;
  }
};

// METIS as it is, on rand() of the process.
std::vector<idx_t> plain_order(idx_t seed) {
  arguments a(seed);
  REQUIRE(METIS_NodeND(&a.g.n, a.g.xadj.data(), a.g.adjncy.data(), nullptr, a.options,
                       a.perm.data(), a.iperm.data()) == METIS_OK);
  return a.perm;
}

std::vector<idx_t> guarded_order(idx_t seed, metis_isolation most = metis_isolation::bound) {
  arguments a(seed);
  CHECK(metis_node_nd(a.g.n, a.g.xadj.data(), a.g.adjncy.data(), a.options, a.perm.data(),
                      a.iperm.data(), most) == most);
  return a.perm;
}

// Whether all of 8 threads, 10 calls each, find `expected`.
bool all_find(const std::vector<idx_t>& expected, idx_t seed, metis_isolation most) {
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&] {
        for (int k = 0; k < 10; ++k) wrong += guarded_order(seed, most) != expected ? 1 : 0;
      });
    }
  }
  return wrong == 0;
}

constexpr metis_isolation both[] = {metis_isolation::bound, metis_isolation::locked};

void note_signal(int /*number*/) {}

}  // namespace

TEST_CASE("guarded orders are those of METIS on rand() of the C library") {
  for (const idx_t seed : {-1, 0, 1, 42, 2147483647}) {
    CAPTURE(seed);
    const auto expected = plain_order(seed);
    for (const metis_isolation most : both) CHECK(guarded_order(seed, most) == expected);
  }
  CHECK(plain_order(1) != plain_order(42));
}

TEST_CASE("threads that order at the same time find the same") {
  const auto expected = plain_order(7);
  for (const metis_isolation most : both) CHECK(all_find(expected, 7, most));
}

TEST_CASE("orders do not depend on a thread that draws from rand() and seeds it all the time") {
  const auto expected = plain_order(7);
  std::jthread caller([](const std::stop_token& stop) {
    for (unsigned k = 0; !stop.stop_requested(); ++k) {
      std::srand(k);
      for (int draw = 0; draw < 50; ++draw) static_cast<void>(std::rand());
    }
  });
  CHECK(all_find(expected, 7, metis_isolation::bound));
}

TEST_CASE("the caller's rand() goes on as if nothing had been ordered") {
  std::srand(5);
  const std::vector<int> expected{std::rand(), std::rand(), std::rand()};
  for (const metis_isolation most : both) {
    std::srand(5);
    std::vector<int> drawn{std::rand()};
    guarded_order(7, most);
    drawn.push_back(std::rand());
    guarded_order(8, most);
    drawn.push_back(std::rand());
    CHECK(drawn == expected);
  }
}

TEST_CASE("METIS called directly still draws from the caller's rand()") {
  guarded_order(7);
  plain_order(7);
  const int next = std::rand();
  plain_order(7);
  CHECK(std::rand() == next);
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
    CHECK(all_find(guarded_order(7), 7, metis_isolation::bound));
  }
  CHECK(replaced == 0);
  CHECK(all_find(guarded_order(7), 7, metis_isolation::locked));
  struct sigaction after {};
  REQUIRE(sigaction(SIGTERM, &before, &after) == 0);
  CHECK((after.sa_handler == note_signal));
}

TEST_CASE("a call that is to stop ends as cancelled, and the next one is whole") {
  const std::vector<idx_t> expected = plain_order(7);
  for (const bool at_once : {true, false}) {
    std::atomic<bool> stop{at_once};
    arguments a(7);
    // METIS takes this many patterns of 1,600 vertices longer than the other thread.
    std::jthread other([&] { stop = true; });
    bool cancelled = false;
    for (int k = 0; k < 100'000 && !cancelled; ++k) {
      a = arguments(7);
      try {
        metis_node_nd(a.g.n, a.g.xadj.data(), a.g.adjncy.data(), a.options, a.perm.data(),
                      a.iperm.data(), metis_isolation::bound, &stop);
      } catch (const cancelled_error&) {
        cancelled = true;
      }
    }
    CHECK(cancelled);
    other.join();
    stop = false;
    a = arguments(7);
    CHECK(metis_node_nd(a.g.n, a.g.xadj.data(), a.g.adjncy.data(), a.options, a.perm.data(),
                        a.iperm.data(), metis_isolation::bound, &stop) == metis_isolation::bound);
    CHECK(a.perm == expected);
  }
}

#else

TEST_CASE("without METIS its order is refused") {
  CHECK_THROWS_AS(compute_order(from_triplets({1, 1, {0}, {0}}, duplicates::reject), "metis", -1),
                  unavailable_error);
}

#endif
