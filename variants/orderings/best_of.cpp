// Tries minimum degree and nested dissection, counts the operations of both factorizations exactly,
// and keeps the order with fewer operations. Minimum degree wins on many circuits, nested
// dissection on most meshes.

#include <limits>
#include <utility>

#include "common/order_quality.hpp"
#include "common/ordering.hpp"

namespace gsofa {

namespace {

ordering best_order(const pattern_view& a, const order_settings& settings) {
  const pattern with = with_diagonal(a);
  ordering best;
  double least = std::numeric_limits<double>::infinity();
  for (const order_info& info : all_orders()) {
    if (!info.contends || info.unavailable()) continue;
    ordering o = info.compute(a, {.options = option_set(info.options),
                                  .seed = settings.seed,
                                  .threads = settings.threads,
                                  .stop = settings.stop});
    if (settings.stop != nullptr && settings.stop->load(std::memory_order_relaxed)) {
      throw cancelled_error();
    }
    const double flops = quality_of(with, o.order, settings.threads).flops;
    if (flops < least) {
      least = flops;
      best = std::move(o);
    }
  }
  return best;
}

}  // namespace

GSOFA_REGISTER_ORDER({
    .name = "best_of",
    .device = "cpu",
    .summary =
        "tries minimum degree and nested dissection and keeps the order with fewer operations",
    .citation = "none",
    .multithreaded = true,
    .compute = best_order,
});

}  // namespace gsofa
