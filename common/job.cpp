#include "common/job.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <mutex>
#include <new>
#include <thread>

#ifdef GSOFA_HAVE_MPI
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#endif

namespace gsofa {

namespace {

// What launchers tell a process: Open MPI, MPICH and Intel MPI (PMI), srun with PMIx.
std::optional<int> number_in(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (const char* text = std::getenv(name); text != nullptr && *text != '\0') {
      return std::atoi(text);
    }
  }
  return std::nullopt;
}
std::optional<int> launched_ranks() {
  if (const auto size = number_in({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})) return std::max(1, *size);
  // PMIx tells the rank only; Slurm tells the number of tasks of the step.
  if (number_in({"PMIX_RANK"})) return std::max(1, number_in({"SLURM_STEP_NUM_TASKS"}).value_or(1));
  return std::nullopt;
}

// What agree() throws on all ranks.
class collective_timeout : public timeout_error, public thrown_by_all_ranks {
 public:
  using timeout_error::timeout_error;
};
class collective_budget : public budget_error, public thrown_by_all_ranks {
 public:
  using budget_error::budget_error;
};

// How an exception travels between ranks.
enum class failure : int { none, collective, timeout, budget };
struct failure_text {
  failure kind = failure::none;
  int code = 0;
  std::string text;
};

failure_text describe(const std::exception_ptr& caught) {
  const int run_failed = static_cast<int>(exit_code::run_failed);
  try {
    std::rethrow_exception(caught);
  } catch (const timeout_error& e) {
    return {failure::timeout, run_failed, e.what()};
  } catch (const budget_error& e) {
    return {failure::budget, run_failed, e.what()};
  } catch (const error& e) {
    return {failure::collective, static_cast<int>(e.code()), e.what()};
  } catch (const std::bad_alloc&) {
    return {failure::budget, run_failed, "out of host memory"};
  } catch (const std::exception& e) {
    return {failure::collective, run_failed, e.what()};
  } catch (...) {
    return {failure::collective, run_failed, "unknown exception"};
  }
}

}  // namespace

job& job::world() {
  static job instance;
  return instance;
}

int launched_rank() {
  return number_in({"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"}).value_or(0);
}

bool built_with_mpi() {
#ifdef GSOFA_HAVE_MPI
  return true;
#else
  return false;
#endif
}

#ifdef GSOFA_HAVE_MPI

namespace {

// One call into MPI at a time: MPI_THREAD_SERIALIZED.
std::mutex& mpi_lock() {
  static std::mutex lock;
  return lock;
}

constexpr std::size_t piece = std::size_t{1} << 30;  // counts of MPI-3 are int

}  // namespace

job::job() {
  const auto launched = launched_ranks();
  if (!launched) return;
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
  uses_mpi_ = true;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
  if (ranks_ == 1 && *launched > 1) {
    throw unavailable_error("started as one of " + std::to_string(*launched) +
                            " ranks, but by the launcher of another MPI library than the one in "
                            "this build");
  }
  if (provided < MPI_THREAD_SERIALIZED && ranks_ > 1) {
    throw unavailable_error("the MPI library gives less than MPI_THREAD_SERIALIZED");
  }
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(text, &length);
  library_ = std::string(text, text + std::max(0, length));
  library_ = library_.substr(0, library_.find_first_of(",\n"));

  MPI_Comm here = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &here);
  MPI_Comm_rank(here, &node_rank_);
  int first = rank_;
  MPI_Bcast(&first, 1, MPI_INT, 0, here);
  MPI_Comm_free(&here);
  std::vector<int> firsts(static_cast<std::size_t>(ranks_));
  MPI_Allgather(&first, 1, MPI_INT, firsts.data(), 1, MPI_INT, MPI_COMM_WORLD);
  std::vector<int> nodes = firsts;
  std::ranges::sort(nodes);
  const auto repeated = std::ranges::unique(nodes);
  nodes.erase(repeated.begin(), repeated.end());
  ranks_per_node_.clear();
  for (const int f : nodes) {
    if (f == first) node_ = static_cast<int>(ranks_per_node_.size());
    ranks_per_node_.push_back(static_cast<int>(std::ranges::count(firsts, f)));
  }
}

job::~job() = default;

double job::wtime() const {
  if (uses_mpi_) return MPI_Wtime();
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void job::barrier() {
  if (ranks_ > 1) MPI_Barrier(MPI_COMM_WORLD);
}

void job::broadcast_bytes(void* data, std::size_t size) {
  if (ranks_ == 1) return;
  auto* at = static_cast<char*>(data);
  for (; size > 0; at += std::min(size, piece), size -= std::min(size, piece)) {
    MPI_Bcast(at, static_cast<int>(std::min(size, piece)), MPI_BYTE, 0, MPI_COMM_WORLD);
  }
}

namespace {
std::int64_t reduce(std::int64_t value, MPI_Op op, int ranks) {
  if (ranks > 1) MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT64_T, op, MPI_COMM_WORLD);
  return value;
}
}  // namespace

std::int64_t job::sum(std::int64_t value) { return reduce(value, MPI_SUM, ranks_); }
std::int64_t job::max(std::int64_t value) { return reduce(value, MPI_MAX, ranks_); }
std::int64_t job::min(std::int64_t value) { return reduce(value, MPI_MIN, ranks_); }
double job::max(double value) {
  if (ranks_ > 1) MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return value;
}

void job::sum_to_root(std::span<double> values) {
  if (ranks_ == 1) return;
  constexpr std::size_t most = piece / sizeof(double);
  for (std::size_t at = 0; at < values.size(); at += most) {
    const int count = static_cast<int>(std::min(most, values.size() - at));
    double* const here = values.data() + at;
    MPI_Reduce(root() ? MPI_IN_PLACE : here, here, count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  }
}

void job::send_to_root(const void* data, std::size_t size) {
  const auto* at = static_cast<const char*>(data);
  for (; size > 0; at += std::min(size, piece), size -= std::min(size, piece)) {
    MPI_Send(at, static_cast<int>(std::min(size, piece)), MPI_BYTE, 0, 0, MPI_COMM_WORLD);
  }
}

void job::receive(int from, void* data, std::size_t size) {
  auto* at = static_cast<char*>(data);
  for (; size > 0; at += std::min(size, piece), size -= std::min(size, piece)) {
    MPI_Recv(at, static_cast<int>(std::min(size, piece)), MPI_BYTE, from, 0, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
  }
}

void job::abort(int status) {
  std::fflush(nullptr);
  if (uses_mpi_) MPI_Abort(MPI_COMM_WORLD, status);
  std::_Exit(status);
}

void job::finish() {
  if (!uses_mpi_) return;
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized == 0) MPI_Finalize();
}

// base is allocated by MPI, on rank 0 only.
struct shared_counter::window {
  MPI_Win win = MPI_WIN_NULL;
  std::int64_t* base = nullptr;
};

shared_counter::shared_counter(job& j) : job_(j) {
  if (job_.ranks() == 1) return;
  window_ = std::make_unique<window>();
  const MPI_Aint bytes = job_.root() ? static_cast<MPI_Aint>(2 * sizeof(std::int64_t)) : 0;
  // Allocated by MPI: inside one node Open MPI then uses shared memory with real atomics.
  MPI_Win_allocate(bytes, sizeof(std::int64_t), MPI_INFO_NULL, MPI_COMM_WORLD, &window_->base,
                   &window_->win);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, window_->win);
  reset();
}

shared_counter::~shared_counter() {
  if (!window_) return;
  MPI_Win_unlock_all(window_->win);
  MPI_Win_free(&window_->win);
}

void shared_counter::reset() {
  for (auto& word : local_) word.store(0);
  if (!window_) return;
  job_.barrier();
  if (job_.root()) {
    fetch_and_op(0, 0, true);
    fetch_and_op(1, 0, true);
  }
  job_.barrier();
}

std::int64_t shared_counter::fetch_and_op(int word, std::int64_t operand, bool replace) {
  std::int64_t before = 0;
  const std::scoped_lock lock(mpi_lock());
  MPI_Fetch_and_op(&operand, &before, MPI_INT64_T, 0, word, replace ? MPI_REPLACE : MPI_SUM,
                   window_->win);
  MPI_Win_flush(0, window_->win);
  return before;
}

std::int64_t shared_counter::fetch_add(std::int64_t step) {
  return window_ ? fetch_and_op(0, step, false) : local_[0].fetch_add(step);
}
void shared_counter::raise() {
  if (window_) {
    fetch_and_op(1, 1, false);
  } else {
    local_[1].store(1);
  }
}
bool shared_counter::raised() {
  return (window_ ? fetch_and_op(1, 0, false) : local_[1].load()) != 0;
}

struct shared_counter::progress::state {
  std::mutex guard;
  std::condition_variable wake;
  bool done = false;
  std::thread thread;
};

shared_counter::progress::progress(shared_counter& counter) {
  if (!counter.window_ || !counter.job_.root()) return;
  state_ = std::make_unique<state>();
  state_->thread = std::thread([s = state_.get()] {
    std::unique_lock lock(s->guard);
    while (!s->wake.wait_for(lock, std::chrono::microseconds(500), [s] { return s->done; })) {
      const std::scoped_lock call(mpi_lock());
      int found = 0;
      MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
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

job::job() {
  const auto launched = launched_ranks();
  if (launched && *launched > 1) {
    throw unavailable_error("started as one of " + std::to_string(*launched) +
                            " ranks, but built without MPI (Debian: libopenmpi-dev)");
  }
}
job::~job() = default;

double job::wtime() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
void job::barrier() {}
void job::broadcast_bytes(void*, std::size_t) {}
std::int64_t job::sum(std::int64_t value) { return value; }
std::int64_t job::max(std::int64_t value) { return value; }
std::int64_t job::min(std::int64_t value) { return value; }
double job::max(double value) { return value; }
void job::sum_to_root(std::span<double>) {}
void job::send_to_root(const void*, std::size_t) {}
void job::receive(int, void*, std::size_t) {}
void job::abort(int status) {
  std::fflush(nullptr);
  std::_Exit(status);
}
void job::finish() {}

struct shared_counter::window {};
shared_counter::shared_counter(job& j) : job_(j) {}
shared_counter::~shared_counter() = default;
void shared_counter::reset() {
  for (auto& word : local_) word.store(0);
}
std::int64_t shared_counter::fetch_and_op(int word, std::int64_t operand, bool) {
  return local_[word].fetch_add(operand);
}
std::int64_t shared_counter::fetch_add(std::int64_t step) { return fetch_and_op(0, step, false); }
void shared_counter::raise() { local_[1].store(1); }
bool shared_counter::raised() { return local_[1].load() != 0; }

struct shared_counter::progress::state {};
shared_counter::progress::progress(shared_counter&) {}
shared_counter::progress::~progress() = default;

#endif

void job::agree(const std::exception_ptr& mine) {
  if (ranks_ == 1) {
    if (mine) std::rethrow_exception(mine);
    return;
  }
  const std::int64_t first = min(mine ? rank_ : ranks_);
  if (first == ranks_) return;
  failure_text f;
  if (mine) f = describe(mine);
  // The failing rank's words travel through rank 0, which broadcasts.
  std::vector<char> words(f.text.begin(), f.text.end());
  words.push_back(static_cast<char>(f.kind));
  words.push_back(static_cast<char>(f.code));
  const auto all = gather(words);
  if (root()) words = all[static_cast<std::size_t>(first)];
  broadcast(words);
  const auto code = static_cast<exit_code>(words.back());
  words.pop_back();
  const auto kind = static_cast<failure>(words.back());
  words.pop_back();
  std::string text(words.begin(), words.end());
  if (first != 0) text = "rank " + std::to_string(first) + ": " + text;
  if (kind == failure::timeout) throw collective_timeout(text);
  if (kind == failure::budget) throw collective_budget(text);
  throw collective_error(code, text);
}

}  // namespace gsofa
