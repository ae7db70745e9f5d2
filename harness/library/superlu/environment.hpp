#pragma once

// The settings of the drop-in, the processes of the job on this node, and the processors that they
// lend each other: all of it from environment variables (README.md) and from the scheduler.

#include <sched.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "common/mpi_launcher.hpp"
#include "harness/library/superlu/node_share.hpp"

namespace gsofa::superlu {

/// The value of an environment variable; empty if it is not set.
const char* setting(const char* name);

/// $GSOFA_SUPERLU.
enum class call_mode { on, off, verbose };
/// Throws gsofa::invalid_input for another value.
call_mode mode_of_calls();

/// Ends the program through superlu_abort_and_exit_dist with one line on stderr.
[[noreturn]] void give_up(std::string_view routine, const std::string& why);

/// Distinguishes the jobs of a user on a node.
std::string job();

/// $GSOFA_SUPERLU_WAIT: how long a process waits for the process that finds.
std::chrono::seconds limit_of_waiting();
/// $GSOFA_SUPERLU_SHARE: whether the processes of a node find one result of a matrix together.
bool shares(std::int64_t entries);
/// How long the process that finds waits for what the others lend, once one of them has come: a
/// small part of the search.
std::chrono::microseconds patience(std::int64_t entries);

/// The processors and the threads that this process may use.
helper own_processors();
/// Threads for a matrix: $GSOFA_THREADS, else one for a small matrix, else `available`.
int threads_for(std::int64_t entries, int available);

/// Gives the calling thread, and the threads that it starts, the processors of others too, until
/// this object ends.
class lent_processors {
 public:
  explicit lent_processors(const std::vector<helper>& lenders);
  lent_processors(const lent_processors&) = delete;
  lent_processors& operator=(const lent_processors&) = delete;
  ~lent_processors();
  [[nodiscard]] int threads() const { return all_.threads; }

 private:
  helper all_;
  cpu_set_t own_{};
  bool changed_ = false;
};

}  // namespace gsofa::superlu
