#include "variants/detail/gpu/gpu_variants.hpp"

namespace gsofa::gpu {

namespace {

option_spec budget_option() {
  return {.name = "memory_budget_mb",
          .default_value = std::int64_t{0},
          .help = "device memory for everything but the matrix, MiB; 0: 3/4 of what is free",
          .minimum = 0,
          .maximum = 1 << 20};
}

}  // namespace

std::vector<option_spec> maxid_options() {
  return {{.name = "concurrent_sources",
           .default_value = std::int64_t{0},
           .help = "sources per batch (#C); 0: chosen by the order of the matrix",
           .minimum = 0,
           .maximum = max_index},
          {.name = "queue_entries",
           .default_value = std::int64_t{0},
           .help = "entries of each frontier queue; 0: what the budget leaves",
           .minimum = 0,
           .maximum = std::int64_t{1} << 31},
          {.name = "warps_per_block",
           .default_value = std::int64_t{8},
           .help = "warps of a block",
           .minimum = 1,
           .maximum = 32},
          budget_option()};
}

std::vector<option_spec> fill2_naive_options() {
  return {{.name = "concurrent_sources",
           .default_value = std::int64_t{0},
           .help = "sources (threads) at a time; 0: as many as the memory holds",
           .minimum = 0,
           .maximum = max_index},
          budget_option()};
}

}  // namespace gsofa::gpu
