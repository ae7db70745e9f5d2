#include "common/large_pages.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <numeric>
#include <vector>

using namespace gsofa;

namespace {

// Writes first, first + 1, ... to storage of v for `size` elements.
template <class T>
void write_range(std::vector<T>& v, std::size_t size, T first) {
  T* const to = storage_to_write(v, size);
  map_pages(to, size * sizeof(T));
  for (std::size_t k = 0; k < size; ++k) to[k] = first + static_cast<T>(k);
  take_written(v, size);
}

template <class T>
std::vector<T> range(std::size_t size, T first) {
  std::vector<T> out(size);
  std::iota(out.begin(), out.end(), first);
  return out;
}

}  // namespace

TEST_CASE("what is written to the storage of a vector becomes its elements") {
  std::vector<std::int32_t> v;
  // Growing, the same size, shrinking, growing within the capacity and beyond.
  std::int32_t first = 0;
  for (const std::size_t size :
       std::initializer_list<std::size_t>{0U, 1U, 3000000U, 3000000U, 5U, 0U, 2000000U, 4000000U}) {
    CAPTURE(size);
    write_range(v, size, ++first);
    CHECK(v == range(size, first));
  }
}

TEST_CASE("storage that is large enough is used again") {
  std::vector<std::int64_t> v;
  write_range(v, 100000, std::int64_t{7});
  const std::int64_t* const before = v.data();
  for (const std::size_t size : std::initializer_list<std::size_t>{99999U, 10U, 100000U}) {
    write_range(v, size, std::int64_t{1});
    CHECK(v.data() == before);
    CHECK(v == range(size, std::int64_t{1}));
  }
}

TEST_CASE("a vector resized in large pages is zero") {
  std::vector<std::int32_t> v;
  resize_in_large_pages(v, 2000000);
  CHECK(v == std::vector<std::int32_t>(2000000, 0));
}
