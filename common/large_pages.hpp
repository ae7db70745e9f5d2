#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace gsofa {

inline constexpr std::uintptr_t large_page = 1U << 21U;

/// Reserves memory for an empty vector of gigabytes and asks for pages of 2 MiB before it is
/// touched, which takes a fraction of the time of 4 KiB pages. Where the system has no such pages,
/// it does what reserve() does.
template <class T>
void reserve_in_large_pages(std::vector<T>& v, std::size_t size) {
  v.reserve(size);
#if defined(MADV_HUGEPAGE)
  const auto begin = reinterpret_cast<std::uintptr_t>(v.data());
  const std::uintptr_t first = (begin + large_page - 1) / large_page * large_page;
  const std::uintptr_t last = (begin + v.capacity() * sizeof(T)) / large_page * large_page;
  if (first < last) {
    // Advice only: what it returns changes nothing.
    static_cast<void>(madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE));
  }
#endif
}

/// Resizes an empty vector as reserve_in_large_pages() reserves.
template <class T>
void resize_in_large_pages(std::vector<T>& v, std::size_t size) {
  reserve_in_large_pages(v, size);
  v.resize(size);
}

/// Storage of `v` for `size` elements that are to be written, by any threads, before
/// take_written(v, size): nothing is set to zero first, and memory that `v` has is used again. What
/// `v` held is lost.
template <class T>
T* storage_to_write(std::vector<T>& v, std::size_t size) {
  static_assert(std::is_arithmetic_v<T>);
  if (v.capacity() < size) {
    v = {};
    reserve_in_large_pages(v, size);
  } else if (v.size() > size) {
    v.resize(size);
  }
  return v.data();
}

/// Makes the elements that were written to storage_to_write(v, size) those of `v`. Numbers begin to
/// live where their bytes are copied to, and appending a range to a vector of sufficient capacity
/// constructs each element from the number of that range; here this is the same number in the same
/// place, and memmove() from a place to itself returns at once.
template <class T>
void take_written(std::vector<T>& v, std::size_t size) {
  const T* const written = v.data();
  v.insert(v.end(), written + v.size(), written + size);
}

/// Maps the pages of [begin, begin + bytes) now, to be written, where the system can; else they are
/// mapped as they are touched.
inline void map_pages([[maybe_unused]] void* begin, [[maybe_unused]] std::size_t bytes) {
#if defined(MADV_POPULATE_WRITE)
  static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<std::uintptr_t>(begin) / page * page;
  const auto last = (reinterpret_cast<std::uintptr_t>(begin) + bytes + page - 1) / page * page;
  // Advice only. The first and the last page may hold other objects, which it does not change.
  static_cast<void>(madvise(reinterpret_cast<void*>(first), last - first, MADV_POPULATE_WRITE));
#endif
}

}  // namespace gsofa
