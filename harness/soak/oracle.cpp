// The library through its C interface against Boolean elimination on a dense matrix
// (cases.hpp).

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "harness/soak/attacks.hpp"
#include "harness/soak/cases.hpp"

namespace gsofa::soak {

namespace {

// A fault for the tests of this program: one row of U counts too many.
bool planted = false;

answer answer_to(const call& c) {
  handle h;
  const gsofa_status status = analyze(c, h);
  answer out = copy(c, status, h);
  if (planted && out.u_counts.size() > 20) ++out.u_counts[7];
  return out;
}

void run_case(std::uint64_t seed, std::uint64_t number, const abilities& can) {
  const call c = make_call(seed, number);
  const answer first = answer_to(c);
  check_answer(c, first, can);
  require(answer_to(c) == first, "the second analysis differs from the first");
}

struct soak_settings {
  std::uint64_t seed = 1, first = 0;
  std::uint64_t cases = 100;
  int threads = 1;
  void (*attack)(std::uint64_t seed, std::uint64_t number, const abilities& can) = run_case;
};

// By the names of --attack.
struct named_attack {
  const char* name;
  void (*run)(std::uint64_t seed, std::uint64_t number, const abilities& can);
};
constexpr named_attack attacks[] = {{"analyze", run_case}, {"c", attack_c_interface}};

// Cases in progress by thread, plus one; named when the process dies.
constexpr int most_threads = 64;
std::atomic<std::uint64_t> in_progress[most_threads];

extern "C" void name_cases(int signal) {
  for (const auto& slot : in_progress) {
    std::uint64_t number = slot.load();
    if (number-- == 0) continue;
    char text[96] = "failed: case ";
    std::size_t end = 13;
    char digits[24];
    std::size_t count = 0;
    do digits[count++] = static_cast<char>('0' + number % 10);
    while ((number /= 10) > 0);
    while (count > 0) text[end++] = digits[--count];
    constexpr std::string_view tail = " was in progress when the process died\n";
    for (const char c : tail) text[end++] = c;
    if (::write(STDOUT_FILENO, text, end) < 0) break;
  }
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

int soak(const soak_settings& s) {
  for (const int signal : {SIGABRT, SIGSEGV, SIGFPE, SIGBUS, SIGILL})
    std::signal(signal, name_cases);
  const abilities can = find_abilities();
  std::atomic<std::uint64_t> next{s.first}, done{0};
  std::atomic<int> failures{0};
  const auto work = [&](std::size_t thread) {
    while (failures < 5) {
      const std::uint64_t number = next++;
      if (number >= s.first + s.cases) break;
      in_progress[thread] = number + 1;
      try {
        s.attack(s.seed, number, can);
      } catch (const std::exception& e) {
        ++failures;
        std::printf("failed: case %llu: %s\n", static_cast<unsigned long long>(number), e.what());
        std::fflush(stdout);
      }
      ++done;
    }
    in_progress[thread] = 0;
  };
  std::vector<std::thread> threads;
  for (int t = 1; t < std::min(s.threads, most_threads); ++t) {
    threads.emplace_back(work, static_cast<std::size_t>(t));
  }
  work(0);
  for (std::thread& t : threads) t.join();
  std::printf("%llu executions\n", static_cast<unsigned long long>(done.load()));
  return failures == 0 ? 0 : 1;
}

}  // namespace

}  // namespace gsofa::soak

namespace {

int usage() {
  std::fprintf(stderr,
               "Usage: gsofa_soak_oracle [--attack=analyze|c] [--seed=N] [--first=N] "
               "[--cases=N] [--threads=T] [--list-calls]\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  gsofa::soak::soak_settings s;
  bool lists = false;
  for (int k = 1; k < argc; ++k) {
    const std::string_view word = argv[k];
    const auto number = [&] { return std::strtoull(argv[k] + word.find('=') + 1, nullptr, 10); };
    if (word.starts_with("--seed=")) {
      s.seed = number();
    } else if (word.starts_with("--first=")) {
      s.first = number();
    } else if (word.starts_with("--cases=")) {
      s.cases = number();
    } else if (word.starts_with("--threads=")) {
      s.threads = static_cast<int>(number());
    } else if (word == "--planted") {
      gsofa::soak::planted = true;
    } else if (word == "--list-calls") {
      lists = true;
    } else if (word.starts_with("--attack=")) {
      const auto found = std::ranges::find(gsofa::soak::attacks, word.substr(word.find('=') + 1),
                                           &gsofa::soak::named_attack::name);
      if (found == std::end(gsofa::soak::attacks)) return usage();
      s.attack = found->run;
    } else {
      return usage();
    }
  }
  const int code = gsofa::soak::soak(s);
  if (!lists) return code;
  for (const std::string& name : gsofa::soak::functions_called()) {
    std::printf("called: %s\n", name.c_str());
  }
  return code;
}
