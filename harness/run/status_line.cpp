#include "harness/run/status_line.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <system_error>
#include <utility>

#include "harness/run/status.hpp"
#include "harness/run/terminal.hpp"

namespace gsofa {

namespace {

constexpr double between = 0.5;  // seconds from one text to the next

std::size_t error_width() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - 1U : 79U;
}

}  // namespace

std::string duration_text(double seconds) {
  if (seconds < 9.95) return fmt::format("{:.1f} s", seconds);
  if (seconds < 99.5) return fmt::format("{:.0f} s", seconds);
  if (seconds < 5970) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

double seconds_left(double elapsed, double share) {
  if (share <= 0) return -1;
  return elapsed * (1 - std::min(share, 1.0)) / share;
}

status_line::status_line(std::function<std::string()> text, double delay) {
  if (!errors_on_terminal()) return;
  auto show = [this, delay, what = std::move(text)] {
    std::unique_lock lock(guard_);
    double wait = delay;
    bool shown = false;
    while (!wake_.wait_for(lock, std::chrono::duration<double>(wait), [&] { return done_; })) {
      const std::string line = shortened(one_line(what()), error_width());
      std::fprintf(stderr, "\r%s\x1b[K", line.c_str());
      shown = true;
      wait = between;
    }
    if (shown) std::fputs("\r\x1b[K", stderr);
  };
  try {
    thread_ = std::thread(std::move(show));
  } catch (const std::system_error&) {
    // The work goes on without the line.
  }
}

status_line::~status_line() {
  if (!thread_.joinable()) return;
  {
    const std::scoped_lock lock(guard_);
    done_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void case_progress::begin(std::string name, int runs) {
  const std::scoped_lock lock(guard_);
  name_ = std::move(name);
  runs_ = runs;
  done_ = 0;
  of_runs_ = 0;
  running_ = false;
  step_ = "preparing";
  begin_ = clock::now();
}

void case_progress::step(const std::string& what) {
  const std::scoped_lock lock(guard_);
  step_ = what;
  running_ = false;
}

void case_progress::run(int k, const std::string& what) {
  const std::scoped_lock lock(guard_);
  step_ = runs_ > 1 ? fmt::format("{} {} of {}", what, k + 1, runs_) : what;
  probe.reset();
  running_ = true;
  run_begin_ = clock::now();
}

void case_progress::run_done() {
  const std::scoped_lock lock(guard_);
  of_runs_ += std::chrono::duration<double>(clock::now() - run_begin_).count();
  ++done_;
  running_ = false;
}

// What the runs that are done took, the others take; the first one goes on as fast as it began,
// or slower: most sources of a matrix have more to do than those before them.
std::string case_progress::left(double in_run) {
  const int others = runs_ - done_ - 1;
  if (done_ > 0) {
    const double each = of_runs_ / done_;
    if (others == 0 && in_run > each) return "";
    return ", " + duration_text(std::max(0.0, each - in_run) + each * others) + " left";
  }
  const double share = probe.ask();
  const double rest = seconds_left(in_run, share);
  if (rest < 0) return "";
  return fmt::format(", {:.0f} % of it done, {} left or more", 100 * share,
                     duration_text(rest + (in_run + rest) * others));
}

std::string case_progress::text() {
  const std::scoped_lock lock(guard_);
  const auto now = clock::now();
  const double elapsed = std::chrono::duration<double>(now - begin_).count();
  std::string line = fmt::format("{}: {}, {}", name_, step_, duration_text(elapsed));
  if (running_) line += left(std::chrono::duration<double>(now - run_begin_).count());
  return line;
}

}  // namespace gsofa
