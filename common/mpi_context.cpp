#include "common/mpi_context.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

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

// What sync_errors() throws on all ranks.
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

mpi_context& mpi_context::world() {
  static mpi_context instance;
  return instance;
}

bool has_launcher() {
  return number_in({"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"}).has_value();
}

int launched_rank() {
  return number_in({"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"}).value_or(0);
}

double collective_limit() {
  constexpr double usual = 7200;
  const char* text = std::getenv("GSOFA_MPI_LIMIT");
  if (text == nullptr || *text == '\0') return usual;
  double seconds = 0;
  const char* const end = text + std::strlen(text);
  const auto parsed = std::from_chars(text, end, seconds);
  if (parsed.ec != std::errc() || parsed.ptr != end || !(seconds >= 0) || seconds > 1e9) {
    throw input_error("GSOFA_MPI_LIMIT is '" + std::string(text) +
                      "', not a number of seconds from 0 to 1e9");
  }
  return seconds;
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

template <class Body>
std::thread started(const char* purpose, Body body) {
  try {
    return std::thread(std::move(body));
  } catch (const std::system_error& e) {
    throw error(exit_code::run_failed,
                std::string("cannot start the thread that ") + purpose + ": " + e.what());
  }
}

constexpr std::size_t piece = std::size_t{1} << 30;  // counts of MPI-3 are int

constexpr int counter_words = 2;      // of shared_counter: the number and the flag
constexpr int deadlock_seconds = 60;  // without progress where all ranks wait

// What a rank waits in, in the order of the names.
enum class wait_kind : std::uint32_t {
  none,
  barrier,
  broadcast,
  reduction,
  send,
  gather,
  errors,
  end
};
constexpr const char* wait_names[] = {
    "none",      "barrier",          "broadcast",         "reduction", "sending to rank 0",
    "gathering", "comparing errors", "the end of the job"};

// A rank's line of the board that the ranks of a node share. MPI aligns a window for any basic
// type, not for a cache line; the lines are that long, so that at most two ranks share one.
struct board_line {
  std::atomic<std::uint64_t> moves;  // begun and ended waits
  std::atomic<std::uint32_t> what;   // wait_kind
  std::array<char, 52> unused;
};
static_assert(sizeof(board_line) == 64);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace

// The window of shared_counter's words, on rank 0.
struct mpi_context::window {
  MPI_Win win = MPI_WIN_NULL;
  std::int64_t* base = nullptr;

  explicit window(bool root) {
    const MPI_Aint bytes = root ? MPI_Aint{counter_words * sizeof(std::int64_t)} : 0;
    MPI_Win_allocate(bytes, sizeof(std::int64_t), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
  }
  // Collective.
  void free() {
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
  }
};

// Watches the collectives of the ranks of this node from a thread of its own, which calls no MPI
// routine but MPI_Abort. Time is counted in wake-ups: a process that was stopped has not waited.
class mpi_context::watch {
 public:
  // Collective on `node`, the communicator of this node's ranks, which must return errors: where
  // MPI has no shared windows nothing is watched.
  watch(mpi_context& j, MPI_Comm node, double limit)
      : job_(j), limit_(limit), ranks_(static_cast<std::size_t>(j.ranks_per_node()[at(j.node())])) {
    void* memory = nullptr;
    const int made = MPI_Win_allocate_shared(sizeof(board_line), sizeof(board_line), MPI_INFO_NULL,
                                             node, &memory, &board_);
    int watches = made == MPI_SUCCESS ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &watches, 1, MPI_INT, MPI_MIN, node);
    if (watches == 0) return;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      MPI_Aint bytes = 0;
      int unit = 0;
      MPI_Win_shared_query(board_, static_cast<int>(r), &bytes, &unit, &memory);
      ranks_[r].line = static_cast<board_line*>(memory);
    }
    mine_ = new (ranks_[at(j.node_rank())].line) board_line{};
    std::vector<int> world(ranks_.size());
    const int rank = j.rank();
    MPI_Allgather(&rank, 1, MPI_INT, world.data(), 1, MPI_INT, node);  // no line is read before it
    for (std::size_t r = 0; r < ranks_.size(); ++r) ranks_[r].world = world[r];
    thread_ = started("watches the other ranks", [this] { run(); });
  }
  ~watch() { stop(); }
  watch(const watch&) = delete;
  watch& operator=(const watch&) = delete;

  // Collective on the node: after stop() nobody reads the board.
  void free() {
    stop();
    if (mine_ != nullptr) MPI_Win_free(&board_);
  }

  void begin(wait_kind what) {
    if (mine_ == nullptr) return;
    if (depth_++ == 0) mine_->what.store(static_cast<std::uint32_t>(what));
    mine_->moves.fetch_add(1);
  }
  void end() {
    if (mine_ == nullptr) return;
    mine_->moves.fetch_add(1);
    if (--depth_ == 0) mine_->what.store(static_cast<std::uint32_t>(wait_kind::none));
  }

 private:
  struct watched {
    board_line* line = nullptr;
    int world = 0;            // its rank in the job
    std::uint64_t moves = 0;  // as last seen
    int still = 0;            // seconds that it has waited in one place
  };

  static std::size_t at(int k) { return static_cast<std::size_t>(k); }

  void stop() {
    if (!thread_.joinable()) return;
    {
      const std::scoped_lock lock(guard_);
      done_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }

  void run() {
    std::unique_lock lock(guard_);
    while (!wake_.wait_for(lock, std::chrono::seconds(1), [this] { return done_; })) {
      int least = std::numeric_limits<int>::max();
      for (watched& r : ranks_) {
        const std::uint64_t moves = r.line->moves.load();
        const bool waits = r.line->what.load() != static_cast<std::uint32_t>(wait_kind::none);
        r.still = waits && moves == r.moves ? r.still + 1 : 0;
        r.moves = moves;
        least = std::min(least, r.still);
      }
      const int mine = ranks_[at(job_.node_rank())].still;
      const bool deadlock = job_.nodes() == 1 && least >= deadlock_seconds;
      if (deadlock || (limit_ > 0 && mine >= limit_)) expire(mine);
    }
  }

  // The first waiting rank of each node prints for it; the others leave it the time to do so.
  void expire(int seconds) {
    const auto first = std::ranges::find_if(ranks_, [](const watched& r) { return r.still > 0; });
    if (first == ranks_.end() || first->world == job_.rank()) {
      std::array<char, 8192> text{};
      std::size_t used = 0;
      auto add = [&](const char* format, auto... values) {
        if (used >= text.size()) return;
        const int more = std::snprintf(text.data() + used, text.size() - used, format, values...);
        used += at(std::max(0, more));
      };
      add("gsofa: error: the ranks have waited for each other for %d s:", seconds);
      const char* separator = " ";
      for (const watched& r : ranks_) {
        const auto what = r.line->what.load();
        if (what == static_cast<std::uint32_t>(wait_kind::none)) {
          add("%srank %d is at work", separator, r.world);
        } else {
          add("%srank %d waits in %s", separator, r.world,
              wait_names[what % std::size(wait_names)]);
        }
        separator = ", ";
      }
      std::fprintf(stderr, "%s\n", text.data());
      std::this_thread::sleep_for(std::chrono::milliseconds(500));
    } else {
      std::this_thread::sleep_for(std::chrono::seconds(5));
    }
    job_.abort(static_cast<int>(exit_code::run_failed));
  }

  mpi_context& job_;
  double limit_;
  std::vector<watched> ranks_;  // of this node, in order of rank
  MPI_Win board_ = MPI_WIN_NULL;
  board_line* mine_ = nullptr;
  int depth_ = 0;
  std::mutex guard_;
  std::condition_variable wake_;
  bool done_ = false;
  std::thread thread_;
};

// RAII: this rank waits for others while it lives.
class mpi_context::waiting {
 public:
  waiting(mpi_context& j, wait_kind what) : watch_(j.watch_.get()) {
    if (watch_ != nullptr) watch_->begin(what);
  }
  ~waiting() {
    if (watch_ != nullptr) watch_->end();
  }
  waiting(const waiting&) = delete;
  waiting& operator=(const waiting&) = delete;

 private:
  watch* watch_;
};

mpi_context::mpi_context() {
  const auto launched = launched_ranks();
  if (!launched) return;
  const double limit = collective_limit();
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
  uses_mpi_ = true;
  try {
    join(*launched, provided, limit);
  } catch (const error&) {  // thrown by all ranks alike
    throw;
  } catch (const std::bad_alloc&) {
    std::fputs("gsofa: error: out of host memory while the ranks of the job meet\n", stderr);
    abort(static_cast<int>(exit_code::run_failed));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "gsofa: error: the ranks of the job cannot meet: %s\n", e.what());
    abort(static_cast<int>(exit_code::run_failed));
  }
}

// Collective: finds the nodes of the ranks, and makes the window and the board.
void mpi_context::join(int launched, int provided, double limit) {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
  if (ranks_ == 1 && launched > 1) {
    throw unavailable_error("started as one of " + std::to_string(launched) +
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
  std::vector<int> firsts(static_cast<std::size_t>(ranks_));
  MPI_Allgather(&first, 1, MPI_INT, firsts.data(), 1, MPI_INT, MPI_COMM_WORLD);
  std::vector<int> nodes = firsts;
  std::ranges::sort(nodes);
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  ranks_per_node_.clear();
  for (const int f : nodes) {
    if (f == first) node_ = static_cast<int>(ranks_per_node_.size());
    ranks_per_node_.push_back(static_cast<int>(std::ranges::count(firsts, f)));
  }
  if (ranks_ > 1) {
    MPI_Comm_set_errhandler(here, MPI_ERRORS_RETURN);
    watch_ = std::make_unique<watch>(*this, here, limit);
    window_ = std::make_unique<window>(root());
  }
  MPI_Comm_free(&here);
}

mpi_context::~mpi_context() = default;

double mpi_context::wtime() const {
  if (uses_mpi_) return MPI_Wtime();
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void mpi_context::barrier() {
  if (ranks_ == 1) return;
  const waiting here(*this, wait_kind::barrier);
  MPI_Barrier(MPI_COMM_WORLD);
}

void mpi_context::broadcast_bytes(void* data, std::size_t size) {
  if (ranks_ == 1) return;
  auto* at = static_cast<char*>(data);
  for (; size > 0; at += std::min(size, piece), size -= std::min(size, piece)) {
    const waiting here(*this, wait_kind::broadcast);
    MPI_Bcast(at, static_cast<int>(std::min(size, piece)), MPI_BYTE, 0, MPI_COMM_WORLD);
  }
}

template <class T>
T mpi_context::reduce(T value, reduction how) {
  if (ranks_ == 1) return value;
  const waiting here(*this, wait_kind::reduction);
  const MPI_Datatype type = std::is_same_v<T, double> ? MPI_DOUBLE : MPI_INT64_T;
  const MPI_Op op = how == reduction::sum ? MPI_SUM : how == reduction::max ? MPI_MAX : MPI_MIN;
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, type, op, MPI_COMM_WORLD);
  return value;
}

std::int64_t mpi_context::sum(std::int64_t value) { return reduce(value, reduction::sum); }
std::int64_t mpi_context::max(std::int64_t value) { return reduce(value, reduction::max); }
std::int64_t mpi_context::min(std::int64_t value) { return reduce(value, reduction::min); }
double mpi_context::max(double value) { return reduce(value, reduction::max); }

void mpi_context::sum_to_root(std::span<double> values) {
  if (ranks_ == 1) return;
  constexpr std::size_t most = piece / sizeof(double);
  for (std::size_t at = 0; at < values.size(); at += most) {
    const int count = static_cast<int>(std::min(most, values.size() - at));
    double* const from = values.data() + at;
    const waiting here(*this, wait_kind::reduction);
    MPI_Reduce(root() ? MPI_IN_PLACE : from, from, count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  }
}

void mpi_context::send_to_root(const void* data, std::size_t size) {
  const auto* at = static_cast<const char*>(data);
  for (; size > 0; at += std::min(size, piece), size -= std::min(size, piece)) {
    const waiting here(*this, wait_kind::send);
    MPI_Send(at, static_cast<int>(std::min(size, piece)), MPI_BYTE, 0, 0, MPI_COMM_WORLD);
  }
}

void mpi_context::receive(int from, void* data, std::size_t size) {
  auto* at = static_cast<char*>(data);
  for (; size > 0; at += std::min(size, piece), size -= std::min(size, piece)) {
    const waiting here(*this, wait_kind::gather);
    MPI_Recv(at, static_cast<int>(std::min(size, piece)), MPI_BYTE, from, 0, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
  }
}

void mpi_context::abort(int status) noexcept {
  std::fflush(nullptr);
  int finalized = 0;
  if (uses_mpi_) MPI_Finalized(&finalized);
  if (uses_mpi_ && finalized == 0) MPI_Abort(MPI_COMM_WORLD, status);
  std::_Exit(status);
}

void mpi_context::finish() {
  if (!uses_mpi_) return;
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized != 0) return;
  if (ranks_ > 1) {
    {
      const waiting here(*this, wait_kind::end);
      MPI_Barrier(MPI_COMM_WORLD);
      window_->free();
    }
    watch_->free();
    window_.reset();
    watch_.reset();
  }
  MPI_Finalize();
}

std::int64_t mpi_context::fetch_and_op(int word, std::int64_t operand, bool replace) {
  std::int64_t before = 0;
  const std::scoped_lock lock(mpi_lock());
  MPI_Fetch_and_op(&operand, &before, MPI_INT64_T, 0, word, replace ? MPI_REPLACE : MPI_SUM,
                   window_->win);
  MPI_Win_flush(0, window_->win);
  return before;
}

void shared_counter::reset() {
  for (auto& word : local_) word.store(0);
  if (job_.ranks() == 1) return;
  job_.barrier();
  if (job_.root()) {
    for (int word = 0; word < counter_words; ++word) job_.fetch_and_op(word, 0, true);
  }
  job_.barrier();
}

std::int64_t shared_counter::fetch_add(std::int64_t step) {
  return job_.ranks() > 1 ? job_.fetch_and_op(0, step, false) : local_[0].fetch_add(step);
}
void shared_counter::raise() {
  if (job_.ranks() > 1) {
    job_.fetch_and_op(1, 1, false);
  } else {
    local_[1].store(1);
  }
}
bool shared_counter::raised() {
  return (job_.ranks() > 1 ? job_.fetch_and_op(1, 0, false) : local_[1].load()) != 0;
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
  state_->thread = started("answers requests of other ranks", [s = state_.get()] {
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

mpi_context::mpi_context() {
  const auto launched = launched_ranks();
  if (launched && *launched > 1) {
    throw unavailable_error("started as one of " + std::to_string(*launched) +
                            " ranks, but built without MPI (Debian: libopenmpi-dev)");
  }
}
mpi_context::~mpi_context() = default;

double mpi_context::wtime() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
void mpi_context::barrier() {}
void mpi_context::broadcast_bytes(void*, std::size_t) {}
std::int64_t mpi_context::sum(std::int64_t value) { return value; }
std::int64_t mpi_context::max(std::int64_t value) { return value; }
std::int64_t mpi_context::min(std::int64_t value) { return value; }
double mpi_context::max(double value) { return value; }
void mpi_context::sum_to_root(std::span<double>) {}
void mpi_context::send_to_root(const void*, std::size_t) {}
void mpi_context::receive(int, void*, std::size_t) {}
void mpi_context::abort(int status) noexcept {
  std::fflush(nullptr);
  std::_Exit(status);
}
void mpi_context::finish() {}
std::int64_t mpi_context::fetch_and_op(int, std::int64_t, bool) { return 0; }

struct mpi_context::window {};
class mpi_context::watch {};
class mpi_context::waiting {};

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

void mpi_context::sync_errors(const std::exception_ptr& mine) {
  if (ranks_ == 1) {
    if (mine) std::rethrow_exception(mine);
    return;
  }
#ifdef GSOFA_HAVE_MPI
  const waiting here(*this, wait_kind::errors);
#endif
  const std::int64_t first = min(mine ? rank_ : ranks_);
  if (first == ranks_) return;
  failure_text f;
  if (mine) f = describe(mine);
  // The message of the failing rank goes to rank 0, which broadcasts it.
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
