#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <type_traits>

namespace gsofa::detail {

/// A growing array of trivial elements that leaves new ones unwritten. Growth is by realloc, which
/// moves large blocks by remapping their pages. Memory is kept until destruction.
template <class T>
class buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  /// Makes room for `size` elements; the old ones keep their values. Throws std::bad_alloc.
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
    std::size_t capacity = capacity_ + capacity_ / 2;
    if (capacity < size) capacity = size;
    void* moved = std::realloc(data_.get(), capacity * sizeof(T));  // NOLINT
    if (moved == nullptr) throw std::bad_alloc();
    (void)data_.release();
    data_.reset(static_cast<T*>(moved));
    capacity_ = capacity;
  }

  std::unique_ptr<T, release> data_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace gsofa::detail
