#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gsofa {

/// Resizes an empty vector of gigabytes: its memory is asked for in pages of 2 MiB before it is
/// touched, which takes a fraction of the time of 4 KiB pages. Where the system has no such pages,
/// it does what resize() does.
template <class T>
void resize_in_large_pages(std::vector<T>& v, std::size_t size) {
  v.reserve(size);
#if defined(MADV_HUGEPAGE)
  constexpr std::uintptr_t page = 1U << 21U;
  const auto begin = reinterpret_cast<std::uintptr_t>(v.data());
  const std::uintptr_t first = (begin + page - 1) / page * page;
  const std::uintptr_t last = (begin + v.capacity() * sizeof(T)) / page * page;
  if (first < last) {
    // Advice only: what it returns changes nothing.
    static_cast<void>(madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE));
  }
#endif
  v.resize(size);
}

}  // namespace gsofa
