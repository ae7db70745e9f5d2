#ifdef GSOFA_HAVE_MPI

#include "common/rank_watch.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <new>
#include <string>
#include <system_error>
#include <utility>

#include "common/error.hpp"

namespace gsofa {

namespace {

constexpr int deadlock_seconds = 60;  // without progress where all ranks wait
constexpr const char* wait_names[] = {
    "none",      "barrier",          "broadcast",         "reduction", "sending to rank 0",
    "gathering", "comparing errors", "the end of the job"};

std::size_t at(int k) { return static_cast<std::size_t>(k); }

}  // namespace

std::thread started(const char* purpose, std::function<void()> body) {
  try {
    return std::thread(std::move(body));
  } catch (const std::system_error& e) {
    throw error(exit_code::run_failed,
                std::string("cannot start the thread that ") + purpose + ": " + e.what());
  }
}

rank_watch::rank_watch(mpi_context& j, MPI_Comm node, double limit)
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

void rank_watch::stop() {
  if (!thread_.joinable()) return;
  {
    const std::scoped_lock lock(guard_);
    done_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void rank_watch::run() {
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
void rank_watch::expire(int seconds) {
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
        add("%srank %d waits in %s", separator, r.world, wait_names[what % std::size(wait_names)]);
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

}  // namespace gsofa

#endif
