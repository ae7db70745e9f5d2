#include "common/shared_counter.hpp"

#ifdef GSOFA_HAVE_MPI
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "common/mpi_links.hpp"
#endif

namespace gsofa {

#ifdef GSOFA_HAVE_MPI

namespace {

enum counter_word : int { number, flag, counter_words };

}  // namespace

counter_window::counter_window(bool root) {
  const MPI_Aint bytes = root ? MPI_Aint{counter_words * sizeof(std::int64_t)} : 0;
  MPI_Win_allocate(bytes, sizeof(std::int64_t), MPI_INFO_NULL, MPI_COMM_WORLD, &base_, &win_);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, win_);
}

void counter_window::free() {
  MPI_Win_unlock_all(win_);
  MPI_Win_free(&win_);
}

std::int64_t counter_window::fetch_and_op(int word, std::int64_t operand, bool replace) {
  std::int64_t before = 0;
  const std::scoped_lock lock(lock_);
  MPI_Fetch_and_op(&operand, &before, MPI_INT64_T, 0, word, replace ? MPI_REPLACE : MPI_SUM, win_);
  MPI_Win_flush(0, win_);
  return before;
}

void counter_window::answer() {
  const std::scoped_lock lock(lock_);
  int found = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
}

void shared_counter::reset() {
  for (auto& word : local_) word.store(0);
  if (job_.ranks() == 1) return;
  job_.barrier();
  if (job_.root()) {
    for (int word = 0; word < counter_words; ++word)
      job_.links_->window.fetch_and_op(word, 0, true);
  }
  job_.barrier();
}

std::int64_t shared_counter::fetch_add(std::int64_t step) {
  return job_.ranks() > 1 ? job_.links_->window.fetch_and_op(number, step, false)
                          : local_[0].fetch_add(step);
}
void shared_counter::raise() {
  if (job_.ranks() > 1) {
    job_.links_->window.fetch_and_op(flag, 1, false);
  } else {
    local_[1].store(1);
  }
}
bool shared_counter::raised() {
  return (job_.ranks() > 1 ? job_.links_->window.fetch_and_op(flag, 0, false) : local_[1].load()) !=
         0;
}

struct shared_counter::progress::state {
  std::mutex guard;
  std::condition_variable wake;
  bool done = false;
  std::thread thread;
};

shared_counter::progress::progress(shared_counter& counter) {
  if (counter.job_.ranks() == 1 || !counter.job_.root()) return;
  state_ = std::make_unique<state>();
  state_->thread = started(
      "answers requests of other ranks", [s = state_.get(), window = &counter.job_.links_->window] {
        std::unique_lock lock(s->guard);
        while (!s->wake.wait_for(lock, std::chrono::microseconds(500), [s] { return s->done; })) {
          window->answer();
        }
      });
}

shared_counter::progress::~progress() {
  if (!state_) return;
  {
    const std::scoped_lock lock(state_->guard);
    state_->done = true;
  }
  state_->wake.notify_all();
  state_->thread.join();
}

#else  // without MPI: a job of one rank

void shared_counter::reset() {
  for (auto& word : local_) word.store(0);
}
std::int64_t shared_counter::fetch_add(std::int64_t step) { return local_[0].fetch_add(step); }
void shared_counter::raise() { local_[1].store(1); }
bool shared_counter::raised() { return local_[1].load() != 0; }

struct shared_counter::progress::state {};
shared_counter::progress::progress(shared_counter&) {}
shared_counter::progress::~progress() = default;

#endif

}  // namespace gsofa
