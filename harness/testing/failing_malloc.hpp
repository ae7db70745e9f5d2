#pragma once

extern "C" {

/// Counts allocations from now on and makes those numbered first to last fail; 0, 0: none.
void fail_allocations(long first, long last);
/// Number of blocks that are allocated and not yet freed.
long live_allocations();
/// Allocations since fail_allocations(), failed ones among them, and bytes of the largest.
long allocations_made();
long largest_allocation();
/// From now on only so many threads start; the system refuses further ones.
void allow_threads(long count);
}
