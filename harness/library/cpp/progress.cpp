#include "harness/library/cpp/progress.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <system_error>
#include <thread>
#include <utility>

#include "common/parallel.hpp"
#include "common/thread_device.hpp"

namespace gsofa::library {

void supervision::enter(analysis_stage stage) {
  if (stop.load(std::memory_order_relaxed)) throw cancelled_error();
  probe.reset();
  stage_.store(stage, std::memory_order_relaxed);
}

void supervision::say(const std::string& line) {
  if (!log_) return;
  if (own_thread_) {
    const std::scoped_lock lock(mutex_);
    lines_.push_back(line);
    return;
  }
  try {
    log_(line);
  } catch (...) {
    throw callback_failure{std::current_exception()};
  }
}

analysis_progress supervision::look() {
  return {stage_.load(std::memory_order_relaxed), probe.ask()};
}

void supervision::pass_on_lines() {
  std::vector<std::string> lines;
  {
    const std::scoped_lock lock(mutex_);
    lines = std::exchange(lines_, {});
  }
  for (const std::string& line : lines) log_(line);
}

void supervise(const analysis_options& options, const std::function<void(supervision&)>& work,
               bool is_short) {
  supervision s(options, options.progress && !is_short);
  if (!options.progress) return work(s);
  std::exception_ptr of_work, of_callback;
  bool cancelled = false;
  std::uint64_t process = process_number();
  const auto call_back = [&] {
    if (cancelled) return;
    try {
      s.pass_on_lines();
      if (process == process_number()) cancelled = !options.progress(s.look());
    } catch (...) {
      of_callback = std::current_exception();
      cancelled = true;
    }
    if (cancelled) s.stop.store(true, std::memory_order_relaxed);
  };
  call_back();
  if (of_callback) throw callback_failure{of_callback};
  if (cancelled) throw cancelled_error();
  if (is_short) return work(s);
  process = process_number();
  std::mutex mutex;
  std::condition_variable ended;
  bool done = false;
  const auto work_on = [&](int device) {
    try {
      use_thread_device(device);
      work(s);
    } catch (...) {
      of_work = std::current_exception();
    }
    const std::scoped_lock lock(mutex);
    done = true;
    ended.notify_one();
  };
  {
    std::jthread worker;
    try {
      worker = std::jthread([&, device = thread_device()] { work_on(device); });
    } catch (const std::system_error&) {
      work_on(thread_device());  // the system refuses a thread: no progress, but a result
    }
    const auto interval = std::chrono::duration_cast<std::chrono::steady_clock::duration>(
        std::chrono::duration<double>(options.progress_seconds));
    std::unique_lock lock(mutex);
    while (!ended.wait_for(lock, interval, [&] { return done; })) {
      lock.unlock();
      call_back();
      if (process != process_number()) {
        worker.detach();
        throw detail::lost_threads();
      }
      lock.lock();
    }
  }
  if (!of_callback) {
    try {
      s.pass_on_lines();
    } catch (...) {
      of_callback = std::current_exception();
    }
  }
  if (of_callback) throw callback_failure{of_callback};
  if (of_work) std::rethrow_exception(of_work);
}

}  // namespace gsofa::library
