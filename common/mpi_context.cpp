#include "common/mpi_context.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "common/mpi_launcher.hpp"
#include "common/rank_errors.hpp"

#ifdef GSOFA_HAVE_MPI
#include "common/mpi_links.hpp"
#endif

namespace gsofa {

mpi_context& mpi_context::world() {
  static mpi_context instance;
  return instance;
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

constexpr std::size_t piece = std::size_t{1} << 30;  // counts of MPI-3 are int

}  // namespace

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
    links_ = std::make_unique<links>(*this, here, limit);
  }
  MPI_Comm_free(&here);
}

mpi_context::~mpi_context() = default;

rank_watch* mpi_context::watch() const { return links_ ? &links_->watch : nullptr; }

double mpi_context::wtime() const {
  if (uses_mpi_) return MPI_Wtime();
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void mpi_context::barrier() {
  if (ranks_ == 1) return;
  const waiting here(watch(), wait_kind::barrier);
  MPI_Barrier(MPI_COMM_WORLD);
}

void mpi_context::broadcast_bytes(void* data, std::size_t size) {
  if (ranks_ == 1) return;
  auto* at = static_cast<char*>(data);
  for (; size > 0; at += std::min(size, piece), size -= std::min(size, piece)) {
    const waiting here(watch(), wait_kind::broadcast);
    MPI_Bcast(at, static_cast<int>(std::min(size, piece)), MPI_BYTE, 0, MPI_COMM_WORLD);
  }
}

template <class T>
T mpi_context::reduce(T value, reduction how) {
  if (ranks_ == 1) return value;
  const waiting here(watch(), wait_kind::reduction);
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
    const waiting here(watch(), wait_kind::reduction);
    MPI_Reduce(root() ? MPI_IN_PLACE : from, from, count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  }
}

void mpi_context::send_to_root(const void* data, std::size_t size) {
  const auto* at = static_cast<const char*>(data);
  for (; size > 0; at += std::min(size, piece), size -= std::min(size, piece)) {
    const waiting here(watch(), wait_kind::send);
    MPI_Send(at, static_cast<int>(std::min(size, piece)), MPI_BYTE, 0, 0, MPI_COMM_WORLD);
  }
}

void mpi_context::receive(int from, void* data, std::size_t size) {
  auto* at = static_cast<char*>(data);
  for (; size > 0; at += std::min(size, piece), size -= std::min(size, piece)) {
    const waiting here(watch(), wait_kind::gather);
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
      const waiting here(watch(), wait_kind::end);
      MPI_Barrier(MPI_COMM_WORLD);
      links_->window.free();
    }
    links_->watch.free();
    links_.reset();
  }
  MPI_Finalize();
}

#else  // without MPI: a job of one rank

struct mpi_context::links {};

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
#endif

void mpi_context::sync_errors(const std::exception_ptr& mine) {
  if (ranks_ == 1) {
    if (mine) std::rethrow_exception(mine);
    return;
  }
#ifdef GSOFA_HAVE_MPI
  const waiting here(watch(), wait_kind::errors);
#endif
  const std::int64_t first = min(mine ? rank_ : ranks_);
  if (first == ranks_) return;
  // The message of the failing rank goes to rank 0, which broadcasts it.
  std::vector<char> failure;
  if (mine) failure = packed_failure(mine);
  const auto all = gather(failure);
  if (root()) failure = all[static_cast<std::size_t>(first)];
  broadcast(failure);
  throw_failure(failure, static_cast<int>(first));
}

}  // namespace gsofa
