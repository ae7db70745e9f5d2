#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gsofa {

/// The position of a worker, in memory that it shares with the process that started it. Only the
/// worker writes; what it wrote last outlives it.
struct worker_page {
  static constexpr std::uint64_t none = ~std::uint64_t{0};
  std::atomic<std::uint64_t> step{0};        ///< raised with every change of the others
  std::atomic<std::uint64_t> item{none};     ///< number of the pattern, of the caller's choice
  std::atomic<std::uint64_t> setting{none};  ///< number of the setting
  std::atomic<std::int64_t> runs{0};         ///< runs begun so far
  std::atomic<std::int64_t> limit_ms{0};     ///< time that the step may take
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// How a process ended.
struct process_end {
  bool by_signal = false;
  int number = 0;  ///< of the signal, or exit status

  /// "ends by signal 11 (Segmentation fault)", "ends with status 0".
  [[nodiscard]] std::string text() const;
};

/// This program started anew as a worker: a new process image, since neither a CUDA context nor
/// threads survive a fork. A worker that loses its parent is killed. It leaves no core dump.
class worker_process {
 public:
  /// `arguments` follow the program's name, `program` for messages of the worker. Throws error
  /// (run_failed) if the system refuses. Call it from a thread that outlives the worker.
  worker_process(const std::string& program, const std::vector<std::string>& arguments);
  /// Kills the worker if it still runs.
  ~worker_process();
  worker_process(const worker_process&) = delete;
  worker_process& operator=(const worker_process&) = delete;

  [[nodiscard]] const worker_page& page() const { return *page_; }
  /// For poll(): readable when there is a line or the worker has closed its end.
  [[nodiscard]] int descriptor() const { return pipe_; }
  /// The lines that came since the last call, without waiting.
  std::vector<std::string> read_lines();
  /// How the worker ended; nullopt while it runs.
  std::optional<process_end> ended();
  void kill();

 private:
  pid_t pid_ = -1;
  int pipe_ = -1;
  worker_page* page_ = nullptr;
  std::string partial_;
  std::optional<process_end> end_;
};

/// The end of the connection that the worker has.
class worker_channel {
 public:
  /// Throws input_error in a process that worker_process did not start.
  worker_channel();
  [[nodiscard]] worker_page& page() const { return *page_; }
  /// Sends one line, which must have no line break.
  void send(const std::string& line) const;

 private:
  worker_page* page_ = nullptr;
};

}  // namespace gsofa
