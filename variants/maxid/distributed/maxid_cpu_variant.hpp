#pragma once

#include <optional>

#include "variants/maxid/distributed/driver.hpp"
#include "variants/maxid/distributed/maxid_cpu_engine.hpp"

namespace gsofa::maxid {

/// The driver with host threads as workers; the honest variant and its planted ones.
class maxid_cpu_variant : public variant {
 public:
  explicit maxid_cpu_variant(distribution_fault fault = distribution_fault::none) : fault_(fault) {}

  void prepare(const pattern_view& a, const run_settings& settings, run_context& context) override {
    std::optional<maxid_settings> setup;
    mpi_context::world().collective_try([&] {
      const option_set& o = settings.options;
      const auto given = static_cast<int>(o.integer("workers_per_rank"));
      const int workers = given > 0 ? given : useful_threads(settings.threads, a.n_rows);
      setup.emplace();
      setup->concurrent =
          concurrent_sources_for(a.n_rows, workers, o.integer("concurrent_sources"));
      context.predicted_bytes["fill"] = offset_t{4} * a.n_rows * setup->concurrent * workers;
      context.predicted_bytes["maxid"] =
          4 * maxid_engine::maxid_entries(a.n_rows, *setup) * workers;
      engine_.emplace(a, *setup, workers,
                      settings.wants.has(want::supernodes) || settings.wants.has(want::pattern));
    });
    driver_.emplace(a, settings, *engine_, context, fault_);
  }
  void run(run_context& context) override { driver_->run(context); }
  result collect(want_set wants) override { return driver_->collect(wants); }

  static std::vector<option_spec> options() {
    std::vector<option_spec> all = distribution_options();
    all.push_back({.name = "workers_per_rank",
                   .default_value = std::int64_t{0},
                   .help = "host threads in place of the GPUs of a node; 0: as --threads",
                   .minimum = 0,
                   .maximum = 1 << 13});
    all.push_back({.name = "concurrent_sources",
                   .default_value = std::int64_t{0},
                   .help =
                       "sources that a worker searches at once (#C); 0: 16 to 1024 by the order of "
                       "the matrix",
                   .minimum = 0,
                   .maximum = 1 << 20});
    return all;
  }

 private:
  distribution_fault fault_;
  std::optional<maxid_cpu_engine> engine_;
  std::optional<distributed_driver> driver_;
};

/// Options of the planted variants: a static schedule and three workers, where the faults show.
inline std::vector<option_spec> planted_distribution_options() {
  std::vector<option_spec> all = maxid_cpu_variant::options();
  for (auto& o : all) {
    if (o.name == "schedule") o.default_value = std::string("inter_node");
    if (o.name == "workers_per_rank") o.default_value = std::int64_t{3};
  }
  return all;
}

}  // namespace gsofa::maxid
