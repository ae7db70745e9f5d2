#include "harness/library/cpp/pending.hpp"

#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

#include "common/error.hpp"

namespace gsofa {

pending_analysis::pending_analysis() noexcept = default;
pending_analysis::pending_analysis(std::shared_ptr<state> s) noexcept : state_(std::move(s)) {}
pending_analysis::pending_analysis(pending_analysis&&) noexcept = default;

pending_analysis& pending_analysis::operator=(pending_analysis&& o) noexcept {
  pending_analysis moved(std::move(o));
  std::swap(state_, moved.state_);
  return *this;
}

pending_analysis::~pending_analysis() {
  if (state_ == nullptr) return;
  state_->request_stop();
  if (!state_->ended() && !state_->is_done_here()) state_->wait();
}

bool pending_analysis::ready() const { return state_ == nullptr || state_->ended(); }

const analysis& pending_analysis::get() {
  if (state_ == nullptr) throw invalid_input("pending_analysis: there is no analysis");
  return state_->get();
}

void pending_analysis::cancel() noexcept {
  if (state_ != nullptr) state_->request_stop();
}

namespace library {

void pending_state::end(std::exception_ptr failed, const analysis* found) {
  failed_ = std::move(failed);
  found_ = found;
  ended_ = 1;
  ended_.notify_all();
}

void pending_state::wait() const {
  if (is_done_here()) {
    throw invalid_input("pending_analysis: a callback of an analysis cannot wait for its end");
  }
  while (ended_ == 0) {
    if (is_lost()) {
      throw analysis_error(failure::unavailable,
                           "pending_analysis: the analysis is under way in the process that this "
                           "one was forked from");
    }
    ended_.wait(0);
  }
}

const analysis& pending_state::get() const {
  wait();
  if (failed_) std::rethrow_exception(failed_);
  const analysis* const found = found_;
  if (found == nullptr) {
    throw invalid_input("pending_analysis: the analyzer has ended or has begun another analysis");
  }
  return *found;
}

work_thread::~work_thread() {
  const std::scoped_lock lock(mutex_);
  ends_ = true;
  changed_.notify_all();
}

void work_thread::give(std::function<void()> work) {
  const std::scoped_lock lock(mutex_);
  if (!thread_.joinable()) {
    try {
      thread_ = std::jthread([this] { run(); });
    } catch (const std::system_error& e) {
      throw error(exit_code::run_failed, std::string("cannot start a thread: ") + e.what());
    }
  }
  next_ = std::move(work);
  changed_.notify_all();
}

void work_thread::run() {
  const std::uint64_t process = process_number();
  for (;;) {
    std::function<void()> work;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return next_ || ends_; });
      if (!next_) return;
      work = std::exchange(next_, nullptr);
    }
    work();
    // A callback has forked, and this is the only thread of the child.
    if (process != process_number()) return;
    work = nullptr;
    if (const auto last = std::exchange(last_, nullptr)) {
      thread_.detach();
      last();
      return;
    }
  }
}

}  // namespace library

}  // namespace gsofa
