#pragma once

// Work of the library that Python's signals and exceptions interrupt.

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <thread>

#include "gsofa/gsofa.hpp"

namespace gsofa::python {

namespace nb = nanobind;

// Python ends a daemon thread that asks for the interpreter lock while the interpreter ends: it
// unwinds the frames of C++ that wait for the lock, which ends the process. So no thread asks for
// the lock from then on, and the interpreter ends when no thread is about to get it.
class ending_interpreter {
 public:
  // Before the lock is asked for; does not return once the interpreter ends.
  static void begin_asking() {
    ++asking_;
    if (!ends_ || std::this_thread::get_id() == ender_) return;
    --asking_;
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
  }
  static void end_asking() { --asking_; }

  // Called by the module atexit, with the lock.
  static void begin() {
    ender_ = std::this_thread::get_id();
    ends_ = true;
    const nb::gil_scoped_release released;
    while (asking_ > 0) std::this_thread::yield();
  }
  // The other threads are not in the child of a fork.
  static void forget_threads() { asking_ = 0; }

 private:
  static inline std::thread::id ender_;  // it still has the lock, and exit functions of its own
  static inline std::atomic<bool> ends_{false};
  static inline std::atomic<int> asking_{0};
};

class lock_scope {
 public:
  lock_scope() {
    ending_interpreter::begin_asking();
    state_ = PyGILState_Ensure();
    ending_interpreter::end_asking();
  }
  lock_scope(const lock_scope&) = delete;
  lock_scope& operator=(const lock_scope&) = delete;
  ~lock_scope() { PyGILState_Release(state_); }

 private:
  PyGILState_STATE state_;
};

inline const char* name_of(analysis_stage stage) {
  switch (stage) {
    case analysis_stage::check:
      return "check";
    case analysis_stage::match:
      return "match";
    case analysis_stage::order:
      return "order";
    case analysis_stage::permute:
      return "permute";
    case analysis_stage::analyze:
      return "analyze";
    case analysis_stage::output:
      return "output";
  }
  return "?";
}

// Work without the interpreter lock that is interrupted by signals, whose handlers run in the main
// thread, and by exceptions of the user's `progress`.
class watched_work {
 public:
  // progress: a callable, or None.
  explicit watched_work(const nb::object& progress) : progress_(progress) {}

  // Called without the lock. False: the work is to end.
  bool goes_on(analysis_stage stage, double share) {
    const lock_scope locked;
    try {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      if (!progress_.is_none()) {
        progress_(name_of(stage), share < 0 ? nb::none() : nb::object(nb::float_(share)));
      }
      return true;
    } catch (...) {
      raised_ = std::current_exception();
      return false;
    }
  }

  // goes_on(), if the last call is some time ago.
  bool looks(analysis_stage stage, double share = -1) {
    const auto now = std::chrono::steady_clock::now();
    if (now - looked_ < std::chrono::milliseconds(50)) return true;
    looked_ = now;
    return goes_on(stage, share);
  }

  // Calls work(), without the lock. What goes_on() has caught is thrown, whatever became of the
  // work.
  template <class Work>
  void run(const Work& work) {
    std::exception_ptr failed;
    PyThreadState* const thread = PyEval_SaveThread();
    try {
      work();
    } catch (...) {
      failed = std::current_exception();
    }
    ending_interpreter::begin_asking();
    PyEval_RestoreThread(thread);
    ending_interpreter::end_asking();
    if (raised_) std::rethrow_exception(raised_);
    if (failed) std::rethrow_exception(failed);
  }

 private:
  const nb::object& progress_;
  std::chrono::steady_clock::time_point looked_ = std::chrono::steady_clock::now();
  std::exception_ptr raised_;
};

// What find(options) returns; options.progress lets it be interrupted.
template <class Options, class Find>
auto watched(Options options, const nb::object& progress, const Find& find) {
  watched_work watch(progress);
  options.progress = [&](const analysis_progress& p) { return watch.goes_on(p.stage, p.share); };
  decltype(find(options)) found;
  watch.run([&] { found = find(options); });
  return found;
}

}  // namespace gsofa::python
