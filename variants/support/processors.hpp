#pragma once

#include <cstddef>  // __GLIBC__

/// Before a function that spends its time on words: a portable build has it, with all that it
/// inlines, for newer x86 processors too, and the loader takes the one for the processor. Such a
/// function is noexcept: no exception gets out of a version for other processors (GCC 12).
/// Sanitizers are not ready when it does.
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__AVX2__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define GSOFA_FOR_PROCESSORS \
  __attribute__((flatten, target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define GSOFA_FOR_PROCESSORS
#endif
