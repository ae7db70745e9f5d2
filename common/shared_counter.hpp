#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "common/mpi_context.hpp"

namespace gsofa {

/// A counter and a flag shared by all ranks: words in the one window of the job, on rank 0, that
/// are read and changed by MPI_Fetch_and_op in a passive epoch. In a job of one rank they are
/// atomics.
///
/// All objects of a job share the two words: from reset() on they belong to the object that was
/// reset, until another one is.
///
/// MPI promises completion of passive-target operations without a call by the target only where
/// the network has atomics. Open MPI 4.1 serves windows of MPI_Win_allocate by osc/rdma, inside a
/// node too, whose operations can need the target to enter the library. While `progress` objects
/// live, a thread of rank 0 does so every half millisecond.
class shared_counter {
 public:
  explicit shared_counter(mpi_context& j) : job_(j) {}
  shared_counter(const shared_counter&) = delete;
  shared_counter& operator=(const shared_counter&) = delete;

  /// Collective: both words become 0, before any rank returns.
  void reset();
  /// Adds `step`, returns the value before. Any thread may call it.
  std::int64_t fetch_add(std::int64_t step);
  /// Raises the flag; it stays up until reset(). Any thread may call it.
  void raise();
  /// True once any rank has raised the flag. Any thread may call it.
  [[nodiscard]] bool raised();

  /// While such an object lives, one-sided operations on this rank make progress; collectives of
  /// the job must not be called meanwhile.
  class progress {
   public:
    explicit progress(shared_counter& counter);
    ~progress();
    progress(const progress&) = delete;
    progress& operator=(const progress&) = delete;

   private:
    struct state;
    std::unique_ptr<state> state_;
  };

 private:
  mpi_context& job_;
  std::atomic<std::int64_t> local_[2] = {0, 0};
};

}  // namespace gsofa
