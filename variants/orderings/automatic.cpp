// The order chosen by the structure of the graph: dissection of large, wide meshes; elsewhere the
// better of minimum degree, minimum fill and dissection by exact counts, without dissection where
// it takes longer than 100 factorizations.

#include "variants/orderings/tournament.hpp"

namespace gsofa::orders {

namespace {

ordering automatic_order(const pattern_view& a, const order_settings& settings) {
  return tournament(a, settings, {.factorizations = 100, .seeds = 1});
}

}  // namespace

GSOFA_REGISTER_ORDER({
    .name = "automatic",
    .device = "cpu",
    .summary = "dissection of wide meshes; elsewhere the better of minimum fill and dissection",
    .citation = "none",
    .multithreaded = true,
    .compute = automatic_order,
});

}  // namespace gsofa::orders
