// The options of the orders that dissect.

#include "variants/orderings/dissection/nested_dissection.hpp"

namespace gsofa::orders {

std::vector<option_spec> dissection_options(const dissection_settings& defaults) {
  const auto value = [](auto of) { return static_cast<std::int64_t>(of); };
  return {{.name = "tries",
           .default_value = value(defaults.tries),
           .help = "initial separators of each replica",
           .minimum = 1,
           .maximum = 64,
           .tested = {"1", "3"}},
          {.name = "replicas",
           .default_value = value(defaults.replicas),
           .help = "independent coarsenings of each large part",
           .minimum = 1,
           .maximum = 16,
           .tested = {"1", "5"}},
          {.name = "room",
           .default_value = value(defaults.room),
           .help = "refine separators with this many times the vertices of the part on each "
                   "coarsening level; at the first four depths at least 4 times",
           .minimum = 1,
           .maximum = 64,
           .tested = {"3"}},
          {.name = "idle_moves",
           .default_value = value(defaults.idle_moves),
           .help = "end a pass over a separator after this many moves without gain",
           .minimum = 1,
           .maximum = 10000,
           .tested = {"10"}},
          {.name = "stride",
           .default_value = value(defaults.stride),
           .help = "refine separators on every N-th coarsening level, starting at the finest",
           .minimum = 1,
           .maximum = 10,
           .tested = {defaults.stride == 1 ? "3" : "1"}},
          {.name = "flows",
           .default_value = value(defaults.flows),
           .help = "at the first N depths of the tree, replace separators by the minimum ones near "
                   "them, by maximum flows",
           .minimum = 0,
           .maximum = most_depths,
           .tested = {"0", "2"}},
          {.name = "leaf_order",
           .default_value = value(defaults.leaf_order),
           .help = "do not dissect parts with at most N vertices",
           .minimum = 1,
           .maximum = 1000,
           .tested = {"1", "7", "60", "200"}},
          {.name = "reduce",
           .default_value = value(defaults.reduce),
           .help = "before the dissection, eliminate simplicial vertices (1) and, where few "
                   "vertices remain then, those of at most N neighbours (N > 1); 0: none",
           .minimum = 0,
           .maximum = 16,
           .tested = {"0", "1", "3"}}};
}

dissection_settings settings_of(const order_settings& settings) {
  const option_set& o = settings.options;
  return {.seed = settings.seed < 0 ? 0 : static_cast<std::uint64_t>(settings.seed),
          .threads = settings.threads,
          .tries = static_cast<int>(o.integer("tries")),
          .replicas = static_cast<int>(o.integer("replicas")),
          .room = static_cast<int>(o.integer("room")),
          .idle_moves = static_cast<index_t>(o.integer("idle_moves")),
          .stride = static_cast<int>(o.integer("stride")),
          .flows = static_cast<int>(o.integer("flows")),
          .leaf_order = static_cast<index_t>(o.integer("leaf_order")),
          .reduce = static_cast<int>(o.integer("reduce")),
          .tree_levels = settings.tree_levels,
          .weights = settings.weights,
          .stop = settings.stop};
}

}  // namespace gsofa::orders
