#pragma once

/// The few services of a GPU runtime that the variants use, on CUDA or on the emulator of simt.hpp.
/// Every host thread has a stream of its own (nvcc --default-stream=per-thread): threads do not
/// wait for each other, and a thread that hands memory to another thread calls synchronize() first.

#include "variants/device/launches.hpp"
#include "variants/device/memory.hpp"
#include "variants/device/phases.hpp"
