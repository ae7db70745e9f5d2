// Analyzers before, during and after fork().

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/soak/allocations.hpp"
#include "harness/soak/attacks.hpp"

namespace gsofa::soak {

namespace {

constexpr unsigned longest_child = 60;  // seconds until a child that hangs is killed

struct analyzer_of_c {
  gsofa_analyzer* by = nullptr;
  analyzer_of_c() { require(gsofa_analyzer_create(&by) == GSOFA_OK, "gsofa_analyzer_create"); }
  ~analyzer_of_c() { gsofa_analyzer_free(by); }
  analyzer_of_c(const analyzer_of_c&) = delete;
  analyzer_of_c& operator=(const analyzer_of_c&) = delete;
};

// Stops an analysis in its first callback until open().
struct gate {
  std::atomic<int> state{0};  // 1: reached, 2: open

  void stop_in(gsofa_options& options) {
    options.user = this;
    options.progress = [](int, double, void* user) {
      auto& now = static_cast<gate*>(user)->state;
      int before = 0;
      now.compare_exchange_strong(before, 1);
      now.notify_all();
      while (now == 1) now.wait(1);
      return 0;
    };
  }
  void wait_until_reached() const { state.wait(0); }
  void open() {
    state = 2;
    state.notify_all();
  }
};

// A new analysis finds what is expected.
bool finds(gsofa_analyzer* by, const gsofa_pattern& a, const gsofa_options& o,
           const answer& expected) {
  const gsofa_analysis* f = nullptr;
  return gsofa_analyzer_start(by, &a, &o) == GSOFA_OK && gsofa_analyzer_wait(by, &f) == GSOFA_OK &&
         result_of(f).nnz_l == expected.nnz_l && result_of(f).nnz_u == expected.nnz_u;
}

// What a child does with analyzers of its parent: 0, or the number of the first thing that is
// wrong.
int use_in_child(gsofa_analyzer* idle, gsofa_analyzer* running, const call& c,
                 const gsofa_pattern& a, const answer& expected) {
  const gsofa_analysis* f = nullptr;
  // It may have ended before the fork, or have been under way.
  const gsofa_status status = gsofa_analyzer_wait(running, &f);
  if (status != GSOFA_UNAVAILABLE && status != GSOFA_OK) return 1;
  if (status == GSOFA_OK && result_of(f).nnz_l != expected.nnz_l) return 2;
  if (gsofa_analyzer_ready(running) == 0) return 3;
  if (gsofa_analyzer_wait(idle, &f) != GSOFA_OK || result_of(f).nnz_u != expected.nnz_u) return 4;
  if (!finds(idle, a, c.options, expected)) return 5;
  if (!finds(running, a, c.options, expected)) return 6;
  handle h;
  if (analyze(c, h) != GSOFA_OK || result_of(h.a).nnz_l != expected.nnz_l) return 7;
  gsofa_analyzer_free(idle);
  gsofa_analyzer_free(running);
  return 0;
}

}  // namespace

void attack_by_fork(std::uint64_t seed, std::uint64_t number, const abilities& can) {
  dice d(seed + 3, number);
  call c;
  c.n = 1 + d.below(largest);
  fill_rows(d, c);
  gsofa_options_init(&c.options);
  c.options.device = GSOFA_CPU;
  c.options.order = can.metis && d.one_in(3) ? GSOFA_ORDER_METIS : GSOFA_ORDER_AMD;
  c.options.match = 0;
  c.options.threads = 1 + d.below(3);
  handle h;
  const answer expected = copy(c, analyze(c, h), h);
  require(expected.status == GSOFA_OK, expected.message);
  check_filled(c, dense(c), expected);
  const gsofa_pattern a{c.n, c.row_ptr.data(), c.col_idx.data(), GSOFA_INDEX_64_32, GSOFA_CSR};
  gate stops;
  const analyzer_of_c idle, running;
  require(finds(idle.by, a, c.options, expected), "an analyzer finds something else");
  // Sanitizers do not unlock their allocator in a child: no thread may allocate at the fork.
  const bool stopped = !watches_malloc() || d.one_in(2);
  gsofa_options options = c.options;
  if (stopped) stops.stop_in(options);
  require(gsofa_analyzer_start(running.by, &a, &options) == GSOFA_OK, "gsofa_analyzer_start");
  if (stopped) stops.wait_until_reached();
  for (int spins = stopped ? 0 : d.below(20'000); spins > 0; --spins) {
    if (gsofa_analyzer_ready(running.by) != 0 && d.one_in(2)) break;
  }
  const pid_t child = fork();
  if (child < 0) stops.open();
  require(child >= 0, "fork() fails");
  if (child == 0) {
    alarm(longest_child);
    _exit(use_in_child(idle.by, running.by, c, a, expected));
  }
  stops.open();
  int status = -1;
  require(waitpid(child, &status, 0) == child, "waitpid() fails");
  require(!WIFSIGNALED(status), "a child ends by signal " + std::to_string(WTERMSIG(status)));
  require(status == 0, "a child stops at step " + std::to_string(WEXITSTATUS(status)));
  const gsofa_analysis* f = nullptr;
  require(gsofa_analyzer_wait(running.by, &f) == GSOFA_OK && result_of(f).nnz_l == expected.nnz_l,
          "the analysis of the parent");
  require(finds(idle.by, a, c.options, expected), "the parent finds something else");
}

}  // namespace gsofa::soak
