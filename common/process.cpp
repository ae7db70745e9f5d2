#include "common/process.hpp"

#include <fcntl.h>
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

// The number in the first line of `file` that begins with `key`; -1 if there is none.
std::int64_t number_after(const char* file, std::string_view key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t digit = line.find_first_of("0123456789", key.size());
    if (digit == std::string::npos) return -1;
    std::int64_t value = -1;
    const auto parsed = std::from_chars(line.data() + digit, line.data() + line.size(), value);
    return parsed.ec == std::errc{} ? value : -1;
  }
  return -1;
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

std::int64_t available_memory() {
  std::int64_t bytes = std::numeric_limits<std::int64_t>::max();
  const std::int64_t kib = number_after("/proc/meminfo", "MemAvailable:");
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page = ::sysconf(_SC_PAGESIZE);
  if (kib >= 0) {
    bytes = kib * 1024;
  } else if (pages > 0 && page > 0) {
    bytes = std::int64_t{pages} * page;
  }
  // "max" instead of a number: no limit
  const std::int64_t group = number_after("/sys/fs/cgroup/memory.max", "");
  return group >= 0 ? std::min(bytes, group) : bytes;
}

}  // namespace gsofa
