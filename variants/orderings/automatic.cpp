// The order with the least predicted time of the order and of all factorizations: choose.hpp.

#include "variants/orderings/tournament.hpp"

namespace gsofa::orders {

namespace {

ordering automatic_order(const pattern_view& a, const order_settings& settings) {
  return tournament(a, settings, purpose_of(settings.options));
}

}  // namespace

GSOFA_REGISTER_ORDER({
    .name = "automatic",
    .device = "cpu",
    .summary = "minimum degree, minimum fill or dissection: the least time in all",
    .citation = "none",
    .options = purpose_options(),
    .multithreaded = true,
    .compute = automatic_order,
});

}  // namespace gsofa::orders
