#pragma once

extern "C" {

/// Counts allocations from now on and makes those numbered first to last fail; 0, 0: none.
void fail_allocations(long first, long last);
/// Number of blocks that are allocated and not yet freed.
long live_allocations();
/// Allocations since fail_allocations(), failed ones among them, and bytes of the largest.
long allocations_made();
long largest_allocation();
/// Lets `count` more threads start. The system refuses every later one.
void allow_threads(long count);
}
