#pragma once

/// The fall-back: rows of L + U are searched for one by one, in memory that does not depend on the
/// fill.

#include <initializer_list>
#include <memory>
#include <utility>

#include "common/run_context.hpp"
#include "common/variant.hpp"
#include "variants/device/batch_rows.hpp"

namespace gsofa::panels {

#if defined(GSOFA_GPU)

using namespace gsofa::gpu;

/// Tells the user of a search that will take more than `silent` seconds, and of the bytes of the
/// budget with which there would be none. Returns whether it has told.
bool announce_search(const device_rows& a, double silent, offset_t bytes_missing,
                     const run_context& context);

/// Runs another variant on the current device, with these options and the other settings, and
/// returns it with its result. Preparing it counts as a phase of the run.
std::unique_ptr<variant> run_instead(
    const char* name, const pattern_view& a, const run_settings& settings,
    std::initializer_list<std::pair<const char*, std::int64_t>> options, run_context& context);

/// The rows of a matrix on the device, on the host.
pattern on_host(const device_rows& a);

#endif

}  // namespace gsofa::panels
