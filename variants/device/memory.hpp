#pragma once

/// Device memory on CUDA or on the emulator of simt.hpp: limits of the device, budgeted arrays,
/// copies, pinned host memory.

#include <atomic>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/error.hpp"
#include "common/types.hpp"
#include "variants/device/simt.hpp"

namespace gsofa::gpu {

#if defined(GSOFA_GPU)

#if defined(__CUDACC__)

inline void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw budget_error(std::string(what) + ": the device is out of memory");
  }
  throw error(exit_code::run_failed, std::string(what) + ": " + cudaGetErrorString(status));
}

#endif

#if defined(__CUDACC__)

/// One fact of each device, which all threads share. Each finds the same, so that none waits.
template <class Fact>
class device_facts {
 public:
  /// The fact of the current device, the first time from find(device).
  template <class Find>
  Fact of_current_device(const Find& find) {
    int device = 0;
    check(cudaGetDevice(&device), "cudaGetDevice");
    if (device < 0 || device >= most) return find(device);
    entry& e = entries_[device];
    if (e.known.load(std::memory_order_acquire)) return e.fact.load(std::memory_order_relaxed);
    const Fact found = find(device);
    e.fact.store(found, std::memory_order_relaxed);
    e.known.store(true, std::memory_order_release);
    return found;
  }

 private:
  static constexpr int most = 64;  // devices; facts of further ones are found every time
  struct entry {
    std::atomic<bool> known{false};
    std::atomic<Fact> fact{};
  };
  entry entries_[most];
};

/// The current device's memory pool, set to keep freed memory: mapping memory again would take
/// longer than many small runs. The pool is null where the device has none.
inline cudaMemPool_t memory_pool() {
  static constinit device_facts<cudaMemPool_t> pools;
  return pools.of_current_device([](int device) {
    cudaMemPool_t pool = nullptr;
    int supported = 0;
    check(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, device),
          "device attributes");
    if (supported != 0) {
      check(cudaDeviceGetDefaultMemPool(&pool, device), "memory pool");
      std::uint64_t keep = ~std::uint64_t{0};
      check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep), "memory pool");
    }
    return pool;
  });
}

/// Allocates from the current device's pool. The free memory of the pool may be in pieces that are
/// all too small. If the device has no other memory left, the pool unmaps these pieces first.
inline cudaError_t allocate_from_pool(void** p, std::size_t bytes) {
  const cudaError_t status = cudaMallocAsync(p, bytes, nullptr);
  if (status != cudaErrorMemoryAllocation) return status;
  (void)cudaGetLastError();
  check(cudaStreamSynchronize(nullptr), "device memory");
  check(cudaMemPoolTrimTo(memory_pool(), 0), "memory pool");
  return cudaMallocAsync(p, bytes, nullptr);
}

#endif

/// What the kernels need to know of the device.
struct device_limits {
  int multiprocessors = 0;
  std::size_t shared_bytes_per_block = 0;  ///< the most a block can opt in to
  offset_t free_bytes = 0;
};

/// Multiprocessors of the current device; the call is cheap.
inline int multiprocessors() {
#if defined(__CUDACC__)
  int device = 0;
  int count = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device),
        "device attributes");
  return count;
#else
  return 2;
#endif
}

inline device_limits current_limits() {
  device_limits l;
#if defined(__CUDACC__)
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  int shared = 0;
  check(cudaDeviceGetAttribute(&l.multiprocessors, cudaDevAttrMultiProcessorCount, device),
        "device attributes");
  check(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
        "device attributes");
  l.shared_bytes_per_block = static_cast<std::size_t>(shared);
  std::size_t free = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  l.free_bytes = static_cast<offset_t>(free);
  if (const auto pool = memory_pool()) {
    std::uint64_t reserved = 0;
    std::uint64_t used = 0;
    check(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved),
          "memory pool");
    check(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used), "memory pool");
    l.free_bytes += static_cast<offset_t>(reserved - used);
  }
#else
  l = {2, 64 * 1024, offset_t{256} << 20};
#endif
  return l;
}

/// The budget of a variant: every device allocation, by data structure, counts against one limit.
class memory_budget {
 public:
  /// Limit in bytes.
  void set_limit(offset_t limit) { limit_ = limit; }
  [[nodiscard]] offset_t limit() const { return limit_; }
  [[nodiscard]] offset_t used() const { return used_; }
  [[nodiscard]] offset_t peak() const { return peak_; }
  [[nodiscard]] const std::map<std::string, offset_t>& by_structure() const { return largest_; }

  void take(const char* structure, offset_t bytes) {
    if (used_ + bytes > limit_) {
      throw budget_error("memory budget of " + std::to_string(limit_) + " bytes: " + structure +
                         " needs " + std::to_string(bytes) + " in addition to " +
                         std::to_string(used_));
    }
    used_ += bytes;
    if (used_ > peak_) peak_ = used_;
    offset_t& most = largest_[structure];
    if (bytes > most) most = bytes;
  }
  void give(offset_t bytes) { used_ -= bytes; }

 private:
  offset_t limit_ = 0, used_ = 0, peak_ = 0;
  std::map<std::string, offset_t> largest_;
};

/// An array in device memory; not initialised.
template <class T>
class device_array {
 public:
  device_array() = default;
  device_array(memory_budget& budget, const char* structure, offset_t size)
      : budget_(&budget), size_(size) {
    const offset_t bytes = size * static_cast<offset_t>(sizeof(T));
    budget.take(structure, bytes);
    try {
      allocate(bytes);
    } catch (...) {
      budget.give(bytes);
      throw;
    }
  }
  device_array(device_array&& o) noexcept { swap(o); }
  device_array& operator=(device_array&& o) noexcept {
    device_array moved(std::move(o));
    swap(moved);
    return *this;
  }
  ~device_array() { release(); }

  [[nodiscard]] T* data() const { return data_; }
  [[nodiscard]] offset_t size() const { return size_; }

 private:
  void swap(device_array& o) noexcept {
    std::swap(budget_, o.budget_);
    std::swap(data_, o.data_);
    std::swap(size_, o.size_);
    std::swap(pooled_, o.pooled_);
  }
  void allocate(offset_t bytes) {
    if (bytes == 0) return;
#if defined(__CUDACC__)
    void* p = nullptr;
    pooled_ = memory_pool() != nullptr;
    const auto size = static_cast<std::size_t>(bytes);
    check(pooled_ ? allocate_from_pool(&p, size) : cudaMalloc(&p, size), "device memory");
    data_ = static_cast<T*>(p);
#else
    data_ = static_cast<T*>(::operator new(static_cast<std::size_t>(bytes)));
    // What nobody has written is negative in some arrays and positive in others.
    const int byte = reinterpret_cast<std::uintptr_t>(data_) / 16 % 2 == 0 ? 0xa5 : 0x5a;
    std::memset(static_cast<void*>(data_), byte, static_cast<std::size_t>(bytes));
#endif
  }
  void release() {
    if (data_ != nullptr) {
#if defined(__CUDACC__)
      pooled_ ? cudaFreeAsync(data_, nullptr) : cudaFree(data_);
#else
      ::operator delete(data_);
#endif
    }
    if (budget_ != nullptr) budget_->give(size_ * static_cast<offset_t>(sizeof(T)));
    data_ = nullptr;
    budget_ = nullptr;
  }

  memory_budget* budget_ = nullptr;
  T* data_ = nullptr;
  offset_t size_ = 0;
  bool pooled_ = false;
};

/// Allocates page-locked host memory, which the device copies to and from at full speed.
template <class T>
struct pinned_allocator {
  using value_type = T;
  pinned_allocator() = default;
  template <class U>
  explicit pinned_allocator(const pinned_allocator<U>&) {}

  T* allocate(std::size_t count) {
#if defined(__CUDACC__)
    void* p = nullptr;
    check(cudaMallocHost(&p, count * sizeof(T)), "pinned host memory");
    return static_cast<T*>(p);
#else
    return static_cast<T*>(::operator new(count * sizeof(T)));
#endif
  }
  void deallocate(T* p, std::size_t) {
#if defined(__CUDACC__)
    cudaFreeHost(p);
#else
    ::operator delete(p);
#endif
  }
  template <class U>
  bool operator==(const pinned_allocator<U>&) const {
    return true;
  }
};

template <class T>
using pinned_vector = std::vector<T, pinned_allocator<T>>;

template <class T>
void copy_to_device(T* device, const T* host, offset_t count) {
  if (count <= 0) return;
  const auto bytes = static_cast<std::size_t>(count) * sizeof(T);
#if defined(__CUDACC__)
  check(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice), "copy to the device");
#else
  std::memcpy(device, host, bytes);
#endif
}

template <class T>
void copy_to_host(T* host, const T* device, offset_t count) {
  if (count == 0) return;
  const auto bytes = static_cast<std::size_t>(count) * sizeof(T);
#if defined(__CUDACC__)
  check(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost), "copy to the host");
#else
  std::memcpy(host, device, bytes);
#endif
}

template <class T>
void copy_on_device(T* to, const T* from, offset_t count) {
  if (count == 0) return;
  const auto bytes = static_cast<std::size_t>(count) * sizeof(T);
#if defined(__CUDACC__)
  check(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToDevice), "copy on the device");
#else
  std::memcpy(to, from, bytes);
#endif
}

/// Sets every byte of `count` elements; asynchronous.
template <class T>
void fill_bytes(T* device, int byte, offset_t count) {
  if (count == 0) return;
  const auto bytes = static_cast<std::size_t>(count) * sizeof(T);
#if defined(__CUDACC__)
  check(cudaMemsetAsync(device, byte, bytes), "memset");
#else
  std::memset(static_cast<void*>(device), byte, bytes);
#endif
}

#endif

}  // namespace gsofa::gpu
