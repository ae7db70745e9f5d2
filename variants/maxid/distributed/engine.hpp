#pragma once

#include <cstdint>
#include <span>

#include "common/run_context.hpp"
#include "variants/maxid/distributed/schedule.hpp"
#include "variants/support/row_store.hpp"

namespace gsofa::maxid {

/// The results of the workers of one process: host arrays of n entries, indexed by row. One worker
/// writes each row.
struct row_results {
  std::span<index_t> l_counts;       ///< |L(i,:)|, strictly lower
  std::span<index_t> u_counts;       ///< |U(i,:)|, with the diagonal
  std::span<std::uint64_t> digests;  ///< row_digest of L+U; empty unless requested
  std::span<double> edges;           ///< edges traversed for row i; empty in the timed build
  std::span<std::uint8_t> starts;    ///< 1: row i begins a supernode; empty unless requested
};

/// One chunk of a batch and the workers that found its rows: worker_of(s) = owner, or (s - begin) %
/// workers where the rows are interleaved.
struct found_chunk {
  index_t begin = 0, end = 0;
  int owner = 0;
  bool interleaved = false;
  int workers = 1;
  [[nodiscard]] int worker_of(index_t row) const {
    return interleaved ? static_cast<int>((row - begin) % workers) : owner;
  }
};

/// One worker of a process: a GPU, or a host thread in the CPU variant. Each worker is called from
/// one host thread of its own, except has_l(); the workers of a process run at the same time.
class row_engine {
 public:
  row_engine() = default;
  row_engine(const row_engine&) = delete;
  row_engine& operator=(const row_engine&) = delete;
  virtual ~row_engine() = default;

  /// Finds the rows and writes l_counts, u_counts and, where they are not empty, digests and edges.
  /// Returns once these are in host memory. `rows` is disjoint and in ascending order; it has at
  /// most max(#C, rows of one chunk) rows, #C = node_engine::concurrent_sources(). Throws
  /// timeout_error through context.check_deadline(); the worker uses nothing else of `context` (its
  /// phases belong to worker 0's thread, which calls this inside phase traverse).
  virtual void find(std::span<const row_set> rows, const row_results& out,
                    const run_context& context) = 0;

  /// Adds the entries of every row of the last find() to `store`, as its thread `thread`. The
  /// driver calls this only if the pattern is requested, after find() and before release().
  virtual void deliver(detail::row_store& store, int thread) = 0;

  /// Whether L(s, r) != 0, for s among the rows of the last find(). The default of
  /// node_engine::find_supernodes() calls this, from any thread of the process, between find() and
  /// release() of the whole node.
  [[nodiscard]] virtual bool has_l(index_t s, index_t r) const = 0;

  /// Frees the rows of the last find(), which nobody needs any longer.
  virtual void release() {}
};

/// The workers of one process.
class node_engine {
 public:
  node_engine() = default;
  node_engine(const node_engine&) = delete;
  node_engine& operator=(const node_engine&) = delete;
  virtual ~node_engine() = default;

  [[nodiscard]] virtual int workers() const = 0;
  /// #C: sources that one worker searches at once, as fitted to the order and to the memory.
  [[nodiscard]] virtual index_t concurrent_sources() const = 0;
  [[nodiscard]] virtual row_engine& worker(int k) = 0;

  /// Called before the first find() of every run: discards what earlier runs left.
  virtual void begin_run(run_context&) {}
  /// Called after the last find() of every run: reports device memory and counters.
  virtual void end_run(run_context&) {}

  /// Finds the T3 supernodes of some chunks, whose rows the workers of this process have all found:
  /// sets starts of their rows. The thread of `worker` calls this; the chunks of a batch are
  /// divided among the workers (worker = position mod workers where rows are interleaved, else the
  /// owner), with barriers of the node before and after where rows are interleaved. The default is
  /// the two-phase detection on the host, through has_l().
  virtual void find_supernodes(int worker, std::span<const found_chunk> chunks,
                               const row_results& rows);
};

}  // namespace gsofa::maxid
