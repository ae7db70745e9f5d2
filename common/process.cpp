#include "common/process.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
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

// What the limits of the control groups leave. A container may see its own group as the root, so
// all existing folders on the way up count. The memory of files is not counted: it can be freed.
std::int64_t left_by_groups(const fs::path& root) {
  std::int64_t left = unlimited;
  std::ifstream in(root / "proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {  // NUMBER:CONTROLLERS:/PATH
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    const bool unified = second == first + 1;
    if (second == std::string::npos || (!unified && line.find("memory") > second)) continue;
    const fs::path top = root / (unified ? "sys/fs/cgroup" : "sys/fs/cgroup/memory");
    const char* const limit = unified ? "memory.max" : "memory.limit_in_bytes";
    const char* const used = unified ? "anon " : "total_rss ";
    for (fs::path below = line.substr(std::min(second + 2, line.size()));;
         below = below.parent_path()) {
      // "max" instead of a number: no limit.
      left = std::min(left, number_after(top / below / limit, "", unlimited) -
                                number_after(top / below / "memory.stat", used, 0));
      if (below.empty()) break;
    }
  }
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

void require_memory(const std::string& name, std::int64_t n_rows, std::int64_t n_cols,
                    std::int64_t bytes, std::int64_t available) {
  if (bytes <= available) return;
  throw budget_error(name + ": out of memory: " + std::to_string(n_rows) + " x " +
                     std::to_string(n_cols) + " needs " + std::to_string(bytes >> 20) + " MiB, " +
                     std::to_string(available >> 20) + " MiB are available");
}

}  // namespace gsofa
