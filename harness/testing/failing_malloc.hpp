#pragma once

extern "C" {

/// Counts allocations from now on and makes those numbered first to last fail; 0, 0: none. They are
/// those of malloc and the like; under sanitizers, which have a malloc of their own, those of
/// operator new.
void fail_allocations(long first, long last);
/// Until the next fail_allocations(), larger allocations fail.
void limit_allocations(long bytes);
/// Number of blocks that are allocated and not yet freed. Not under sanitizers.
long live_allocations();
/// Allocations since fail_allocations(), failed ones among them, and bytes of the largest.
long allocations_made();
long largest_allocation();
/// Lets `count` more threads start. The system refuses every later one. Not under sanitizers.
void allow_threads(long count);
}
