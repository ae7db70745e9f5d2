// The best order on this machine. Tries the methods that have a preference, are available here and
// are meant for this number of rows, the greatest preference first. gpu_nested_dissection takes
// fewer operations and less time than metis on large patterns (experiments/orderings), and amd is
// always available. If a method fails, for example because device memory does not suffice, tries
// the next method.

#include <algorithm>
#include <utility>

#include "common/ordering.hpp"

namespace gsofa {

namespace {

// By falling preference.
std::vector<const order_info*> candidates(index_t rows) {
  std::vector<const order_info*> found;
  for (const order_info& info : all_orders()) {
    if (info.preference > 0 && rows >= info.preferred_from && !info.unavailable()) {
      found.push_back(&info);
    }
  }
  std::ranges::sort(found, std::ranges::greater{}, &order_info::preference);
  return found;
}

ordering automatic_order(const pattern_view& a, const order_settings& settings) {
  std::string failures;
  const std::vector<const order_info*> all = candidates(a.n_rows);
  for (const order_info* info : all) {
    try {
      ordering o = info->compute(a, {.options = option_set(info->options),
                                     .seed = settings.seed,
                                     .threads = settings.threads,
                                     .stop = settings.stop});
      o.method = info->name;
      o.library = info->library + failures;
      return o;
    } catch (const cancelled_error&) {
      throw;
    } catch (const error& failed) {
      if (info == all.back()) throw;
      failures += std::string(" (") + info->name + ": " + failed.what() + ")";
    }
  }
  throw unavailable_error("order automatic: no method is available");
}

}  // namespace

GSOFA_REGISTER_ORDER({
    .name = "automatic",
    .device = "cpu",
    .summary =
        "gpu_nested_dissection of 20,000 rows and more where there is a GPU; else metis; else amd",
    .citation = "none",
    .multithreaded = true,
    .compute = automatic_order,
});

}  // namespace gsofa
