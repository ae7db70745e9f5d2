#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <vector>

#include "common/large_pages.hpp"

namespace gsofa::panels {

/// An array of trivial elements that does not initialise them, in large pages if the system has
/// large pages. Keeps its memory until destruction.
template <class T>
class buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  /// Makes room for `size` elements with undefined values. Throws std::bad_alloc.
  void resize(std::size_t size) {
    if (size > capacity_) grow(size);
    size_ = size;
  }
  void clear() { size_ = 0; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] T* data() { return data_.get(); }
  [[nodiscard]] const T* data() const { return data_.get(); }
  T& operator[](std::size_t i) { return data_.get()[i]; }
  const T& operator[](std::size_t i) const { return data_.get()[i]; }
  [[nodiscard]] std::span<const T> view() const { return {data_.get(), size_}; }

 private:
  struct release {
    void operator()(T* p) const { std::free(p); }  // NOLINT(cppcoreguidelines-no-malloc)
  };
  void grow(std::size_t size) {
    data_.reset();
    capacity_ = 0;
    // A large page begins at a multiple of its size.
    const std::size_t bytes = size * sizeof(T);
    const std::size_t alignment = bytes < large_page ? alignof(std::max_align_t) : large_page;
    const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    void* const fresh = std::aligned_alloc(alignment, rounded);  // NOLINT
    if (fresh == nullptr) throw std::bad_alloc();
    data_.reset(static_cast<T*>(fresh));
    capacity_ = rounded / sizeof(T);
    advise_large_pages(fresh, rounded);
  }

  std::unique_ptr<T, release> data_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

/// Resizes `v` to elements with undefined values, which any threads write before they are read: no
/// thread touches them first to set them to zero.
template <class T>
void resize_to_write(std::vector<T>& v, std::size_t size) {
  storage_to_write(v, size);
  take_written(v, size);
}

/// Lists that do not move while others are added. Their memory blocks are kept over clear(); each
/// new block is at least as large as all earlier blocks together.
template <class T>
class list_storage {
 public:
  /// Removes all lists. New blocks have at least `least_elements` elements.
  void clear(std::size_t least_elements = 4096) {
    block_ = 0;
    used_ = 0;
    least_elements_ = least_elements;
  }
  /// A list of `size` elements with undefined values. Throws std::bad_alloc.
  std::span<T> room(std::size_t size) {
    while (block_ < blocks_.size() && used_ + size > blocks_[block_].size()) {
      ++block_;
      used_ = 0;
    }
    if (block_ == blocks_.size()) {
      blocks_.emplace_back();
      blocks_.back().resize(std::max({least_elements_, size, elements_}));
      elements_ += blocks_.back().size();
      used_ = 0;
    }
    T* const first = blocks_[block_].data() + used_;
    used_ += size;
    return {first, size};
  }
  /// A copy of the list. Throws std::bad_alloc.
  std::span<const T> keep(std::span<const T> list) {
    const std::span<T> copy = room(list.size());
    std::ranges::copy(list, copy.begin());
    return copy;
  }

 private:
  std::vector<buffer<T>> blocks_;
  std::size_t least_elements_ = 4096;
  std::size_t block_ = 0;
  std::size_t used_ = 0;
  std::size_t elements_ = 0;  // of all blocks
};

}  // namespace gsofa::panels
