#pragma once

// Internal to the job of ranks (mpi_context.cpp, shared_counter.cpp), in builds with MPI.

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "common/mpi_context.hpp"
#include "common/mpi_headers.hpp"

namespace gsofa {

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

// A rank's line of the board that the ranks of a node share. MPI aligns a window for any basic
// type, not for a cache line; the lines are that long, so that at most two ranks share one.
struct board_line {
  std::atomic<std::uint64_t> moves;  // begun and ended waits
  std::atomic<std::uint32_t> what;   // wait_kind
  std::array<char, 52> unused;
};
static_assert(sizeof(board_line) == 64);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// Watches the collectives of the ranks of this node from a thread of its own, which calls no MPI
// routine but MPI_Abort. Time is counted in wake-ups: a process that was stopped has not waited.
class rank_watch {
 public:
  // Collective on `node`, the communicator of this node's ranks, which must return errors: where
  // MPI has no shared windows nothing is watched.
  rank_watch(mpi_context& j, MPI_Comm node, double limit);
  ~rank_watch() { stop(); }
  rank_watch(const rank_watch&) = delete;
  rank_watch& operator=(const rank_watch&) = delete;

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

  void stop();
  void run();
  void expire(int seconds);

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
class waiting {
 public:
  waiting(rank_watch* watch, wait_kind what) : watch_(watch) {
    if (watch_ != nullptr) watch_->begin(what);
  }
  ~waiting() {
    if (watch_ != nullptr) watch_->end();
  }
  waiting(const waiting&) = delete;
  waiting& operator=(const waiting&) = delete;

 private:
  rank_watch* watch_;
};

/// A thread that runs `body`. Throws error: "cannot start the thread that PURPOSE".
std::thread started(const char* purpose, std::function<void()> body);

}  // namespace gsofa
