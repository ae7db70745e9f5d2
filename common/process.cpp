#include "common/process.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>

#include "common/error.hpp"
#include "common/mpi_launcher.hpp"

namespace gsofa {

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();

// The number in the first line of `file` that begins with `key`; `otherwise` if there is none.
std::int64_t number_after(const fs::path& file, std::string_view key, std::int64_t otherwise) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t digit = line.find_first_of("0123456789", key.size());
    if (digit == std::string::npos) return otherwise;
    std::int64_t value = 0;
    const auto parsed = std::from_chars(line.data() + digit, line.data() + line.size(), value);
    return parsed.ec == std::errc{} ? value : otherwise;
  }
  return otherwise;
}

// Calls visit(folder, unified) for the control groups of this process that `controller` governs. A
// container may see its own group as the root, so all existing folders on the way up count.
template <class Visit>
void for_each_group(const fs::path& root, const std::string& controller, const Visit& visit) {
  std::ifstream in(root / "proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {  // NUMBER:CONTROLLERS:/PATH
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    const bool unified = second == first + 1;
    if (second == std::string::npos || (!unified && line.find(controller) > second)) continue;
    const fs::path top = root / "sys/fs/cgroup" / (unified ? "" : controller);
    for (fs::path below = line.substr(std::min(second + 2, line.size()));;
         below = below.parent_path()) {
      visit(top / below, unified);
      if (below.empty()) break;
    }
  }
}

// What the limits of the control groups leave. The memory of files is not counted: it can be freed.
std::int64_t left_by_groups(const fs::path& root) {
  std::int64_t left = unlimited;
  for_each_group(root, "memory", [&](const fs::path& group, bool unified) {
    const char* const limit = unified ? "memory.max" : "memory.limit_in_bytes";
    const char* const used = unified ? "anon " : "total_rss ";
    // "max" instead of a number: no limit.
    left = std::min(left, number_after(group / limit, "", unlimited) -
                              number_after(group / "memory.stat", used, 0));
  });
  return std::max<std::int64_t>(left, 0);
}

}  // namespace

void guard_descriptors() {
  std::signal(SIGXFSZ, SIG_IGN);
  for (int d = STDIN_FILENO; d <= STDERR_FILENO; ++d) {
    if (::fcntl(d, F_GETFD) >= 0 || errno != EBADF) continue;
    // open() returns the least free number, which is d; the access is the one that d is not used by
    if (::open("/dev/null", d == STDIN_FILENO ? O_WRONLY : O_RDONLY) != d) {
      std::_Exit(static_cast<int>(exit_code::run_failed));
    }
  }
}

std::int64_t available_memory(const fs::path& root) {
  const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  const std::int64_t kib = number_after(root / "proc/meminfo", "MemAvailable:", -1);
  const std::int64_t bytes = kib >= 0 ? kib * 1024 : ::sysconf(_SC_PHYS_PAGES) * page;
  rlimit space{};
  std::int64_t left = unlimited;
  if (::getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur < rlim_t{unlimited}) {
    const std::int64_t taken = number_after(root / "proc/self/statm", "", 0) * page;
    left = std::max<std::int64_t>(static_cast<std::int64_t>(space.rlim_cur) - taken, 0);
  }
  return std::min({bytes, left, left_by_groups(root)});
}

int processors_of_groups(const fs::path& root) {
  std::int64_t fewest = std::numeric_limits<int>::max();
  for_each_group(root, "cpu", [&](const fs::path& group, bool unified) {
    std::int64_t quota = 0, period = 0;  // microseconds; "max" is no quota
    if (unified) std::ifstream(group / "cpu.max") >> quota >> period;
    if (quota > 0 && period > 0) fewest = std::min(fewest, (quota - 1) / period + 1);
  });
  return static_cast<int>(fewest);
}

namespace {

// A positive number in an environment variable; 0 if it is not set.
int number_of_setting(const std::string& name, const char* what) {
  const char* const value = std::getenv(name.c_str());
  const std::string_view text = value == nullptr ? "" : value;
  if (text.empty()) return 0;
  int number = 0;
  const auto [rest, fault] = std::from_chars(text.begin(), text.end(), number);
  if (fault == std::errc{} && rest == text.end() && number > 0) return number;
  throw input_error(name + " is '" + std::string(text) + "', not a number of " + what);
}

}  // namespace

int threads_of_setting() { return number_of_setting("GSOFA_THREADS", "threads"); }

int factorizations_of_setting() {
  return std::max(1, number_of_setting("GSOFA_FACTORIZATIONS", "factorizations"));
}

int usable_processors() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
}

int threads_of_process() {
  static std::atomic<int> known_quota{0};
  if (known_quota == 0) known_quota = processors_of_groups();
  const int online = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  const int processes = size_of_job().of_node;
  const char* const openmp = std::getenv("OMP_NUM_THREADS");  // a list names the outer level first
  const int of_openmp = openmp == nullptr ? 0 : std::atoi(openmp);
  const int threads = std::min({usable_processors(), online / processes, known_quota / processes});
  return std::max(1, of_openmp > 0 ? std::min(threads, of_openmp) : threads);
}

void require_memory(const std::string& name, std::int64_t n_rows, std::int64_t n_cols,
                    std::int64_t bytes, std::int64_t available) {
  if (bytes <= available) return;
  throw budget_error(name + ": out of memory: " + std::to_string(n_rows) + " x " +
                     std::to_string(n_cols) + " needs " + std::to_string(bytes >> 20) + " MiB, " +
                     std::to_string(available >> 20) + " MiB are available");
}

}  // namespace gsofa
