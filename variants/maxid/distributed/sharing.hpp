#pragma once

/// Memory of one GPU that the other GPUs of the process read: the paper's managed memory (Section
/// 5) and plain device memory with peer access. One owner writes, the others read.

#include <algorithm>
#include <string>
#include <vector>

#include "variants/device/runtime.hpp"

namespace gsofa::maxid {

using namespace gpu;  // NOLINT: the runtime of kernels

#if defined(GSOFA_GPU)

enum class sharing_kind {
  peer,             ///< device memory of the owner, peer access by the others
  managed_advised,  ///< managed, preferred location the owner, accessed by the others: the paper's
  managed,          ///< managed without advice: pages migrate
  managed_shared_fill,  ///< advised, but all owners' fill stamps in one array, pages in common
  managed_shared_fill_unadvised,  ///< without advice: the paper's baseline (Figure 18)
};

/// Whether the owner is the advised location of pages.
constexpr bool is_advised(sharing_kind kind) {
  return kind == sharing_kind::managed_advised || kind == sharing_kind::managed_shared_fill;
}
/// Whether the fill stamps of all owners are in one array.
constexpr bool shares_fill(sharing_kind kind) {
  return kind == sharing_kind::managed_shared_fill ||
         kind == sharing_kind::managed_shared_fill_unadvised;
}

inline sharing_kind parse_sharing(const std::string& name) {
  if (name == "peer") return sharing_kind::peer;
  if (name == "managed_advised") return sharing_kind::managed_advised;
  if (name == "managed") return sharing_kind::managed;
  if (name == "managed_shared_fill") return sharing_kind::managed_shared_fill;
  if (name == "managed_shared_fill_unadvised") return sharing_kind::managed_shared_fill_unadvised;
  throw input_error("unknown sharing '" + name + "'");
}

inline int device_count() {
#if defined(__CUDACC__)
  int count = 0;
  check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  return count;
#else
  return 8;
#endif
}

/// Makes a device the current device of this host thread; errors appear at its next use.
inline void switch_device([[maybe_unused]] int device) noexcept {
#if defined(__CUDACC__)
  cudaSetDevice(device);
#endif
}

inline void use_device([[maybe_unused]] int device) {
#if defined(__CUDACC__)
  check(cudaSetDevice(device), "cudaSetDevice");
#endif
}

/// Restores this host thread's device at the end of a scope.
class device_scope {
 public:
#if defined(__CUDACC__)
  device_scope() { cudaGetDevice(&device_); }
#else
  device_scope() = default;
#endif
  ~device_scope() { switch_device(device_); }
  device_scope(const device_scope&) = delete;
  device_scope& operator=(const device_scope&) = delete;

 private:
  int device_ = 0;
};

/// Lets every device of the list read what device_array allocates on the others. Throws
/// unavailable_error if the hardware does not support it.
inline void share_device_memory(std::vector<int> devices) {
  std::ranges::sort(devices);
  devices.erase(std::ranges::unique(devices).begin(), devices.end());
#if defined(__CUDACC__)
  for (const int owner : devices) {
    std::vector<cudaMemAccessDesc> readers;
    use_device(owner);
    for (const int reader : devices) {
      if (reader == owner) continue;
      int possible = 0;
      check(cudaDeviceCanAccessPeer(&possible, reader, owner), "peer access");
      if (possible == 0) {
        throw unavailable_error("GPU " + std::to_string(reader) + " cannot read memory of GPU " +
                                std::to_string(owner) + ": use sharing=managed_advised");
      }
      cudaMemAccessDesc reading{};
      reading.location.type = cudaMemLocationTypeDevice;
      reading.location.id = reader;
      reading.flags = cudaMemAccessFlagsProtReadWrite;
      readers.push_back(reading);
    }
    const auto pool = memory_pool();
    if (pool == nullptr && !readers.empty()) {
      throw unavailable_error("GPU " + std::to_string(owner) + " has no memory pools to share");
    }
    if (!readers.empty()) {
      check(cudaMemPoolSetAccess(pool, readers.data(), readers.size()), "peer access");
    }
  }
#endif
}

/// Managed memory for all owners together; not initialised.
class managed_memory {
 public:
  managed_memory() = default;
  managed_memory(const managed_memory&) = delete;
  managed_memory& operator=(const managed_memory&) = delete;
  managed_memory(managed_memory&& o) noexcept { std::swap(data_, o.data_); }
  managed_memory& operator=(managed_memory&& o) noexcept {
    std::swap(data_, o.data_);
    return *this;
  }
  explicit managed_memory(offset_t bytes) {
#if defined(__CUDACC__)
    check(cudaMallocManaged(&data_, static_cast<std::size_t>(bytes)), "managed memory");
#else
    data_ = ::operator new(static_cast<std::size_t>(bytes));
    std::memset(data_, 0xa5, static_cast<std::size_t>(bytes));
#endif
  }
  ~managed_memory() {
    if (data_ == nullptr) return;
#if defined(__CUDACC__)
    cudaFree(data_);
#else
    ::operator delete(data_);
#endif
  }
  [[nodiscard]] void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

/// The paper's advice: [p, p + bytes) stays on `owner`, `readers` map it.
inline void advise(const void* p, offset_t bytes, int owner, const std::vector<int>& readers) {
#if defined(__CUDACC__)
  const auto size = static_cast<std::size_t>(bytes);
  cudaMemLocation at{};
  at.type = cudaMemLocationTypeDevice;
  at.id = owner;
  check(cudaMemAdvise(p, size, cudaMemAdviseSetPreferredLocation, at), "cudaMemAdvise");
  for (const int reader : readers) {
    if (reader == owner) continue;
    at.id = reader;
    check(cudaMemAdvise(p, size, cudaMemAdviseSetAccessedBy, at), "cudaMemAdvise");
  }
#else
  (void)p;
  (void)bytes;
  (void)owner;
  (void)readers;
#endif
}

#endif

}  // namespace gsofa::maxid
