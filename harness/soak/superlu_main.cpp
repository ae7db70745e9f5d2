// The SuperLU_DIST drop-in with hostile neighbours: 2 to 4 processes of a job call symbfact in step
// while other processes attack the sockets at which they share a result, or while one of them is
// stopped or killed. Every result is compared with the arrays of SuperLU_DIST's own symbfact. Each
// case is a function of its number and the seed, except for times.

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "common/preprocess.hpp"
#include "harness/check/test_patterns.hpp"
#include "harness/library/superlu/attacks.hpp"
#include "harness/library/superlu/comparison.hpp"
#include "harness/library/superlu/symbolic_result.hpp"

namespace gsofa::soak {

namespace {

using namespace std::chrono_literals;
using superlu::attack;
using steady_clock = std::chrono::steady_clock;

constexpr std::uint64_t steps = 2;
constexpr std::size_t most_ranks = 4;
constexpr int other_user = 65534;
constexpr unsigned longest_case = 60;  // seconds until a process counts as hanging

void require(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}

// A matrix of a case, and what symbfact of SuperLU_DIST fills for it.
struct problem {
  std::unique_ptr<superlu::call_input> in;
  int relax = 1;
  superlu::output expected;

  problem(std::uint64_t seed, std::uint64_t number, int most_relaxed) : relax(most_relaxed) {
    const auto tree = [](const pattern& a) {
      const pattern both = symmetrized(a, diagonal::drop);
      return elimination_tree(pattern_view(both));
    };
    const pattern given = random_pattern(seed, number).a;
    const auto order = postorder(tree(given));
    const pattern a = permute(given, order, order);
    const pattern columns = transpose(a);
    in = std::make_unique<superlu::call_input>(columns.row_ptr, columns.col_idx, tree(a));
    expected = superlu::call(superlu::original(), *in, relax);
  }

  [[nodiscard]] std::string socket() const {
    superlu_dist_options_t options;
    set_default_options_dist(&options);
    options.superlu_relax = relax;
    const superlu::question q{
        &in->matrix(),
        in->etree(),
        {static_cast<int>(sp_ienv_dist(2, &options)), static_cast<int>(sp_ienv_dist(3, &options))}};
    return superlu::share_name(q, std::getenv("PMIX_NAMESPACE"));
  }

  [[nodiscard]] bool is_solved() const {
    return superlu::call(gsofa_symbfact, *in, relax) == expected;
  }
};

// The step that each process of a case has reached. They share it, and begin each step together.
struct meeting {
  std::array<std::atomic<int>, most_ranks> reached{};

  void begin_step(std::size_t ranks, std::size_t rank, int step) {
    reached[rank] = step;
    for (std::size_t r = 0; r < ranks; ++r) {
      while (reached[r] < step) std::this_thread::sleep_for(50us);
    }
  }
  void leave(std::size_t rank) { reached[rank] = std::numeric_limits<int>::max(); }
};

class shared_meeting {
 public:
  shared_meeting() {
    void* const place =
        mmap(nullptr, sizeof(meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    require(place != MAP_FAILED, "no shared memory");
    one_ = new (place) meeting();
  }
  shared_meeting(const shared_meeting&) = delete;
  shared_meeting& operator=(const shared_meeting&) = delete;
  ~shared_meeting() { munmap(one_, sizeof(meeting)); }
  meeting* operator->() const { return one_; }

 private:
  meeting* one_;
};

template <class Body>
pid_t started(const Body& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(longest_case);
    _exit(body());
  }
  require(child > 0, "no process can start");
  return child;
}

int end_of(pid_t child) {
  int status = 0;
  require(waitpid(child, &status, 0) == child, "waitpid failed");
  return status;
}

void end_process(pid_t child) {
  kill(child, SIGKILL);
  end_of(child);
}

// The bytes that a process which finds this result shares.
std::vector<std::byte> shared_bytes(const problem& p) {
  std::array<int, 2> ends{};
  require(pipe(ends.data()) == 0, "no pipe");
  const pid_t finder = started([&] {
    const bool solved = p.is_solved();
    if (write(ends[1], solved ? "1" : "0", 1) != 1) return 1;
    while (true) pause();
  });
  char solved = '0';
  const bool told = read(ends[0], &solved, 1) == 1;
  close(ends[0]);
  close(ends[1]);
  std::vector<std::byte> out;
  {
    superlu::node_share share(p.socket(), 1, {});
    if (!share.finds()) {
      const superlu::mapped_memory mapped(share.wait());
      out.assign(mapped.bytes().begin(), mapped.bytes().end());
    }
  }
  end_process(finder);
  require(told && solved == '1', "undisturbed, the arrays differ");
  require(!out.empty(), "undisturbed, a result is not shared");
  return out;
}

// Processes that attack, ended with this object.
class attackers {
 public:
  attackers() = default;
  attackers(const attackers&) = delete;
  attackers& operator=(const attackers&) = delete;
  ~attackers() {
    for (const pid_t p : processes_) end_process(p);
  }
  void start(const attack& what, const superlu::target& at, int user) {
    const pid_t process = superlu::start_attack(what, at, user);
    require(process > 0, "the attack did not begin");
    processes_.push_back(process);
  }

 private:
  std::vector<pid_t> processes_;
};

// The processes of a job. Each solves all problems, in step with the others.
class job {
 public:
  job(const std::vector<problem>& problems, std::size_t ranks) {
    for (std::size_t r = 0; r < ranks; ++r) {
      ranks_.push_back(started([&, r] {
        int wrong = 0;
        for (std::size_t k = 0; k < problems.size(); ++k) {
          meeting_->begin_step(ranks, r, static_cast<int>(k) + 1);
          wrong += !problems[k].is_solved();
        }
        meeting_->leave(r);
        return wrong == 0 ? 0 : 1;
      }));
    }
  }
  job(const job&) = delete;
  job& operator=(const job&) = delete;
  ~job() {
    for (const pid_t p : ranks_) {
      if (p > 0) end_process(p);
    }
  }

  // Stops a process for up to 1.5 seconds; the others do without it after one.
  void stop_one(std::mt19937_64& random) {
    const pid_t one = ranks_[chosen(random)];
    kill(one, SIGSTOP);
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 1500));
    kill(one, SIGCONT);
  }
  void kill_one(std::mt19937_64& random) {
    const std::size_t rank = chosen(random);
    end_process(ranks_[rank]);
    ranks_[rank] = -1;
    meeting_->leave(rank);
  }
  // Waits for all processes, all of whose arrays must be right.
  void end() {
    for (pid_t& p : ranks_) {
      if (p < 0) continue;
      const int status = end_of(std::exchange(p, -1));
      require(!WIFSIGNALED(status) || WTERMSIG(status) != SIGALRM, "a process hangs");
      require(WIFEXITED(status), "a process died of signal " + std::to_string(WTERMSIG(status)));
      require(WEXITSTATUS(status) == 0, WEXITSTATUS(status) == 1
                                            ? "the arrays differ"
                                            : "exit status " + std::to_string(WEXITSTATUS(status)));
    }
  }

 private:
  // A process, at a random time after the first step began.
  std::size_t chosen(std::mt19937_64& random) {
    const std::size_t rank = random() % ranks_.size();
    while (meeting_->reached[rank] < 1) std::this_thread::sleep_for(50us);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
    return rank;
  }

  shared_meeting meeting_;
  std::vector<pid_t> ranks_;
};

// Attacks at sockets come first; then these.
constexpr std::array<std::string_view, 3> others{"no attack", "a rank is stopped",
                                                 "a rank is killed"};

std::size_t kinds() { return superlu::attacks().size() + others.size(); }

std::string name_of(std::uint64_t number) {
  const std::size_t kind = number % kinds();
  const std::size_t sockets = superlu::attacks().size();
  return kind < sockets ? superlu::attacks()[kind].name : std::string(others[kind - sockets]);
}

void run_case(std::uint64_t seed, std::uint64_t number, bool planted) {
  std::mt19937_64 random(seed * 0x9e3779b97f4a7c15ULL + number);
  const std::size_t ranks = 2 + random() % (most_ranks - 1);
  setenv("OMPI_COMM_WORLD_LOCAL_SIZE", std::to_string(ranks).c_str(), 1);
  std::vector<problem> problems;
  for (std::uint64_t step = 0; step < steps; ++step) {
    problems.emplace_back(seed, steps * number + step, 1 + static_cast<int>(random() % 20));
  }
  const std::size_t kind = number % kinds();
  attackers neighbours;
  if (kind < superlu::attacks().size()) {
    // As another user where this one may become it: then nothing is sent that would be looked at.
    const int user = geteuid() == 0 && random() % 4 == 0 ? other_user : -1;
    for (const problem& p : problems) {
      neighbours.start(superlu::attacks()[kind], {p.socket(), shared_bytes(p), random()}, user);
    }
  }
  if (planted) ++problems.back().expected.entries;
  job all(problems, ranks);
  if (name_of(number) == others[1]) all.stop_one(random);
  if (name_of(number) == others[2]) all.kill_one(random);
  all.end();
}

std::uint64_t number_after(std::string_view argument, std::string_view name,
                           std::uint64_t otherwise) {
  if (!argument.starts_with(name)) return otherwise;
  return std::strtoull(argument.data() + name.size(), nullptr, 10);
}

// Arguments: --seed=N, --first=CASE, --cases=N or --seconds=N; --planted: wrong arrays are
// expected.
int run_all(int count, char** arguments) {
  std::uint64_t seed = 1, first = 0, seconds = 10, cases = 0;
  bool planted = false;
  for (int k = 1; k < count; ++k) {
    seed = number_after(arguments[k], "--seed=", seed);
    first = number_after(arguments[k], "--first=", first);
    seconds = number_after(arguments[k], "--seconds=", seconds);
    cases = number_after(arguments[k], "--cases=", cases);
    planted = planted || std::string_view(arguments[k]) == "--planted";
  }
  setenv("PMIX_NAMESPACE", ("soak." + std::to_string(getpid())).c_str(), 1);
  setenv("GSOFA_SUPERLU_SHARE", "1", 1);
  setenv("GSOFA_SUPERLU_WAIT", "1", 1);
  struct account {
    int runs = 0, failures = 0;
  };
  std::map<std::string, account> accounts;
  bool failed = false;
  const auto end = steady_clock::now() + std::chrono::seconds(seconds);
  for (std::uint64_t number = first; cases > 0 ? number < first + cases : steady_clock::now() < end;
       ++number) {
    account& of = accounts[name_of(number)];
    ++of.runs;
    try {
      run_case(seed, number, planted);
    } catch (const std::exception& e) {
      ++of.failures;
      failed = true;
      std::printf("failed: case %llu: %s: %s\n", static_cast<unsigned long long>(number),
                  name_of(number).c_str(), e.what());
      std::fflush(stdout);
    }
  }
  for (const auto& [name, of] : accounts) {
    std::printf("%d runs, %d failures: %s\n", of.runs, of.failures, name.c_str());
  }
  return failed ? 1 : 0;
}

}  // namespace

}  // namespace gsofa::soak

int main(int count, char** arguments) { return gsofa::soak::run_all(count, arguments); }
