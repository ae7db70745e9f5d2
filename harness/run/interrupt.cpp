#include "harness/run/interrupt.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <thread>
#include <utility>

namespace gsofa {

namespace {

std::atomic<int> wake_descriptor{-1};  // a signal handler may use nothing else

extern "C" void note_interrupt(int number) {
  // The next one ends the process.
  static_cast<void>(std::signal(number, SIG_DFL));
  const int saved = errno;
  const char byte = 'i';
  if (write(wake_descriptor.load(), &byte, 1) < 0) static_cast<void>(std::raise(number));
  errno = saved;
}

}  // namespace

struct interrupt_guard::state {
  std::function<void()> action;
  std::recursive_mutex busy;
  std::array<int, 2> pipe_ends{-1, -1};
  struct sigaction before {};
  bool installed = false;
  std::thread thread;

  void watch() {
    char byte = 0;
    while (read(pipe_ends[0], &byte, 1) < 0 && errno == EINTR) {
    }
    if (byte != 'i') return;
    const std::scoped_lock holding(busy);
    action();
    static_cast<void>(std::signal(SIGINT, SIG_DFL));
    static_cast<void>(kill(getpid(), SIGINT));
    for (;;) pause();
  }
};

interrupt_guard::interrupt_guard(std::function<void()> action) : state_(std::make_unique<state>()) {
  state_->action = std::move(action);
  struct sigaction now {};
  if (sigaction(SIGINT, nullptr, &state_->before) != 0) return;
  if (state_->before.sa_handler != SIG_DFL || wake_descriptor.load() >= 0) return;
  if (pipe2(state_->pipe_ends.data(), O_CLOEXEC) != 0) return;
  try {
    state_->thread = std::thread([s = state_.get()] { s->watch(); });
  } catch (const std::system_error&) {
    // Without the thread Ctrl-C ends the process at once, as it does by default.
    for (int& end : state_->pipe_ends) close(std::exchange(end, -1));
    return;
  }
  wake_descriptor = state_->pipe_ends[1];
  now.sa_handler = note_interrupt;
  now.sa_flags = SA_RESTART;
  state_->installed = sigaction(SIGINT, &now, nullptr) == 0;
}

interrupt_guard::~interrupt_guard() {
  if (!state_->thread.joinable()) return;
  if (state_->installed) sigaction(SIGINT, &state_->before, nullptr);
  wake_descriptor = -1;
  const char byte = 'e';
  while (write(state_->pipe_ends[1], &byte, 1) < 0 && errno == EINTR) {
  }
  state_->thread.join();
  for (const int end : state_->pipe_ends) close(end);
}

std::unique_lock<std::recursive_mutex> interrupt_guard::lock() {
  return std::unique_lock(state_->busy);
}

}  // namespace gsofa
