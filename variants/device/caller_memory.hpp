#pragma once

/// Results in the caller's device memory.

#include <span>
#include <string>

#include "common/device_rows.hpp"
#include "common/supernodal.hpp"
#include "variants/device/runtime.hpp"

namespace gsofa::gpu {

#if defined(GSOFA_GPU)

/// Arrays in memory that the caller provides. An array without elements is null and takes no
/// memory. A copy is complete after synchronize().
class caller_memory {
 public:
  explicit caller_memory(const device_destination& to) : to_(to) {}

  /// Memory for `count` elements.
  template <class T>
  [[nodiscard]] T* take(offset_t count) const {
    if (count == 0) return nullptr;
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
    void* const given = to_.allocate(bytes);
    if (given == nullptr) {
      throw budget_error("the caller has no " + std::to_string(bytes) +
                         " bytes of device memory for a result");
    }
    if (to_.stream != nullptr) follow(to_.stream);
    return static_cast<T*>(given);
  }
  /// A copy of `count` elements of device memory.
  template <class T>
  const T* copied(const T* from, offset_t count) const {
    T* const to = take<T>(count);
    copy_on_device(to, from, count);
    return to;
  }
  /// A copy of a host array.
  template <class T>
  const T* uploaded(std::span<const T> from) const {
    const auto count = static_cast<offset_t>(from.size());
    T* const to = take<T>(count);
    copy_to_device(to, from.data(), count);
    return to;
  }
  [[nodiscard]] device_rows uploaded(const pattern& p) const {
    return {p.n_rows, p.nnz(), uploaded(std::span<const offset_t>(p.row_ptr)),
            uploaded(std::span<const index_t>(p.col_idx))};
  }
  [[nodiscard]] device_supernodal_pattern uploaded(const supernodal_pattern& s) const {
    return {.supernodes = s.supernodes(),
            .row_count = static_cast<offset_t>(s.rows.size()),
            .segment_count = static_cast<offset_t>(s.segments.size()),
            .begin = uploaded(std::span<const index_t>(s.begin)),
            .row_begin = uploaded(std::span<const offset_t>(s.row_begin)),
            .rows = uploaded(std::span<const index_t>(s.rows)),
            .segment_begin = uploaded(std::span<const offset_t>(s.segment_begin)),
            .segments = uploaded(std::span<const index_t>(s.segments))};
  }

 private:
  const device_destination& to_;
};

#endif

}  // namespace gsofa::gpu
