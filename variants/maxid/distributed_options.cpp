#include "variants/device/gpu_variants.hpp"
#include "variants/maxid/distributed/driver.hpp"

namespace gsofa::gpu {

std::vector<option_spec> distributed_maxid_options() {
  std::vector<option_spec> all = detail::distribution_options();
  all.push_back({.name = "gpus_per_rank",
                 .default_value = std::int64_t{0},
                 .help = "GPUs that a rank drives; 0: those of its node shared out among its ranks",
                 .minimum = 0,
                 .maximum = 16});
  all.push_back({.name = "sharing",
                 .default_value = std::string("peer"),
                 .help = "how GPUs of a rank read each other's rows (paper Section 5)",
                 .choices = {"peer", "managed_advised", "managed", "managed_shared_fill"}});
  for (auto& o : maxid_options()) all.push_back(std::move(o));
  return all;
}

}  // namespace gsofa::gpu
