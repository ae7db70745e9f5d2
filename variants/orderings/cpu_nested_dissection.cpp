// Multilevel nested dissection of A + A^T on host threads: dissection/host/nested_dissection.cpp
// and its stages.

#include <utility>

#include "common/ordering.hpp"
#include "common/symmetrize.hpp"
#include "variants/orderings/direction.hpp"
#include "variants/orderings/dissection/nested_dissection.hpp"

namespace gsofa::orders {

namespace {

ordering order_on_cpu(const pattern_view& a, const order_settings& settings) {
  const auto dissected = [&](const pattern_view& part) -> ordering {
    pattern sum;
    dissection d = nested_dissection(graph_of(part, settings.threads, sum), settings_of(settings));
    return {
        .order = std::move(d.order), .method = {}, .library = {}, .separators = std::move(d.tree)};
  };
  return order_with_direction(a, settings.options.choice("direction"), settings.threads, dissected);
}

std::vector<option_spec> cpu_options() {
  std::vector<option_spec> options = dissection_options({});
  options.push_back(direction_option());
  return options;
}

}  // namespace

GSOFA_REGISTER_ORDER({
    .name = "cpu_nested_dissection",
    .device = "cpu",
    .summary = "multilevel nested dissection of A + A^T, minimum fill at its leaves",
    .citation = "George 1973; Karypis & Kumar 1998",
    .options = cpu_options(),
    .multithreaded = true,
    .dissects = true,
    .compute = order_on_cpu,
});

}  // namespace gsofa::orders
