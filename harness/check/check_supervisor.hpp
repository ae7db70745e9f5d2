#pragma once

#include <vector>

#include "harness/check/variant_check.hpp"
#include "harness/run/interrupt.hpp"

namespace gsofa {

/// Checks each variant in a worker process of its own, several at a time, and fills the tallies. A
/// worker that crashes, ends too early or does not return fails its variant: the pattern is shrunk
/// (after a crash), saved, and the command that checks it again is printed; the other workers
/// continue. A hang of a planted variant that is not `fatal` is no verdict: its worker continues
/// with the next pattern. Meanwhile this process compares the oracles. Returns true if only planted
/// variants failed. `interrupts`, if not null, is locked while a tally changes.
bool supervise_check(const check_options& options, const check_plan& plan,
                     std::vector<check_tally>& tallies, interrupt_guard* interrupts = nullptr);

/// Runs in the worker: checks the one variant of options.variants, from pattern or matrix number
/// `first` on.
void check_as_worker(const check_options& options, std::size_t first);

}  // namespace gsofa
