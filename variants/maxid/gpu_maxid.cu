// gpu_maxid and its ablations: batches of consecutive sources, smallest first, on one GPU.

#include "variants/device/simt.hpp"

#if defined(GSOFA_GPU)

#include <limits>

#include "variants/maxid/maxid_search.hpp"

namespace gsofa::gpu {

namespace {

class maxid_variant final : public variant {
 public:
  explicit maxid_variant(const maxid_config& config) : search_(config) {}

  void prepare(const pattern_view& a, const run_settings& settings, execution& exec) override {
    n_ = a.n_rows;
    const std::int64_t megabytes = settings.options.integer("memory_budget_mb");
    budget_.set_limit(std::numeric_limits<offset_t>::max());
    matrix_.upload(a, budget_);
    const offset_t limit = megabytes > 0 ? megabytes << 20 : current_limits().free_bytes / 4 * 3;
    budget_.set_limit(limit + budget_.used());
    rows_.prepare(n_, settings, budget_);
    search_.prepare(a, matrix_, settings.options, budget_);
    exec.predicted_bytes = search_.predicted_bytes();
  }

  void run(execution& exec) override {
    {
      const phase timed(exec, phase_id::init);
      rows_.start();
      search_.start();
    }
    for (index_t begin = 0; begin < n_;) {
      const index_t sources = std::min(n_ - begin, search_.concurrent_sources());
      search_.run({.begin = begin, .count = sources}, rows_.l_counts(), rows_.u_counts(), exec);
      rows_.add(stamped_rows{search_.fill(), n_, begin, sources}, exec);
      begin += sources;
    }
    exec.device_peak_bytes = budget_.peak();
    exec.device_bytes = budget_.by_structure();
    search_.report(exec);
  }

  result collect(want_set wants) override { return rows_.collect(wants); }

 private:
  index_t n_ = 0;
  memory_budget budget_;
  device_matrix matrix_;
  row_results rows_;
  maxid_search search_;
};

}  // namespace

std::unique_ptr<variant> make_maxid(const maxid_config& config) {
  return std::make_unique<maxid_variant>(config);
}

}  // namespace gsofa::gpu

#endif
