#include "variants/panels/schedule.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <stdexcept>

#include "common/random.hpp"

using namespace gsofa;

namespace {

// A forest that has the numbering as a postorder: v takes some of the subtrees that are complete.
std::vector<index_t> random_forest(random_source& random, std::size_t n) {
  std::vector<index_t> parent(n, -1), open;
  for (std::size_t v = 0; v < n; ++v) {
    for (std::uint64_t k = random.below(4); k > 0 && !open.empty(); --k) {
      parent[at(open.back())] = static_cast<index_t>(v);
      open.pop_back();
    }
    open.push_back(static_cast<index_t>(v));
  }
  return parent;
}

// The first vertex of each subtree.
std::vector<index_t> first_of_subtrees(const std::vector<index_t>& parent) {
  std::vector<index_t> first(parent.size());
  for (std::size_t v = 0; v < first.size(); ++v) first[v] = static_cast<index_t>(v);
  for (std::size_t v = 0; v < first.size(); ++v) {
    if (parent[v] >= 0) first[at(parent[v])] = std::min(first[at(parent[v])], first[v]);
  }
  return first;
}

}  // namespace

TEST_CASE("every panel once, after all its children and with all they wrote") {
  random_source random(4);
  int alone = 0;
  int extended = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const auto n = static_cast<std::size_t>(random.below(trial < 30 ? 1000 : 60));
    const std::vector<index_t> parent = random_forest(random, n);
    std::vector<offset_t> before(n + 1, 0);
    for (std::size_t v = 0; v < n; ++v) {
      before[v + 1] = before[v] + static_cast<offset_t>(random.below(9));
    }
    for (const int threads : {1, 2, 5}) {
      // Not atomic: a parent may read what its children wrote only if the schedule orders it.
      std::vector<int> below(n, 1), calls(n, 0), worker(n, -1);
      std::vector<index_t> owns(n, -1);
      panels::subtree_tickets of;
      const std::vector<index_t> first = first_of_subtrees(parent);
      of.build(
          threads, parent, [&](index_t j) { return first[at(j)]; },
          [&](index_t j) { return before[at(j)]; });
      std::vector<char> above(n, 0);
      if (threads > 1) {
        of.for_each_above([&](index_t begin, index_t end) {
          std::fill(above.begin() + begin, above.begin() + end, 1);
        });
      }
      panels::for_each_panel(threads, parent, of, [&](int thread, const panels::panel_task& task) {
        const auto [j, own, is_above] = task;
        CHECK(is_above == (above[at(j)] != 0));
        CHECK(thread < threads);
        ++calls[at(j)];
        worker[at(j)] = thread;
        owns[at(j)] = own;
        const index_t p = parent[at(j)];
        for (index_t c = 0; c < j; ++c) {
          if (parent[at(c)] == j && owns[at(c)] < j) below[at(j)] += below[at(c)];
        }
        // Up to `own` nobody else writes.
        if (p >= 0 && p <= own) below[at(p)] += below[at(j)];
      });
      std::vector<int> size(n, 1);
      for (std::size_t v = 0; v < n; ++v) {
        if (parent[v] >= 0) size[at(parent[v])] += size[v];
        REQUIRE(owns[v] >= static_cast<index_t>(v));
        CHECK(worker[v] == worker[at(owns[v])]);
        alone += owns[v] == static_cast<index_t>(v) ? 1 : 0;
        extended += above[v] != 0 && owns[v] != static_cast<index_t>(v) ? 1 : 0;
      }
      CHECK(below == size);
      CHECK(calls == std::vector<int>(n, 1));
    }
  }
  CHECK(alone > 1000);
  CHECK(extended > 1000);
}

TEST_CASE("tickets are shared among threads, all of them and each once") {
  // 64 subtrees of two panels each, all of the same work, below one root.
  std::vector<index_t> parent(129, 128);
  for (index_t j = 0; j < 128; j += 2) parent[at(j)] = j + 1;
  parent[128] = -1;
  panels::subtree_tickets of;
  for (const int threads : {1, 2, 3, 4}) {
    of.build(
        threads, parent, [](index_t j) { return j == 128 ? 0 : j - j % 2; },
        [](index_t j) { return offset_t{j}; });
    CHECK(of.tickets.size() == 64);
    CHECK(of.panels_above() == 1);
    REQUIRE(of.begin.size() == at(threads) + 1);
    CHECK(of.begin.back() == of.order.size());
    for (int t = 0; t < threads; ++t) {
      CHECK(of.begin[at(t) + 1] - of.begin[at(t)] >= 64 / at(threads) - 2);
      CHECK(std::is_sorted(of.order.begin() + std::ptrdiff_t(of.begin[at(t)]),
                           of.order.begin() + std::ptrdiff_t(of.begin[at(t) + 1])));
    }
    // The last thread takes its own ones first, then all others.
    panels::ticket_shares shares(of, threads);
    std::vector<int> taken(64, 0);
    std::size_t ticket = 0;
    for (std::size_t k = of.begin[at(threads) - 1]; k < of.begin[at(threads)]; ++k) {
      REQUIRE(shares.take(threads - 1, ticket));
      CHECK(ticket == of.order[k]);
      ++taken[ticket];
    }
    while (shares.take(threads - 1, ticket)) ++taken[ticket];
    CHECK(taken == std::vector<int>(64, 1));
  }
}

TEST_CASE("an exception of one thread ends them all and is passed on") {
  std::vector<index_t> parent(1000, -1);
  for (const int threads : {1, 3}) {
    panels::subtree_tickets of;
    of.build(
        threads, parent, [](index_t j) { return j; }, [](index_t j) { return offset_t{j}; });
    CHECK_THROWS_AS(panels::for_each_panel(threads, parent, of,
                                           [](int, const panels::panel_task& task) {
                                             if (task.panel == 10) throw std::runtime_error("ten");
                                           }),
                    std::runtime_error);
  }
}

TEST_CASE("what panels leave for threads without one is done once by the end") {
  random_source random(5);
  panels::postponed_panels postponed;
  for (int trial = 0; trial < 60; ++trial) {
    const std::vector<index_t> parent = random_forest(random, 400);
    const std::vector<index_t> first = first_of_subtrees(parent);
    for (const int threads : {2, 5}) {
      panels::subtree_tickets of;
      of.build(
          threads, parent, [&](index_t j) { return first[at(j)]; },
          [](index_t j) { return offset_t{j}; });
      postponed.start(of.panels_above());
      // Not atomic: a panel is taken after it was added.
      std::vector<int> added(parent.size(), 0), taken(parent.size(), 0);
      const auto work = [&](int, const panels::panel_task& task) {
        if (!task.above) return;
        added[at(task.panel)] = 1;
        postponed.add(task.panel);
      };
      panels::for_each_panel(threads, parent, of, work, [&](int) {
        const index_t j = postponed.take();
        if (j < 0) return panels::idle_result::nothing;
        taken[at(j)] += added[at(j)];
        return panels::idle_result::worked;
      });
      CHECK(taken == added);
      CHECK(at(std::ranges::count(added, 1)) == of.panels_above());
      CHECK(postponed.take() == -1);
    }
  }
}

TEST_CASE("pieces of a job are each done once, with what their owner wrote, and seen by it") {
  struct job {
    std::vector<int>* done = nullptr;
    int value = 0;
  };
  for (const int threads : {1, 2, 5}) {
    panels::help_board<job> board(threads);
    // Not atomic: the board orders what owners and helpers write.
    std::vector<std::vector<int>> results(at(threads));
    std::atomic<int> owners{threads};
    std::atomic<int> helped{0};
    on_threads(threads, [&](int t) {
      std::vector<int>& mine = results[at(t)];
      for (int round = 1; round <= 200; ++round) {
        const auto pieces = static_cast<std::uint32_t>(1 + (round + t) % 7);
        mine.assign(pieces, 0);
        board.share(t, {.done = &mine, .value = round}, pieces,
                    [&](std::uint32_t k) { mine[k] += round; });
        CHECK(mine == std::vector<int>(pieces, round));
      }
      owners.fetch_sub(1);
      for (panels::waiting_thread w; owners.load() > 0;) {
        const auto found =
            board.help(t, [](const job& j, std::uint32_t k) { (*j.done)[k] += j.value; });
        if (found == panels::idle_result::worked) {
          helped.fetch_add(1);
          w.reset();
        } else {
          w.wait();
        }
      }
    });
    CHECK(board.helpers() <= threads);
    if (threads == 1) CHECK(helped.load() == 0);
  }
}

TEST_CASE("an owner does not wait for a piece that threw") {
  struct job {
    int value;
  };
  panels::help_board<job> board(2);
  std::atomic<bool> taken{false};
  const auto run = [&] {
    on_threads(2, [&](int t) {
      if (t == 0) {
        board.share(0, {.value = 1}, 2, [&](std::uint32_t) {
          for (panels::waiting_thread w; !taken.load();) w.wait();
        });
        return;
      }
      for (panels::waiting_thread w; !taken.load();) {
        board.help(1, [&](const job&, std::uint32_t) {
          taken.store(true);
          throw std::bad_alloc();
        });
        w.wait();
      }
    });
  };
  CHECK_THROWS_AS(run(), std::bad_alloc);
}

TEST_CASE("an owner whose piece throws leaves after the pieces that others have taken") {
  struct job {
    std::atomic<int>* begun;
    std::atomic<int>* ended;
  };
  panels::help_board<job> board(2);
  for (int round = 0; round < 50; ++round) {
    std::atomic<bool> taken{false};
    std::atomic<bool> left{false};
    on_threads(2, [&](int t) {
      if (t == 0) {
        std::atomic<int> begun{0};
        std::atomic<int> ended{0};
        const auto share = [&] {
          board.share(0, {.begun = &begun, .ended = &ended}, 4, [&](std::uint32_t) {
            for (panels::waiting_thread w; !taken.load();) w.wait();
            throw std::bad_alloc();
          });
        };
        CHECK_THROWS_AS(share(), std::bad_alloc);
        CHECK(begun.load() > 0);
        CHECK(ended.load() == begun.load());
        left.store(true);
        return;
      }
      // One piece, so that others are left for the owner.
      for (panels::waiting_thread w; !left.load();) {
        if (!taken.load())
          board.help(1, [&](const job& j, std::uint32_t) {
            j.begun->fetch_add(1);
            taken.store(true);
            for (int k = 0; k < 100; ++k) panels::waiting_thread{}.wait();
            j.ended->fetch_add(1);
          });
        w.wait();
      }
    });
  }
}
