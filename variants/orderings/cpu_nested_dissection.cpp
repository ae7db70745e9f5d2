// Multilevel nested dissection of A + A^T on host threads: nested_dissection.hpp and its files.
//
// All components of a depth of the separator tree are worked on together, in steps that are maps,
// scans, sorts or items that do not depend on each other, with integers alone: any number of
// threads gives the same order.

#include "variants/orderings/nested_dissection.hpp"

#include <cstdint>
#include <utility>

#include "common/ordering.hpp"
#include "common/symmetrize.hpp"

namespace gsofa {

namespace {

ordering order_by_dissection(const pattern_view& a, const order_settings& settings) {
  const pattern s = symmetrized(a, diagonal::drop, settings.threads);
  orderings::dissection d = orderings::nested_dissection(
      s, {.seed = settings.seed < 0 ? 0 : static_cast<std::uint64_t>(settings.seed),
          .threads = settings.threads,
          .tries = static_cast<int>(settings.options.integer("tries")),
          .replicas = static_cast<int>(settings.options.integer("replicas")),
          .room = static_cast<int>(settings.options.integer("room")),
          .idle_moves = static_cast<index_t>(settings.options.integer("idle_moves")),
          .stride = static_cast<int>(settings.options.integer("stride")),
          .leaf_order = static_cast<index_t>(settings.options.integer("leaf_order")),
          .stop = settings.stop});
  return {
      .order = std::move(d.order), .method = {}, .library = {}, .separators = std::move(d.tree)};
}

}  // namespace

GSOFA_REGISTER_ORDER({
    .name = "cpu_nested_dissection",
    .device = "cpu",
    .summary = "multilevel nested dissection of A + A^T, minimum fill at its leaves",
    .citation = "George 1973; Karypis & Kumar 1998",
    .options = {{.name = "tries",
                 .default_value = std::int64_t{4},
                 .help = "initial separators of each replica",
                 .minimum = 1,
                 .maximum = 64,
                 .tested = {"1", "3"}},
                {.name = "replicas",
                 .default_value = std::int64_t{4},
                 .help = "independent coarsenings of each large part",
                 .minimum = 1,
                 .maximum = 16,
                 .tested = {"1", "5"}},
                {.name = "room",
                 .default_value = std::int64_t{1},
                 .help = "vertices of the separators that a level refines, by those of the part; "
                         "at the first four depths at least 4",
                 .minimum = 1,
                 .maximum = 64,
                 .tested = {"3"}},
                {.name = "idle_moves",
                 .default_value = std::int64_t{200},
                 .help = "a pass over a separator ends after so many moves without gain",
                 .minimum = 1,
                 .maximum = 10000,
                 .tested = {"10"}},
                {.name = "stride",
                 .default_value = std::int64_t{1},
                 .help = "separators are refined on every so many-th graph from the finest on",
                 .minimum = 1,
                 .maximum = 10,
                 .tested = {"3"}},
                {.name = "leaf_order",
                 .default_value = std::int64_t{120},
                 .help = "a part with so many vertices or fewer is not dissected",
                 .minimum = 1,
                 .maximum = 1000,
                 .tested = {"1", "7", "60", "200"}}},
    .multithreaded = true,
    .dissects = true,
    .contends = true,
    .compute = order_by_dissection,
});

}  // namespace gsofa
