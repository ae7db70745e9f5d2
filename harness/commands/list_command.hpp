#pragma once

#include <cstddef>
#include <ostream>

#include "harness/record/record.hpp"

namespace gsofa {

/// One array of objects, a variant each: name, device, summary, citation, gives, options (name,
/// type, default, help, and minimum and maximum or choices), multithreaded, exact, planted,
/// available and reason. Planted variants only if asked for.
json list_json(bool planted);

/// The same as text for people: a line for each variant, within `width` characters if that is not
/// 0, and the reasons why some are unavailable; or all of it.
void print_list(std::ostream& out, bool planted, std::size_t width = 0);
void print_list_verbose(std::ostream& out, bool planted);

/// The same of orders, with library, dissects and same_as (order_info) in place of gives and exact.
json orders_json(bool planted);
void print_orders(std::ostream& out, bool planted, std::size_t width = 0);
void print_orders_verbose(std::ostream& out, bool planted);

}  // namespace gsofa
