// Tests what the MPI job shows under mpirun only: collectives, the shared counter, agreement on
// errors, and workers that throw. Exit status 0 if all is well; each failed check is one line.

#include <cstdio>
#include <new>
#include <numeric>
#include <stdexcept>
#include <string>

#include "common/generators.hpp"
#include "common/parallel.hpp"
#include "common/process.hpp"
#include "common/rank_errors.hpp"
#include "common/shared_counter.hpp"
#include "harness/run/distribute.hpp"
#include "variants/maxid/distributed/driver.hpp"

using namespace gsofa;

namespace {

int failures = 0;

void check(bool ok, const std::string& what) {
  if (ok) return;
  ++failures;
  std::fprintf(stderr, "rank %d: failed: %s\n", mpi_context::world().rank(), what.c_str());
}

void check_collectives(mpi_context& j) {
  const std::int64_t ranks = j.ranks();
  check(j.sum(std::int64_t{j.rank()}) == ranks * (ranks - 1) / 2, "sum");
  check(j.max(std::int64_t{j.rank()}) == ranks - 1, "max");
  check(j.min(std::int64_t{j.rank()}) == 0, "min");
  check(j.max(0.5 * j.rank()) == 0.5 * static_cast<double>(ranks - 1), "max of doubles");
  std::string text = j.root() ? "from rank 0" : "";
  j.broadcast(text);
  check(text == "from rank 0", "broadcast of a string");
  std::string none = j.root() ? "" : "something";
  j.broadcast(none);
  check(none.empty(), "broadcast of an empty string");
  // Rank r sends r numbers: rank 0 none.
  std::vector<int> mine(static_cast<std::size_t>(j.rank()), j.rank());
  const auto parts = j.gather(mine);
  check(parts.size() == (j.root() ? static_cast<std::size_t>(ranks) : 0), "gather: parts");
  for (std::size_t r = 0; r < parts.size(); ++r) {
    check(parts[r] == std::vector<int>(r, static_cast<int>(r)), "gather: a part");
  }
  std::vector<double> sums(3, j.rank());
  j.sum_to_root(sums);
  if (j.root()) {
    check(sums == std::vector<double>(3, static_cast<double>(ranks * (ranks - 1)) / 2.0), "reduce");
  }
  const auto& nodes = j.ranks_per_node();
  check(std::accumulate(nodes.begin(), nodes.end(), 0) == j.ranks(), "ranks of all nodes");
  check(j.node() < j.nodes() && j.node_rank() < nodes[static_cast<std::size_t>(j.node())],
        "place on the node");
}

// Every number comes to one taker, over all ranks and threads.
void check_counter(mpi_context& j) {
  constexpr int threads = 2;
  constexpr std::int64_t each = 300;
  shared_counter counter(j);
  for (int round = 0; round < 3; ++round) {
    counter.reset();
    std::vector<std::vector<std::int64_t>> got(threads);
    {
      const shared_counter::progress answering(counter);
      on_threads(threads, [&](int t) {
        for (std::int64_t k = 0; k < each; ++k) {
          got[static_cast<std::size_t>(t)].push_back(counter.fetch_add(1));
        }
      });
      check(!counter.raised(), "flag is down");
    }
    j.barrier();
    if (j.rank() == j.ranks() - 1) counter.raise();
    j.barrier();
    check(counter.raised(), "flag is up on every rank");
    std::vector<std::int64_t> all;
    for (const auto& g : got) all.insert(all.end(), g.begin(), g.end());
    const auto lists = j.gather(all);
    if (!j.root()) continue;
    std::vector<int> times(static_cast<std::size_t>(each * threads * j.ranks()), 0);
    for (const auto& list : lists) {
      for (const std::int64_t v : list) ++times.at(static_cast<std::size_t>(v));
    }
    check(std::ranges::all_of(times, [](int t) { return t == 1; }), "every number once");
  }
}

template <class Thrown, class Expected>
void check_agreement(mpi_context& j, const Thrown& thrown, int thrower, const std::string& text) {
  bool caught = false;
  try {
    j.collective_try([&] {
      if (j.rank() >= thrower) throw Thrown(thrown);
    });
  } catch (const Expected& e) {
    caught = true;
    const std::string expected =
        (thrower == 0 ? "" : "rank " + std::to_string(thrower) + ": ") + text;
    check(e.what() == expected, std::string("message '") + e.what() + "', not '" + expected + "'");
    check(j.ranks() == 1 || dynamic_cast<const thrown_by_all_ranks*>(&e) != nullptr,
          "known to be thrown by all");
  }
  check(caught, "every rank throws: " + text);
}

void check_agreements(mpi_context& j) {
  const int last = j.ranks() - 1;
  j.collective_try([] {});
  check_agreement<input_error, error>(j, input_error("bad"), 0, "bad");
  check_agreement<timeout_error, timeout_error>(j, timeout_error("late"), last, "late");
  check_agreement<budget_error, budget_error>(j, budget_error("small"), last, "small");
  check_agreement<std::runtime_error, std::runtime_error>(j, std::runtime_error("odd"), last,
                                                          "odd");
  if (j.ranks() > 1) {
    check_agreement<std::bad_alloc, budget_error>(j, std::bad_alloc(), last, "out of host memory");
  }
}

// Finds nothing, and throws in its `fatal`-th find() on the last rank.
class throwing_engine final : public maxid::node_engine, public maxid::row_engine {
 public:
  throwing_engine(int workers, int fatal) : workers_(workers), fatal_(fatal) {}
  [[nodiscard]] int workers() const override { return workers_; }
  [[nodiscard]] index_t concurrent_sources() const override { return 8; }
  [[nodiscard]] maxid::row_engine& worker(int) override { return *this; }
  void find(std::span<const maxid::row_set>, const maxid::row_results&,
            const run_context&) override {
    const mpi_context& j = mpi_context::world();
    if (++finds_ == fatal_ && j.rank() == j.ranks() - 1) throw std::runtime_error("worker fails");
  }
  void deliver(detail::row_store&, int) override {}
  [[nodiscard]] bool has_l(index_t, index_t) const override { return false; }

 private:
  int workers_, fatal_;
  std::atomic<int> finds_{0};
};

void check_failing_worker(mpi_context& j) {
  pattern a;
  a.n_rows = a.n_cols = 400;
  for (index_t i = 0; i < 400; ++i) {
    a.col_idx.push_back(i);
    a.row_ptr.push_back(i + 1);
  }
  for (const auto& schedule : maxid::schedule_names()) {
    for (const int workers : {1, 3}) {
      // The last rank finds at least once whatever the schedule, except under dynamic.
      const int fatal = schedule == "dynamic" ? 1 << 20 : 1;
      throwing_engine engine(workers, fatal);
      run_settings settings;
      const auto options = maxid::distribution_options();
      settings.options = option_set(options);
      settings.options.set(options, "schedule", schedule);
      settings.wants = want_set(want::counts) | want::supernodes;
      settings.chunk_size = 16;
      run_context context;
      maxid::distributed_driver driver(a, settings, engine, context);
      std::string what = "none";
      try {
        driver.run(context);
      } catch (const std::exception& e) {
        what = e.what();
      }
      const int last = j.ranks() - 1;
      const std::string expected =
          fatal > 1 ? "none"
                    : (last == 0 ? "" : "rank " + std::to_string(last) + ": ") + "worker fails";
      check(what == expected, schedule + ": '" + what + "', not '" + expected + "'");
    }
  }
}

int run() {
  mpi_context& j = mpi_context::world();
  check_collectives(j);
  check_counter(j);
  check_agreements(j);
  check_failing_worker(j);
  const auto all = j.sum(std::int64_t{failures});
  if (j.root()) std::printf("%d ranks: %s\n", j.ranks(), all == 0 ? "all well" : "FAILED");
  j.finish();
  return all == 0 ? 0 : 1;
}

}  // namespace

int main() {
  guard_descriptors();
  try {
    return run();
  } catch (const unavailable_error& e) {
    // The ranks make no job: another launcher, or a build without MPI.
    std::fprintf(stderr, "%s\n", e.what());
    return static_cast<int>(exit_code::unavailable);
  }
}
