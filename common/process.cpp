#include "common/process.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "common/error.hpp"

namespace gsofa {

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

}  // namespace gsofa
