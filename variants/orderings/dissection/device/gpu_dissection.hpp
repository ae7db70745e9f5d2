#pragma once

// Nested dissection on a device, for the orders that use it.

#include <vector>

#include "common/ordering.hpp"
#include "common/pattern.hpp"
#include "variants/device/device_patterns.hpp"
#include "variants/device/runtime.hpp"
#include "variants/device/timeline.hpp"
#include "variants/orderings/dissection/nested_dissection.hpp"

namespace gsofa::orders::device {

/// The options of the orders that dissect on the device.
std::vector<option_spec> search_options();

#if defined(GSOFA_GPU)

/// The order of a symmetric graph on the device (rows sorted, without diagonal), which is given
/// back as soon as it is compressed, and its separator tree. Adds the phases of its steps to
/// `time`.
dissection dissect(gpu::patterns::device_pattern graph, const dissection_settings& search,
                   gpu::memory_budget& budget, gpu::timeline& time);

#endif

}  // namespace gsofa::orders::device
