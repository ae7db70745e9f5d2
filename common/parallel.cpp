#include "common/parallel.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace gsofa::detail {

namespace {

using clock = std::chrono::steady_clock;

// About as long as waking a thread takes.
constexpr int first_looks = 256;
// Steps of a run follow each other sooner than this, unless one thread has much to do alone.
constexpr auto longest_look = std::chrono::microseconds(200);
// Two looks so far apart: the processor was with others meanwhile.
constexpr auto interruption = std::chrono::microseconds(50);

// The processors that threads started now may use; none if there are too many for a cpu_set_t.
cpu_set_t processors_of_this_thread() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) CPU_ZERO(&set);
  return set;
}

}  // namespace

struct thread_team::shared {
  // Of a call; read by threads that take part in it.
  void (*body)(void*, int) = nullptr;
  void* what = nullptr;
  cpu_set_t processors{};
  std::uint64_t process = 0;  // process_number() where the team was made
  // The number of the last call, whether it needs all threads, and in the last 15 bits its threads;
  // none: the threads end.
  alignas(64) std::atomic<std::uint64_t> call{0};
  alignas(64) call_gate gate;
  alignas(64) std::atomic<int> unfinished{0};
  // relaxed: hints.
  alignas(64) std::atomic<bool> in_run{false};
  std::atomic<bool> crowded{false};  // others need the processors of threads that look

  static constexpr std::uint64_t needs_all = most_threads + 1;
  [[nodiscard]] std::uint64_t next_call(int threads, who which) const {
    const std::uint64_t last = call.load(std::memory_order_relaxed);
    const std::uint64_t number = (last | needs_all | most_threads) + 1;
    return number | (which == who::all ? needs_all : 0) | static_cast<std::uint64_t>(threads);
  }
  static std::uint32_t number_of(std::uint64_t call) {
    return static_cast<std::uint32_t>(call >> 16);
  }
  // Looks until done() for as long as is worth while; true once it is.
  template <class Done>
  bool look(const Done& done) {
#if defined(__x86_64__)
    for (int k = 0; k < first_looks; ++k) {
      if (done()) return true;
      __builtin_ia32_pause();
    }
    const clock::time_point begin = clock::now();
    for (clock::time_point last = begin;
         in_run.load(std::memory_order_relaxed) && !crowded.load(std::memory_order_relaxed);) {
      for (int k = 0; k < 16; ++k) {
        if (done()) return true;
        __builtin_ia32_pause();
      }
      const clock::time_point now = clock::now();
      if (now - last > interruption) crowded.store(true, std::memory_order_relaxed);
      if (now - begin > longest_look) break;
      last = now;
    }
#endif
    return done();
  }
};

// A thread that takes part in the calls of more than `number` threads.
class thread_team::worker {
 public:
  worker(shared& of, int number) : thread_([this, &of, number] { run(of, number); }) {}

  // After a change of `call`, of which the thread shall know. seq_cst: either it sees the change
  // before it sleeps, or this sees that it sleeps.
  void wake() {
    if (sleeps_.load(std::memory_order_seq_cst) == 0) return;
    sleeps_.store(0, std::memory_order_seq_cst);
    sleeps_.notify_one();
  }

 private:
  void run(shared& of, int number) {
    for (std::uint64_t seen = 0;;) {
      const auto is_called = [&] { return of.call.load(std::memory_order_acquire) != seen; };
      while (!of.look(is_called)) {
        sleeps_.store(1, std::memory_order_seq_cst);
        if (of.call.load(std::memory_order_seq_cst) == seen) {
          sleeps_.wait(1, std::memory_order_seq_cst);
        }
        sleeps_.store(0, std::memory_order_seq_cst);
      }
      seen = of.call.load(std::memory_order_acquire);
      const std::uint64_t threads = seen & most_threads;
      if (threads == 0) return;
      if (std::cmp_greater_equal(number, threads)) continue;
      if ((seen & shared::needs_all) == 0) {
        if (!of.gate.enter(shared::number_of(seen))) continue;
        of.body(of.what, number);
        of.gate.leave();
        continue;
      }
      of.body(of.what, number);
      if (of.unfinished.fetch_sub(1, std::memory_order_acq_rel) == 1) of.unfinished.notify_one();
    }
  }

  alignas(64) std::atomic<int> sleeps_{0};
  std::jthread thread_;
};

// The teams of no run. Nothing of it is destroyed, so that a thread may end its run at any time.
struct idle_teams {
  std::mutex mutex;
  thread_team* first = nullptr;  // a chain
  // Those whose threads are of a process that this one was forked from: they can neither end nor
  // be waited for.
  thread_team* lost = nullptr;
  bool closed = false;

  static void push(thread_team*& chain, thread_team* team) {
    team->next_ = chain;
    chain = team;
  }
  static thread_team* pop(thread_team*& chain) {
    return chain == nullptr ? nullptr : std::exchange(chain, chain->next_);
  }
  std::unique_ptr<thread_team> take(const cpu_set_t& processors) {
    const std::scoped_lock lock(mutex);
    for (thread_team** at = &first; *at != nullptr; at = &(*at)->next_) {
      if (CPU_EQUAL(&(*at)->shared_->processors, &processors) != 0) {
        return std::unique_ptr<thread_team>(pop(*at));
      }
    }
    return nullptr;
  }
  void after_fork() {
    while (thread_team* const team = pop(first)) push(lost, team);
  }
  void close() {
    thread_team* chain = nullptr;
    {
      const std::scoped_lock lock(mutex);
      closed = true;
      chain = std::exchange(first, nullptr);
    }
    while (const std::unique_ptr<thread_team> team{pop(chain)}) {
    }
  }
};

namespace {

constinit idle_teams idle;
// What keeps threads for this thread.
constinit thread_local kept_threads* kept = nullptr;
constinit std::atomic<std::uint64_t> forks{0};
// The system had no memory for the functions that count forks.
constinit std::atomic<bool> forks_are_not_counted{false};

// A process that forks while another thread holds a mutex would leave it locked for its child.
struct life_of_teams {
  life_of_teams() {
    const auto before = [] { idle.mutex.lock(); };
    const auto in_parent = [] { idle.mutex.unlock(); };
    const auto in_child = [] {
      forks.fetch_add(1, std::memory_order_relaxed);
      idle.after_fork();
      idle.mutex.unlock();
    };
    if (pthread_atfork(before, in_parent, in_child) != 0) forks_are_not_counted = true;
  }
  life_of_teams(const life_of_teams&) = delete;
  life_of_teams& operator=(const life_of_teams&) = delete;
  ~life_of_teams() { idle.close(); }
};
const life_of_teams life;

}  // namespace

thread_team::thread_team() : shared_(std::make_unique<shared>()) {
  shared_->processors = processors_of_this_thread();
  shared_->process = process_number();
}

thread_team::~thread_team() {
  if (!is_of_this_process()) {
    for (auto& w : workers_) static_cast<void>(w.release());
    static_cast<void>(shared_.release());
    return;
  }
  shared_->call.store(shared_->next_call(0, who::all), std::memory_order_seq_cst);
  for (const auto& w : workers_) w->wake();
}

std::size_t thread_team::start(std::size_t threads) {
  const int processors = CPU_COUNT(&shared_->processors);
  if (std::cmp_less_equal(processors, threads)) {
    shared_->crowded.store(true, std::memory_order_relaxed);
  }
  workers_.reserve(threads);
  try {
    while (workers_.size() < threads) {
      workers_.push_back(std::make_unique<worker>(*shared_, static_cast<int>(workers_.size()) + 1));
    }
  } catch (const std::system_error&) {
    // The system refuses more threads.
  }
  return std::min(threads, workers_.size());
}

void thread_team::call(int threads, who which, void (*body)(void*, int), void* what) {
  shared& s = *shared_;
  // More threads than processors would only interrupt each other.
  const int processors = CPU_COUNT(&s.processors);
  if (which == who::ready && processors > 0) threads = std::min(threads, processors);
  const std::uint64_t call = s.next_call(threads, which);
  s.unfinished.store(threads - 1, std::memory_order_relaxed);
  s.body = body;
  s.what = what;
  if (which == who::ready) s.gate.open(shared::number_of(call));
  s.call.store(call, std::memory_order_seq_cst);
  for (std::size_t t = 1; t < at(threads); ++t) workers_[t - 1]->wake();
  body(what, 0);
  if (!is_of_this_process()) throw lost_threads();
  if (which == who::ready) {
    s.gate.close([&](const auto& done) { return s.look(done); });
    return;
  }
  const auto is_done = [&] { return s.unfinished.load(std::memory_order_acquire) == 0; };
  if (s.look(is_done)) return;
  for (int left = 0; (left = s.unfinished.load(std::memory_order_acquire)) != 0;) {
    s.unfinished.wait(left, std::memory_order_acquire);
  }
}

std::unique_ptr<thread_team> thread_team::take() {
  std::unique_ptr<thread_team> team = idle.take(processors_of_this_thread());
  if (team == nullptr) team = std::make_unique<thread_team>();
  team->shared_->crowded.store(false, std::memory_order_relaxed);
  team->shared_->in_run.store(true, std::memory_order_relaxed);
  return team;
}

void thread_team::give_back(std::unique_ptr<thread_team> team) noexcept {
  team->shared_->in_run.store(false, std::memory_order_relaxed);
  const std::scoped_lock lock(idle.mutex);
  if (!team->is_of_this_process()) {
    idle_teams::push(idle.lost, team.release());
  } else if (!idle.closed) {
    idle_teams::push(idle.first, team.release());
  }
}

bool thread_team::is_of_this_process() const { return shared_->process == process_number(); }

}  // namespace gsofa::detail

namespace gsofa {

std::uint64_t process_number() {
  if (detail::forks_are_not_counted) return static_cast<std::uint64_t>(getpid());
  return detail::forks.load(std::memory_order_relaxed);
}

kept_threads::kept_threads(int threads) {
  if (threads > 1 && detail::kept == nullptr) detail::kept = this;
}

kept_threads::~kept_threads() {
  if (detail::kept == this) detail::kept = nullptr;
  if (team_ != nullptr) detail::thread_team::give_back(std::move(team_));
}

kept_threads* kept_threads::of_this_thread() { return detail::kept; }

std::size_t kept_threads::start(std::size_t count) {
  if (team_ != nullptr && !team_->is_of_this_process()) {
    detail::thread_team::give_back(std::move(team_));
  }
  if (team_ == nullptr) team_ = detail::thread_team::take();
  return team_->start(count);
}

}  // namespace gsofa
