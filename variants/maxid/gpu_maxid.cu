// gpu_maxid: the paper's algorithm with all its optimisations on one GPU, and its ablations, each a
// row of a table. Batches of consecutive sources run in ascending order.
//
// Many sources share one frontier queue of (vertex, source slot). One warp expands a frontier.
// atomicMin lowers maxId. Value windows replace the re-initialisation of maxId. The maxId array of
// source s has s entries. One arena holds maxId, fill and the queues. Queues spill to host memory.
// Line 9.5 is off. Cost: 4|V|#C bytes of fill, at most 4|V|#C of maxId, 16 bytes per queue place.
// The algorithm: relax.cuh; the encoding of every array: batch.cuh.

#include "variants/maxid/maxid_search.hpp"

#include <array>

#if defined(GSOFA_GPU)

#include <algorithm>
#include <limits>

#include "variants/device/batch_rows.hpp"

namespace gsofa::gpu {

using namespace maxid;

namespace {

class maxid_variant final : public variant {
 public:
  explicit maxid_variant(const maxid_config& config) : search_(maxid_search::create(config)) {}

  void prepare(const pattern_view& a, const run_settings& settings, run_context& context) override {
    n_ = a.n_rows;
    const std::int64_t megabytes = settings.options.integer("memory_budget_mb");
    budget_.set_limit(std::numeric_limits<offset_t>::max());
    matrix_.upload(a, budget_);
    // A stated budget is filled, so that one above the device's memory has to give way.
    const offset_t free = current_limits().free_bytes;
    const offset_t limit = megabytes > 0 ? std::min(megabytes << 20, free / 16 * 15) : free / 4 * 3;
    matrix_bytes_ = budget_.used();
    budget_.set_limit(limit + matrix_bytes_);
    rows_.prepare(n_, settings, budget_);
    search_->prepare(a, matrix_, settings.options, budget_);
    context.predicted_bytes = search_->predicted_bytes();
    context.derived["concurrent_sources"] = search_->concurrent_sources();
    derive_use(context);
  }

  void run(run_context& context) override {
    {
      const phase timed(context, phase_id::init);
      rows_.start();
      search_->start();
    }
    for (index_t begin = 0; begin < n_;) {
      context.check_deadline(begin, n_);
      const index_t sources = std::min(n_ - begin, search_->concurrent_sources());
      search_->run({.begin = begin, .count = sources}, rows_.l_counts(), rows_.u_counts(), context);
      rows_.add(stamped_rows{search_->fill(), n_, begin, sources}, context);
      begin += sources;
    }
    context.device_peak_bytes = budget_.peak();
    context.device_bytes = budget_.by_structure();
    derive_use(context);
    search_->report(context);
  }

  result collect(want_set wants) override { return rows_.collect(wants); }

 private:
  void derive_use(run_context& context) const {
    search_->use().derive(context);
    context.derived["budget_used_percent"] =
        100 * (budget_.peak() - matrix_bytes_) / (budget_.limit() - matrix_bytes_);
  }

  index_t n_ = 0;
  offset_t matrix_bytes_ = 0;  // the budget is for all but the matrix
  memory_budget budget_;
  device_matrix matrix_;
  row_results rows_;
  std::unique_ptr<maxid_search> search_;
};

}  // namespace

}  // namespace gsofa::gpu

#endif

namespace gsofa::maxid {

std::vector<option_spec> maxid_options() {
  return {{.name = "concurrent_sources",
           .default_value = std::int64_t{0},
           .help = "sources per batch (#C); 0: by the order of the matrix",
           .minimum = 0,
           .maximum = max_index,
           .tested = {"0", "1", "3", "7"}},
          {.name = "queue_entries",
           .default_value = std::int64_t{0},
           .help = "entries of each frontier queue; 0: all that the budget leaves",
           .minimum = 0,
           .maximum = std::int64_t{1} << 31,
           .tested = {"1", "2", "3", "31", "32", "33", "64"}},
          {.name = "queue_share",
           .default_value = std::int64_t{25},
           .help = "minimum entries of a queue, percent of |V| #C; fewer: more sources, spills",
           .minimum = 1,
           .maximum = 100,
           .tested = {"25", "1", "100"}},
          {.name = "warps_per_block",
           .default_value = std::int64_t{8},
           .help = "warps per block",
           .minimum = 1,
           .maximum = 32,
           .tested = {"1", "2", "3", "5"}},
          {.name = "lanes_per_frontier",
           .default_value = std::string("auto"),
           .help = "lanes that expand a frontier; 32 is the paper's warp, auto: by mean degree",
           .choices = {"auto", "4", "8", "16", "32"},
           .tested = {"auto", "4", "8", "16", "32"}},
          gpu::memory_budget_option()};
}

}  // namespace gsofa::maxid

namespace gsofa::gpu {

using namespace maxid;

namespace {

struct ablation {
  const char* name;
  const char* summary;  // of a planted one: the fault
  const char* citation;
  maxid_config config;
  const char* option = nullptr;  // one whose default differs
  std::int64_t value = 0;
};

constexpr std::array ablations{
    ablation{"gpu_maxid",
             "the paper's maxId algorithm, all optimisations on, line 9.5 off",
             "paper Sections 4 to 6, Figures 5 to 9",
             {}},
    // Saves atomics on vertices that are fill-ins already, costs a load on all others.
    ablation{"gpu_maxid_line95",
             "gpu_maxid with line 9.5: fill is tested before maxId",
             "paper Section 4, Figure 20",
             {.line_9_5 = true}},
    // Without value windows every batch begins by setting its maxId arrays to infinity.
    ablation{"gpu_maxid_no_range_reuse",
             "gpu_maxid that re-initialises maxId for every batch",
             "paper Section 4, Figure 14",
             {.range_reuse = false}},
    // Entries at and above the source are never used: the bubble.
    ablation{"gpu_maxid_no_bubble_removal",
             "gpu_maxid with |V| maxId entries per source",
             "paper Section 6",
             {.bubble_removal = false}},
    // The queues never take what maxId does not need yet: they stay as small as the last batch
    // needs.
    ablation{"gpu_maxid_no_dynamic_allocation",
             "gpu_maxid with a fixed division of memory",
             "paper Section 6, Figure 15",
             {.dynamic_allocation = false}},
    // Nothing needs to be spilled; a budget is met by fewer concurrent sources alone.
    ablation{"gpu_maxid_no_external_frontier",
             "gpu_maxid with queues of |V|#C entries, none spilled",
             "paper Section 6, Tables 2 and 3",
             {.external_frontier = false}},
    // A block serves one source at a time from its queue, instead of all warps a combined one.
    ablation{"gpu_maxid_separate_queues",
             "gpu_maxid with one frontier queue per source",
             "paper Section 4 (combined frontierQueue)",
             {.separate_queues = true}},
    // Per level a scan of the frontiers' degrees gives every edge a place, a selection packs them.
    ablation{"gpu_maxid_scan_enqueue",
             "gpu_maxid with prefix sums (CUB) instead of atomic enqueues",
             "paper Section 4 (atomic enqueue)",
             {.scan_enqueue = true}},
    // Each lane walks its own adjacency list; places in the queue are taken lane by lane.
    ablation{"gpu_maxid_thread_centric",
             "gpu_maxid with a thread instead of a warp per frontier",
             "paper Section 4",
             {.thread_centric = true}},
    // Between a load and a store another thread's minimum can be overwritten.
    ablation{"planted_gpu_lost_update",
             "minima of maxId get lost on the GPU",
             "paper Section 4 (atomicMin)",
             {.lose_updates = true}},
    // All batches share one value window. Batches are of four sources.
    ablation{"planted_gpu_stale_window",
             "maxId values of the batch before are taken for valid on the GPU",
             "paper Section 4, Figure 14",
             {.stale_windows = true},
             "concurrent_sources",
             4},
    // What the queues could not hold is not searched. The queues have two entries.
    ablation{"planted_gpu_dropped_spill",
             "spilled frontiers are forgotten on the GPU",
             "paper Section 6",
             {.drop_spills = true},
             "queue_entries",
             2},
};

template <std::size_t K>
std::unique_ptr<variant> create() {
#if defined(GSOFA_GPU)
  return std::make_unique<maxid_variant>(ablations[K].config);
#else
  refuse();
#endif
}

template <std::size_t... K>
constexpr auto creators(std::index_sequence<K...>) {
  return std::array{&create<K>...};
}

variant_info describe(std::size_t k) {
  const ablation& row = ablations[k];
  const std::string name = row.name;
  const bool planted = name.starts_with("planted_");
  std::vector<option_spec> options = maxid_options();
  for (option_spec& o : options) {
    if (row.option != nullptr && o.name == row.option) o.default_value = row.value;
  }
  return {.name = name,
          .device = "gpu",
          .summary = (planted ? "deliberately wrong: " : "") + std::string(row.summary),
          .citation = row.citation,
          .options = std::move(options),
          .planted = planted ? row.summary : "",
          .unavailable = unavailable,
          .create = creators(std::make_index_sequence<ablations.size()>())[k]};
}

}  // namespace

}  // namespace gsofa::gpu

GSOFA_REGISTER_VARIANTS(gsofa::gpu::ablations.size(), gsofa::gpu::describe);
