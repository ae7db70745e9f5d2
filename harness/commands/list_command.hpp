#pragma once

#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

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

/// All about the variants that words select, as select_variants(), and about orders: those that
/// words name that name no variant, or all of them if `orders`. Throws input_error for a word that
/// selects neither.
json named_json(const std::vector<std::string>& words, bool orders);
void print_named(std::ostream& out, const std::vector<std::string>& words, bool orders);

}  // namespace gsofa
