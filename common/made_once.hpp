#pragma once

/// Objects that the first use makes.

#include <atomic>
#include <memory>

namespace gsofa {

/// What `place` points to. The first call makes it by make(), which returns a std::unique_ptr<T>,
/// and it is never destroyed. No lock and no guard of a static variable, which a thread that a
/// forked child lacks could hold: threads that make it at the same time share the object of the
/// first. Throws what make() throws.
template <typename T>
const T& made_once(std::atomic<const T*>& place, auto&& make) {
  const T* there = place.load(std::memory_order_acquire);
  if (there == nullptr) {
    std::unique_ptr<const T> mine = make();
    if (place.compare_exchange_strong(there, mine.get())) there = mine.release();
  }
  return *there;
}

}  // namespace gsofa
