#pragma once

#include <ostream>

namespace gsofa {

/// Prints everything about every variant: device, source, results, options with type, range and
/// default, and why it is unavailable. Planted variants are included only if `planted`.
void print_list_verbose(std::ostream& out, bool planted);

}  // namespace gsofa
