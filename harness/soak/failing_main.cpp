#include <execinfo.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <limits>
#include <string>

#include "harness/commands/cli.hpp"
#include "harness/testing/failing_malloc.hpp"

namespace {

// Prints the call stack on stderr, by which soak_test.py tells a library's crash from the
// program's.
void print_stack() {
  std::array<void*, 48> frames{};
  ::backtrace_symbols_fd(frames.data(), ::backtrace(frames.data(), static_cast<int>(frames.size())),
                         STDERR_FILENO);
}

[[noreturn]] void terminated() {
  fail_allocations(0, 0);
  print_stack();
  std::abort();
}

extern "C" void crashed(int signal) {
  fail_allocations(0, 0);
  print_stack();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

// The program with allocations that fail. $GSOFA_FAIL_ALLOCATION is the number of the allocation
// that fails ("17"; "17+": this and all later ones), counted from the beginning of main(); the
// number of all allocations is written to the file that $GSOFA_COUNT_ALLOCATIONS names.
int main(int argc, char** argv) {
  std::array<void*, 1> loads_what_it_needs{};
  ::backtrace(loads_what_it_needs.data(), 1);
  std::set_terminate(terminated);
  std::signal(SIGSEGV, crashed);
  long first = 0;
  long last = 0;
  if (const char* text = std::getenv("GSOFA_FAIL_ALLOCATION")) {
    char* end = nullptr;
    first = std::strtol(text, &end, 10);
    last = *end == '+' ? std::numeric_limits<long>::max() : first;
  }
  fail_allocations(first, last);
  const int code = gsofa::run_program(argc, argv);
  const long count = allocations_made();
  fail_allocations(0, 0);
  if (const char* file = std::getenv("GSOFA_COUNT_ALLOCATIONS")) {
    std::ofstream(file) << count << '\n';
  }
  return code;
}
