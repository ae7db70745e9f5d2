#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace gsofa {

class rank_watch;

/// The MPI job that this process belongs to. A build without MPI, or a process that no MPI launcher
/// started, is a job of one rank: no MPI routine is then called.
///
/// Members marked collective must be called by all ranks in the same order, from the thread that
/// called world() first, and never while another thread of the process uses the job. No destructor
/// is collective: an exception that unwinds on one rank waits for no other.
///
/// In a job of several ranks a thread watches the collectives. Where every rank of a job on one
/// node waits in one and none of them gets on for a minute, or one collective lasts beyond the
/// limit of collective_limit(), the thread prints what each rank of the node waits for, as one
/// line, and ends the job with status 4.
class mpi_context {
 public:
  /// The job of this process. The first call initialises MPI if a launcher started the process
  /// (mpirun, mpiexec, srun with PMI or PMIx); thread support MPI_THREAD_SERIALIZED is asked for.
  /// Throws unavailable_error if the launcher started several ranks that this build cannot join.
  static mpi_context& world();

  mpi_context(const mpi_context&) = delete;
  mpi_context& operator=(const mpi_context&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] bool root() const { return rank_ == 0; }
  /// Nodes are sets of ranks that share memory (MPI_Comm_split_type), numbered by least rank.
  [[nodiscard]] int node() const { return node_; }
  [[nodiscard]] int nodes() const { return static_cast<int>(ranks_per_node_.size()); }
  [[nodiscard]] int node_rank() const { return node_rank_; }
  [[nodiscard]] const std::vector<int>& ranks_per_node() const { return ranks_per_node_; }
  /// True if MPI is in use (possibly with one rank only).
  [[nodiscard]] bool uses_mpi() const { return uses_mpi_; }
  /// Name and version of the MPI library in use; empty without.
  [[nodiscard]] const std::string& library() const { return library_; }

  /// Seconds on a clock of this rank: MPI_Wtime, or a steady clock without MPI.
  [[nodiscard]] double wtime() const;

  void barrier();                                      ///< collective
  void broadcast_bytes(void* data, std::size_t size);  ///< collective, from rank 0, any size
  [[nodiscard]] std::int64_t sum(std::int64_t value);  ///< collective, on all ranks
  [[nodiscard]] std::int64_t max(std::int64_t value);  ///< collective, on all ranks
  [[nodiscard]] std::int64_t min(std::int64_t value);  ///< collective, on all ranks
  [[nodiscard]] double max(double value);              ///< collective, on all ranks
  void sum_to_root(std::span<double> values);          ///< collective, element by element

  /// Collective: rank 0's value of a trivially copyable object, vector of such, or string.
  template <class T>
  void broadcast(T& value) {
    if constexpr (std::is_trivially_copyable_v<T>) {
      broadcast_bytes(&value, sizeof value);
    } else {
      std::uint64_t size = value.size();
      broadcast(size);
      value.resize(size);
      broadcast_bytes(value.data(), size * sizeof(typename T::value_type));
    }
  }

  /// Collective: on rank 0 the parts of all ranks in order of rank, elsewhere nothing. Parts are
  /// sent one after the other, so that rank 0 holds what it returns and nothing more.
  template <class T>
  [[nodiscard]] std::vector<std::vector<T>> gather(const std::vector<T>& mine) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<std::vector<T>> parts;
    if (!root()) {
      const std::uint64_t size = mine.size();
      send_to_root(&size, sizeof size);
      send_to_root(mine.data(), mine.size() * sizeof(T));
      return parts;
    }
    parts.resize(static_cast<std::size_t>(ranks_));
    parts[0] = mine;
    for (int r = 1; r < ranks_; ++r) {
      std::uint64_t size = 0;
      receive(r, &size, sizeof size);
      auto& part = parts[static_cast<std::size_t>(r)];
      part.resize(size);
      receive(r, part.data(), part.size() * sizeof(T));
    }
    return parts;
  }

  /// Collective: all ranks learn whether any of them failed. `mine` is what this rank caught, or
  /// null. If any rank failed, all throw alike: the least failing rank's error, its message
  /// preceded by "rank R: " unless it is rank 0. timeout_error and budget_error keep their type,
  /// std::bad_alloc becomes budget_error, all else collective_error; in a job of several ranks each
  /// is also thrown_by_all_ranks.
  void sync_errors(const std::exception_ptr& mine);

  /// Collective: action() on every rank, then sync_errors().
  template <class Action>
  void collective_try(Action&& action) {
    std::exception_ptr caught;
    try {
      action();
    } catch (...) {
      caught = std::current_exception();
      if (ranks_ == 1) throw;
    }
    sync_errors(caught);
  }
  /// Collective: action() on rank 0 only, then sync_errors().
  template <class Action>
  void on_root(Action&& action) {
    collective_try([&] {
      if (root()) action();
    });
  }

  /// Ends all ranks at once with `status`, for errors that the others do not know of. The caller
  /// prints its one line before. The function allocates nothing; any thread may call it.
  [[noreturn]] void abort(int status) noexcept;
  /// Collective: ends MPI. Nothing but rank() and its like may be called afterwards.
  void finish();

 private:
  friend class shared_counter;
  struct links;
  mpi_context();
  ~mpi_context();
  void join(int launched, int provided, double limit);
  void send_to_root(const void* data, std::size_t size);
  void receive(int from, void* data, std::size_t size);
  [[nodiscard]] rank_watch* watch() const;
  enum class reduction { sum, max, min };
  template <class T>
  T reduce(T value, reduction how);

  int rank_ = 0, ranks_ = 1, node_ = 0, node_rank_ = 0;
  std::vector<int> ranks_per_node_{1};
  bool uses_mpi_ = false;
  std::string library_;
  std::unique_ptr<links> links_;  // of a job of several ranks
};

/// True if this build can use MPI.
bool built_with_mpi();

}  // namespace gsofa
