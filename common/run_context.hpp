#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "common/error.hpp"
#include "common/types.hpp"

namespace gsofa {

/// The parts of a timed run. Phases are exclusive: entering one suspends the enclosing one.
enum class phase_id {
  h2d,
  init,
  schedule,
  traverse,
  spill,
  compact,
  expand,  ///< sorted rows from a compressed form
  supernode,
  comm,
  d2h,
  sort,     ///< rows of the matrix
  match,    ///< a zero-free diagonal
  order,    ///< fewer entries
  permute,  ///< rows and columns
  count_
};

/// Name of a phase as written in records.
const char* phase_name(phase_id id);

/// Splits the wall time between start() and stop() over the phases without gap or overlap.
class phase_clock {
 public:
  using clock = std::chrono::steady_clock;

  /// Clears all times; from now on time is charged to `base`.
  void start(phase_id base) {
    spent_.fill(0.0);
    current_ = base;
    begin_ = since_ = clock::now();
  }
  /// Charges the time since the last switch to the current phase and makes `next` current.
  phase_id switch_to(phase_id next) {
    const auto now = clock::now();
    spent_[static_cast<std::size_t>(current_)] +=
        std::chrono::duration<double>(now - since_).count();
    since_ = now;
    const phase_id previous = current_;
    current_ = next;
    return previous;
  }
  /// Moves seconds from the current phase to another phase: for work that a device did meanwhile.
  void charge(phase_id id, double seconds) {
    spent_[static_cast<std::size_t>(id)] += seconds;
    spent_[static_cast<std::size_t>(current_)] -= seconds;
  }
  /// Ends the run; returns its wall time in seconds.
  double stop() {
    switch_to(current_);
    return std::chrono::duration<double>(since_ - begin_).count();
  }
  /// Seconds charged to each phase that took any time.
  [[nodiscard]] std::map<std::string, double> seconds() const;

 private:
  std::array<double, static_cast<std::size_t>(phase_id::count_)> spent_{};
  phase_id current_ = phase_id::traverse;
  clock::time_point begin_{}, since_{};
};

/// Work counters filled only by the counting build (see variants/support/counting.hpp).
struct work_counters {
  std::map<std::string, std::int64_t> totals;         ///< e.g. edges_traversed, revisits
  std::map<std::string, std::vector<double>> series;  ///< per source, e.g. frontier_size
};

/// Another thread's question to a run: which share of its work is done. The run answers at its next
/// check of the deadline; a check costs one load while nobody asks.
class progress_probe {
 public:
  /// The last answer, from 0 to 1; -1 before the first answer. Asks again.
  double ask() {
    asked_.store(true, std::memory_order_relaxed);
    return share_.load(std::memory_order_relaxed);
  }
  void answer(std::int64_t done, std::int64_t total);
  /// Drops the answers, for another run.
  void reset() {
    asked_.store(false, std::memory_order_relaxed);
    share_.store(-1, std::memory_order_relaxed);
  }

 private:
  std::atomic<bool> asked_{false};
  std::atomic<double> share_{-1};
};

/// Receives a variant's reports during a run; owned by the harness, one per case.
class run_context {
 public:
  phase_clock phases;
  work_counters counters;
  /// Bytes that the variant expects to allocate, by data structure; set in prepare().
  std::map<std::string, std::int64_t> predicted_bytes;
  /// Quantities that the variant derived from its options and the matrix, e.g. #C; set in prepare()
  /// and run(). Not measurements of work: see `counters`.
  std::map<std::string, std::int64_t> derived;
  /// One line for the user on how the work is distributed; may be empty.
  std::string layout;
  /// Shows the user one line at once, before long work; null: no listener.
  std::function<void(const std::string&)> say;
  /// Peak of device memory in bytes, and the largest allocation by data structure.
  std::int64_t device_peak_bytes = 0;
  std::map<std::string, std::int64_t> device_bytes;
  /// The question of a watching thread; must outlive the runs; null: no watcher.
  progress_probe* probe = nullptr;
  /// If any thread sets it to true, the run ends with cancelled_error; null: never.
  const std::atomic<bool>* stop = nullptr;

  /// Sets the time limit of the coming run, in seconds from now; 0: none.
  void set_timeout(double seconds);
  /// Adopts the time limit of `other`, for a thread with its own phases.
  void share_deadline(const run_context& other) {
    limited_ = other.limited_;
    deadline_ = other.deadline_;
    probe = other.probe;
    stop = other.stop;
  }
  /// Throws timeout_error once the limit has passed, cancelled_error once `stop` is true. Cheap
  /// enough for one call per source; any thread may call it.
  void check_deadline() const {
    if (stop != nullptr && stop->load(std::memory_order_relaxed)) throw cancelled_error();
    if (limited_ && phase_clock::clock::now() > deadline_)
      throw timeout_error("passed its time limit");
  }
  /// As above, when `done` of `total` units of work (sources, chunks, panels) are done.
  void check_deadline(std::int64_t done, std::int64_t total) const {
    if (probe != nullptr) probe->answer(done, total);
    check_deadline();
  }

 private:
  bool limited_ = false;
  phase_clock::clock::time_point deadline_{};
};

/// RAII: charges the enclosing scope to one phase. Only the thread that drives the run may use it.
class phase {
 public:
  phase(run_context& context, phase_id id)
      : clock_(context.phases), previous_(clock_.switch_to(id)) {}
  ~phase() { clock_.switch_to(previous_); }
  phase(const phase&) = delete;
  phase& operator=(const phase&) = delete;

 private:
  phase_clock& clock_;
  phase_id previous_;
};

}  // namespace gsofa
