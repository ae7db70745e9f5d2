#pragma once

// Internal to the job of ranks (mpi_context.cpp, shared_counter.cpp), in builds with MPI.

#include "common/rank_watch.hpp"

namespace gsofa {

/// The window of shared_counter's words, on rank 0. Any thread may call fetch_and_op() and
/// answer().
class counter_window {
 public:
  explicit counter_window(bool root);  ///< collective
  void free();                         ///< collective
  /// Adds `operand` to a word, or replaces the word by it; the value before.
  std::int64_t fetch_and_op(int word, std::int64_t operand, bool replace);
  /// Lets the operations of other ranks make progress.
  void answer();

 private:
  MPI_Win win_ = MPI_WIN_NULL;
  std::int64_t* base_ = nullptr;
  std::mutex lock_;  // one call into MPI at a time: MPI_THREAD_SERIALIZED
};

/// What a job of several ranks has.
struct mpi_context::links {
  rank_watch watch;
  counter_window window;

  links(mpi_context& j, MPI_Comm node, double limit) : watch(j, node, limit), window(j.root()) {}
};

}  // namespace gsofa
