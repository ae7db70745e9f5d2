#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "common/run_context.hpp"

namespace gsofa {

/// Seconds for people: "0.4 s", "12 s", "3 min", "2.5 h".
std::string duration_text(double seconds);

/// Seconds until work is done of which `share` (0 to 1) was done in `elapsed`, if the rest is done
/// as fast; negative where nothing is known.
double seconds_left(double elapsed, double share);

/// One line at the end of standard error that is written again and again, if that is a terminal;
/// else nothing. A thread asks for its text from `delay` seconds after its construction on.
class status_line {
 public:
  /// `text` is called from another thread until the destructor returns; it returns what to show.
  explicit status_line(std::function<std::string()> text, double delay = 2);
  /// Erases the line.
  ~status_line();
  status_line(const status_line&) = delete;
  status_line& operator=(const status_line&) = delete;

 private:
  std::mutex guard_;
  std::condition_variable wake_;
  bool done_ = false;
  std::thread thread_;
};

/// The text of the erasable line while one case runs.
class case_progress {
 public:
  /// The line begins with `name`; `runs` counts warm-ups and repeats.
  void begin(std::string name, int runs);
  /// A step that is no run, such as the verification of one.
  void step(const std::string& what);
  /// Run number `k` from 0 on, warm-ups included.
  void run(int k, const std::string& what);
  void run_done();
  /// Asks the current run which share of it is done.
  progress_probe probe;
  [[nodiscard]] std::string text();

 private:
  using clock = std::chrono::steady_clock;
  [[nodiscard]] std::string left(double in_run);

  std::mutex guard_;
  std::string name_, step_;
  int runs_ = 0, done_ = 0;
  bool running_ = false;
  double of_runs_ = 0;  // seconds of the runs that are done
  clock::time_point begin_{}, run_begin_{};
};

}  // namespace gsofa
