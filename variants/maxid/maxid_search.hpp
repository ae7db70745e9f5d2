#pragma once

/// The paper's search on the current device: many sources at once. The variants of the maxId family
/// and the distributed engine build on this class.

#include <functional>
#include <memory>
#include <span>

#include "common/pattern.hpp"
#include "common/run_context.hpp"
#include "variants/device/batch_rows.hpp"
#include "variants/device/gpu_variant.hpp"

namespace gsofa::maxid {

using namespace gpu;  // NOLINT: the runtime of kernels

/// What of the relaxed algorithm a registered variant switches off or exchanges. The defaults are
/// the paper's: gpu_maxid.
struct maxid_config {
  bool line_9_5 = false;
  bool range_reuse = true;
  bool bubble_removal = true;
  bool dynamic_allocation = true;
  bool external_frontier = true;
  bool separate_queues = false;  ///< a queue per source instead of the combined one
  bool scan_enqueue = false;     ///< prefix sums instead of atomics
  bool thread_centric = false;   ///< a thread instead of a warp per frontier
  // Planted faults.
  bool lose_updates = false;   ///< maxId is lowered by load and store instead of atomicMin
  bool stale_windows = false;  ///< batches share a value window
  bool drop_spills = false;    ///< spilled frontiers are forgotten
};

/// Options of the variants of the maxId family.
std::vector<option_spec> maxid_options();

#if defined(GSOFA_GPU)

/// Sources of one batch, ascending: slot k searches begin + k, or list[k] if the list is not empty.
struct source_batch {
  index_t begin = 0;
  index_t count = 0;
  std::span<const index_t> list{};
};

/// Takes `words` words of memory for fill stamps and returns them.
using fill_memory = std::function<std::uint32_t*(offset_t words)>;

/// What the caller of a search says of its memory.
struct memory_limits {
  index_t sources = 0;        ///< at most at a time; 0: any number
  offset_t source_bytes = 0;  ///< that the caller takes from the budget afterwards, for each
  fill_memory own_fill{};     ///< where fill stamps lie; empty: in the search's arena
};

/// Of a run, all batches: what queues held, and what they could not hold.
struct memory_use {
  offset_t queue_entries_least = 0;  ///< places of a queue in the batch with the shortest queues
  offset_t queue_entries_most = 0;   ///< in that with the longest
  std::int64_t spills = 0;           ///< times that a full queue went to host memory
  std::int64_t spilled_entries = 0;  ///< frontiers in it

  /// Adds the run of another GPU.
  void add(const memory_use& other);
  /// Sets context.derived by the names of the members.
  void derive(run_context& context) const;
};

/// The algorithm: relax.cuh; the encoding of every array: batch.cuh.
class maxid_search {
 public:
  static std::unique_ptr<maxid_search> create(const maxid_config& config);
  virtual ~maxid_search() = default;

  /// Divides what `budget` has left (memory_plan.hpp), all of it where memory_budget_mb is set;
  /// `a`, `matrix` (its copy on the device) and `budget` outlive this. Throws budget_error if one
  /// source does not fit.
  virtual void prepare(const pattern_view& a, const device_matrix& matrix,
                       const option_set& options, memory_budget& budget,
                       const memory_limits& limits = {}) = 0;
  /// Bytes by data structure, as planned.
  [[nodiscard]] virtual const std::map<std::string, std::int64_t>& predicted_bytes() const = 0;
  /// #C: sources at a time.
  [[nodiscard]] virtual index_t concurrent_sources() const = 0;

  /// Before the first batch of a run.
  virtual void start() = 0;
  /// Searches at most concurrent_sources() sources. Adds the sizes of their rows to l_counts and
  /// u_counts (device, by source). Charges phases init, traverse and spill.
  virtual void run(const source_batch& sources, std::uint32_t* l_counts, std::uint32_t* u_counts,
                   run_context& context) = 0;
  /// fill()[slot * n + v] == source + 1 iff (source, v) is in L+U; until the next run().
  [[nodiscard]] virtual const std::uint32_t* fill() const = 0;
  /// Counting build: edges traversed, by source, on the device; null otherwise.
  [[nodiscard]] virtual const std::uint64_t* source_edges() const = 0;
  /// Of the batches since start().
  [[nodiscard]] virtual memory_use use() const = 0;
  /// Counting build: adds this run's work to context.counters.
  virtual void report(run_context& context) const = 0;
};

#endif

}  // namespace gsofa::maxid
