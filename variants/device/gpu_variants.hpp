#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/variant.hpp"

namespace gsofa::gpu {

/// Why GPU variants cannot run in this build or on this machine; nullopt if they can.
std::optional<std::string> unavailable();
/// The same for a planted race of plain loads and stores, which the emulator shows only while it
/// switches threads at them.
std::optional<std::string> unavailable_to_races();

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

/// The relaxed algorithm on a GPU; throws unavailable_error in a build without GPU code.
std::unique_ptr<variant> make_maxid(const maxid_config& config);

/// The relaxed algorithm on all GPUs of all ranks of the job.
std::unique_ptr<variant> make_distributed_maxid();
std::vector<option_spec> distributed_maxid_options();

struct fill2_naive_config {
  bool shared_stack = false;  ///< planted fault: two neighbouring threads share a stack
};

/// fill2 with one source per thread.
std::unique_ptr<variant> make_fill2_naive(const fill2_naive_config& config = {});
std::vector<option_spec> fill2_naive_options();

/// maxId with windows of thresholds and a block per source in shared memory.
std::unique_ptr<variant> make_maxid_tuned();
std::vector<option_spec> maxid_tuned_options();

/// fill2 on many consecutive sources at once, a bit each.
std::unique_ptr<variant> make_fill2_bitparallel();
std::vector<option_spec> fill2_bitparallel_options();

/// Elimination over panels of the elimination tree, as bit masks.
std::unique_ptr<variant> make_bitmap_panels();
std::vector<option_spec> bitmap_panels_options();

}  // namespace gsofa::gpu
