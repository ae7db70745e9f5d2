// Minimum fill or minimum degree on A + A^T: minimum_degree.cpp.

#include <string>

#include "common/ordering.hpp"
#include "common/symmetrize.hpp"
#include "variants/orderings/minimum_degree.hpp"

namespace gsofa::orders {

namespace {

ordering amf_order(const pattern_view& a, const order_settings& settings) {
  pattern sum;
  const pattern_view s = settings.is_graph ? a : graph_of(a, settings.threads, sum);
  const bool fill = settings.options.choice("score") == "fill";
  elimination_cost cost;
  ordering o{
      .order = minimum_degree({.begin = s.row_ptr, .adj = s.col_idx, .weight = settings.weights},
                              {.score = fill ? pivot_score::fill : pivot_score::degree,
                               .stop = settings.stop,
                               .cost = &cost}),
      .method = {},
      .library = {}};
  if (cost.entries >= 0) o.cost = order_cost{cost.operations, 2 * cost.entries, cost.height};
  return o;
}

}  // namespace

GSOFA_REGISTER_ORDER({
    .name = "amf",
    .device = "cpu",
    .summary = "approximate minimum fill of A + A^T",
    .citation = "Rothberg & Eisenstat 1998",
    .options = {{.name = "score",
                 .default_value = std::string("fill"),
                 .help = "what an elimination step minimizes: fill or the degree of the pivot",
                 .choices = {"fill", "degree"},
                 .tested = {"degree"}}},
    .compute = amf_order,
});

}  // namespace gsofa::orders
