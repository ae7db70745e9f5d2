#pragma once

// One process of a node finds a result for all processes of its job, in a POSIX shared segment.
//
// The process that creates the segment finds the result and locks it (flock) until the result is
// there. The others open the segment, lend their processors, and wait for the lock, which the
// kernel releases if its holder ends.
//
// Invariants: no wait is without a limit, and no process waits for one that has not called. A
// process that receives nothing finds the result itself. The segment has mode 0600. Its name goes
// once all processes have opened it, or when the process that finds calls again or ends.

#include <sched.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace gsofa::superlu {

/// What a process lends while it waits.
struct helper {
  cpu_set_t processors{};
  int threads = 1;
};

/// The bytes of a result, and what keeps them mapped.
struct shared_bytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

class node_share {
 public:
  /// name: names the result; equal in all processes of this user that want the same result.
  /// others: number of processes in addition to this one, at least 1.
  node_share(const std::string& name, int others, const helper& self);
  node_share(const node_share&) = delete;
  node_share& operator=(const node_share&) = delete;
  /// Processes that wait for a result that was not given receive nothing.
  ~node_share();

  /// True if this process finds the result: it calls helpers() and give(). Otherwise it calls
  /// wait().
  [[nodiscard]] bool finds() const { return finds_; }
  /// True if there is no segment: this process finds the result for itself alone.
  [[nodiscard]] bool is_alone() const { return !segment_; }

  /// What the processes that wait lend. Returns when all of them have come, after `least` if none
  /// has, and after `most` at the latest.
  std::vector<helper> helpers(std::chrono::microseconds least, std::chrono::microseconds most);
  /// Copies a result to the segment. If memory is short, the processes that wait receive nothing.
  void give(std::span<const std::span<const std::byte>> parts);
  /// The result; empty if the process that finds ended, failed or exceeded `limit`.
  shared_bytes wait(std::chrono::seconds limit);

 private:
  struct segment;
  bool create();
  bool open(const helper& self);
  void unlink_unless_all_came();

  std::string name_;
  int others_;
  int file_ = -1;
  std::shared_ptr<segment> segment_;
  bool finds_ = true;
};

}  // namespace gsofa::superlu
