#pragma once

/// Objects with page-locked memory, which is slow to allocate and to free: a run borrows an object
/// and passes it on to the next run, on any thread.

#include <memory>
#include <mutex>
#include <utility>

#include "variants/device/runtime.hpp"

namespace gsofa::gpu {

#if defined(GSOFA_GPU)

/// Exclusive use of a T: either an object that an earlier owner returned, in the state in which
/// that owner left it, or a new object. All device work of the earlier owner's thread has ended
/// before the next owner gets the object.
template <class T>
class lent {
 public:
  lent() : held_(take()) {
    if (held_ == nullptr) held_ = std::make_unique<node>();
  }
  lent(const lent&) = delete;
  lent& operator=(const lent&) = delete;
  ~lent() {
    drain();
    // A process that was forked while another thread held the lock finds it locked for good.
    const std::unique_lock lock(mutex, std::try_to_lock);
    if (!lock.owns_lock()) return;
    held_->next = idle;
    idle = held_.release();
  }

  T& operator*() const { return held_->object; }
  T* operator->() const { return &held_->object; }

 private:
  struct node {
    T object;
    node* next = nullptr;
  };
  static std::unique_ptr<node> take() {
    const std::unique_lock lock(mutex, std::try_to_lock);
    if (!lock.owns_lock() || idle == nullptr) return nullptr;
    return std::unique_ptr<node>(std::exchange(idle, idle->next));
  }

  // They live as long as the process: at its end the runtime of the device may be gone.
  static inline constinit std::mutex mutex;
  static inline constinit node* idle = nullptr;

  std::unique_ptr<node> held_;
};

#endif

}  // namespace gsofa::gpu
