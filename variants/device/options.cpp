#include "variants/device/gpu_variants.hpp"

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
          {.name = "lanes_per_frontier",
           .default_value = std::string("auto"),
           .help = "lanes that expand a frontier; 32 is the paper's warp, auto goes by mean degree",
           .choices = {"auto", "4", "8", "16", "32"}},
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

std::vector<option_spec> maxid_tuned_options() {
  return {{.name = "window",
           .default_value = std::int64_t{2048},
           .help = "thresholds whose paths are followed together; 1 is fill2",
           .minimum = 1,
           .maximum = 65534},
          {.name = "queue_entries",
           .default_value = std::int64_t{1024},
           .help = "entries of each of a block's two frontier queues",
           .minimum = 1,
           .maximum = 8192},
          {.name = "warps_per_block",
           .default_value = std::int64_t{0},
           .help = "warps of a block; 0: by the size of its state",
           .minimum = 0,
           .maximum = 32},
          {.name = "lanes_per_frontier",
           .default_value = std::string("auto"),
           .help = "lanes that expand a frontier; auto goes by mean degree",
           .choices = {"auto", "2", "4", "8", "16", "32"}},
          budget_option()};
}

std::vector<option_spec> fill2_bitparallel_options() {
  return {{.name = "warps_per_block",
           .default_value = std::int64_t{32},
           .help = "warps of a block",
           .minimum = 1,
           .maximum = 32},
          {.name = "queue_entries",
           .default_value = std::int64_t{1024},
           .help = "entries of each of a block's two search queues",
           .minimum = 1,
           .maximum = 8192},
          {.name = "sources_per_group",
           .default_value = std::string("auto"),
           .help = "sources searched together, a bit each; auto: by order and mean degree",
           .choices = {"auto", "8", "16", "32"}},
          budget_option()};
}

std::vector<option_spec> bitmap_panels_options() {
  return {
      {.name = "panel_width",
       .default_value = std::int64_t{64},
       .help = "most columns of a panel",
       .minimum = 1,
       .maximum = 64},
      {.name = "warp_positions",
       .default_value = std::int64_t{128},
       .help = "panels up to this many positions are eliminated by a warp, others by a block",
       .minimum = 0,
       .maximum = max_index},
      {.name = "few_panels",
       .default_value = std::int64_t{-1},
       .help = "up to this many panels, blocks eliminate all, of up to 8 warps if no panel has "
               "over 512 "
               "positions; -1: 16 for each multiprocessor",
       .minimum = -1,
       .maximum = max_index},
      {.name = "warps_per_block",
       .default_value = std::int64_t{16},
       .help = "warps of the block that eliminates a panel",
       .minimum = 1,
       .maximum = 16},
      {.name = "cluster_positions",
       .default_value = std::int64_t{2048},
       .help = "panels of more positions are eliminated by a cluster of blocks",
       .minimum = 0,
       .maximum = max_index},
      {.name = "blocks_per_cluster",
       .default_value = std::int64_t{4},
       .help = "blocks of a cluster, from 2 on where the device has them; 1: blocks eliminate all",
       .minimum = 1,
       .maximum = 8},
      {.name = "search_after_us",
       .default_value = std::int64_t{0},
       .help = "microseconds (predicted) that passing on beyond the first panels of a boundary may "
               "take before rows are searched instead; 0: as long as the search is predicted to "
               "take; -1: any",
       .minimum = -1,
       .maximum = std::int64_t{1} << 40},
      {.name = "recorded_launches",
       .default_value = true,
       .help = "record the launches that depend on no result when a matrix is prepared, and "
               "repeat them in every run; false: launch them one by one"},
      {.name = "most_positions",
       .default_value = std::int64_t{0},
       .help = "most positions of all panels, 24 bytes each; 0: what the memory holds. Where "
               "chol(A + A^T) needs more, rows are searched as in gpu_fill2_bitparallel",
       .minimum = 0},
      budget_option()};
}

}  // namespace gsofa::gpu
