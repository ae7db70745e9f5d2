#pragma once

#include <cstddef>  // __GLIBC__

/// Attribute of functions that spend their time on words: a portable build compiles such a
/// function, with everything that it inlines, also for newer x86 processors, and the loader selects
/// the version for the processor. The function must be noexcept: no exception leaves a version for
/// another processor (GCC 12). Not used with sanitizers, which are not initialised when the loader
/// selects.
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__AVX2__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define GSOFA_FOR_PROCESSORS \
  __attribute__((flatten, target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define GSOFA_FOR_PROCESSORS
#endif
