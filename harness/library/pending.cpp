#include "harness/library/pending.hpp"

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
  state_->stop.request();
  state_->wait();
}

bool pending_analysis::ready() const { return state_ == nullptr || state_->ended(); }

const analysis& pending_analysis::get() {
  if (state_ == nullptr) throw invalid_input("pending_analysis: there is no analysis");
  return state_->get();
}

void pending_analysis::cancel() noexcept {
  if (state_ != nullptr) state_->stop.request();
}

namespace detail {

void pending_state::end(std::exception_ptr failed, const analysis* found) {
  const std::scoped_lock lock(mutex_);
  ended_ = true;
  failed_ = std::move(failed);
  found_ = found;
  changed_.notify_all();
}

bool pending_state::ended() {
  const std::scoped_lock lock(mutex_);
  return ended_;
}

void pending_state::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return ended_; });
}

const analysis& pending_state::get() {
  wait();
  const std::scoped_lock lock(mutex_);
  if (failed_) std::rethrow_exception(failed_);
  if (found_ == nullptr) {
    throw invalid_input("pending_analysis: the analyzer has ended or has begun another analysis");
  }
  return *found_;
}

void pending_state::withdraw() {
  const std::scoped_lock lock(mutex_);
  found_ = nullptr;
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
  for (;;) {
    std::function<void()> work;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return next_ || ends_; });
      if (!next_) return;
      work = std::exchange(next_, nullptr);
    }
    work();
  }
}

}  // namespace detail

}  // namespace gsofa
