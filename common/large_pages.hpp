#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace gsofa {

inline constexpr std::size_t large_page = std::size_t{1} << 21U;

/// Bytes from `p` to the next multiple of `page`; 0 if `p` is a multiple.
inline std::size_t distance_to(const void* p, std::size_t page) {
  return (page - reinterpret_cast<std::uintptr_t>(p) % page) % page;
}

/// Requests large pages for the complete pages in [begin, begin + bytes).
inline void advise_large_pages([[maybe_unused]] void* begin, [[maybe_unused]] std::size_t bytes) {
#if defined(MADV_HUGEPAGE)
  auto* const first = static_cast<char*>(begin);
  const std::size_t before = distance_to(first, large_page);
  if (bytes < before + large_page) return;
  // Advice only: the return value does not matter.
  const std::size_t whole = (bytes - before) / large_page * large_page;
  static_cast<void>(madvise(first + before, whole, MADV_HUGEPAGE));
#endif
}

/// Reserves memory for an empty vector of gigabytes and requests pages of 2 MiB before the memory
/// is touched, which takes a fraction of the time of 4 KiB pages. Equals reserve() on systems
/// without such pages.
template <class T>
void reserve_in_large_pages(std::vector<T>& v, std::size_t size) {
  v.reserve(size);
  advise_large_pages(v.data(), v.capacity() * sizeof(T));
}

/// Resizes an empty vector as reserve_in_large_pages() reserves.
template <class T>
void resize_in_large_pages(std::vector<T>& v, std::size_t size) {
  reserve_in_large_pages(v, size);
  v.resize(size);
}

/// Storage of `v` for `size` elements, which any threads write before take_written(v, size). The
/// storage is not zeroed; memory of `v` is reused, and the content of `v` is lost.
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

/// Makes the elements written to storage_to_write(v, size) the elements of `v`. Numbers begin to
/// live where their bytes are copied to, and appending a range to a vector of sufficient capacity
/// constructs each element from the number of that range; here this is the same number in the same
/// place, and memmove() from a place to itself returns at once.
template <class T>
void take_written(std::vector<T>& v, std::size_t size) {
  const T* const written = v.data();
  v.insert(v.end(), written + v.size(), written + size);
}

/// Maps the pages of [begin, begin + bytes), whose bytes will be overwritten, if the system can;
/// otherwise pages are mapped when touched. Large pages are touched here: threads that do so wait
/// for each other less than in the system's call, which then maps the remaining pages.
inline void map_pages([[maybe_unused]] void* begin, [[maybe_unused]] std::size_t bytes) {
#if defined(MADV_POPULATE_WRITE)
  static const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  auto* const first = static_cast<char*>(begin);
  const std::size_t before = distance_to(begin, page);
  if (bytes < before + page) return;
  // Advice only. The pages at both ends may hold other objects, and are mapped as they are touched.
  const std::size_t whole = (bytes - before) / page * page;
  for (std::size_t k = distance_to(begin, large_page); k + large_page <= bytes; k += large_page) {
    *static_cast<volatile char*>(first + k) = 0;
  }
  static_cast<void>(madvise(first + before, whole, MADV_POPULATE_WRITE));
#endif
}

}  // namespace gsofa
