#pragma once

/// Launches on CUDA or on the emulator of simt.hpp: plain, overlapping, cooperative, in clusters,
/// recorded and repeated, and waits for them.

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "variants/device/memory.hpp"

namespace gsofa::gpu {

#if defined(GSOFA_GPU)

/// Waits for all work that this host thread has given the device; reports the errors of all
/// launches before.
inline void synchronize() {
#if defined(__CUDACC__)
  check(cudaStreamSynchronize(cudaStreamPerThread), "kernel");
#endif
}

/// The same, before an error is reported that is known already.
inline void drain() noexcept {
#if defined(__CUDACC__)
  cudaStreamSynchronize(cudaStreamPerThread);
#endif
}

/// Has all that this host thread gives the device from now on done after what `stream`, a
/// cudaStream_t, was given before.
inline void follow([[maybe_unused]] void* stream) {
#if defined(__CUDACC__)
  cudaEvent_t given = nullptr;
  check(cudaEventCreateWithFlags(&given, cudaEventDisableTiming), "event");
  const cudaError_t recorded = cudaEventRecord(given, static_cast<cudaStream_t>(stream));
  const cudaError_t waits =
      recorded == cudaSuccess ? cudaStreamWaitEvent(cudaStreamPerThread, given, 0) : recorded;
  // The wait stays.
  cudaEventDestroy(given);
  check(waits, "stream of the caller");
#endif
}

/// Lets a kernel use up to `shared_bytes` of dynamic shared memory.
template <class... P>
void allow_shared(void (*kernel)(P...), std::size_t shared_bytes) {
#if defined(__CUDACC__)
  if (shared_bytes <= 48 * 1024) return;
  check(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                             cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(shared_bytes)),
        "shared memory");
#else
  (void)kernel;
  (void)shared_bytes;
#endif
}

/// Blocks of a kernel that can be resident on the whole device at once.
template <class... P>
int resident_blocks(void (*kernel)(P...), int threads, std::size_t shared_bytes) {
#if defined(__CUDACC__)
  int per_multiprocessor = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, kernel, threads,
                                                      shared_bytes),
        "occupancy");
  return per_multiprocessor * multiprocessors();
#else
  (void)kernel;
  (void)threads;
  (void)shared_bytes;
  return 4;
#endif
}

/// Launches a kernel; asynchronous.
template <class... P, class... A>
void launch(void (*kernel)(P...), int blocks, int threads, std::size_t shared_bytes, A... a) {
  if (blocks <= 0) return;
#if defined(__CUDACC__)
  kernel<<<static_cast<unsigned>(blocks), static_cast<unsigned>(threads), shared_bytes>>>(
      static_cast<P>(a)...);
  check(cudaGetLastError(), "launch");
#else
  simt::emulator::run_grid(static_cast<unsigned>(blocks), static_cast<unsigned>(threads),
                           shared_bytes, false, [&] { kernel(static_cast<P>(a)...); });
#endif
}

#if defined(__CUDACC__)
/// Whether a launch may overlap the one before it (programmatic dependent launch).
inline bool launches_overlap() {
  static constinit device_facts<bool> overlap;
  return overlap.of_current_device([](int device) {
    int major = 0;
    check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
          "device attributes");
    return major >= 9;
  });
}
#endif

/// Launches a kernel that begins with simt::after_earlier_launches(); asynchronous. Its blocks
/// become resident while the launch before it ends, which saves most of the time between two
/// launches.
template <class... P, class... A>
void launch_overlapping(void (*kernel)(P...), int blocks, int threads, std::size_t shared_bytes,
                        A... a) {
#if defined(__CUDACC__)
  if (blocks <= 0) return;
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(static_cast<unsigned>(threads));
  config.dynamicSmemBytes = shared_bytes;
  config.attrs = &attribute;
  config.numAttrs = launches_overlap() ? 1 : 0;
  check(cudaLaunchKernelEx(&config, kernel, static_cast<P>(a)...), "launch");
#else
  launch(kernel, blocks, threads, shared_bytes, a...);
#endif
}

/// Whether the device has done all that this host thread has launched. The call reports the errors
/// of these launches.
inline bool is_done() {
#if defined(__CUDACC__)
  const cudaError_t status = cudaStreamQuery(cudaStreamPerThread);
  if (status == cudaErrorNotReady) {
    // Some runtimes keep this status as the last error.
    (void)cudaGetLastError();
    return false;
  }
  check(status, "kernel");
#endif
  return true;
}

/// Whether a kernel has stored a value other than zero in `flag`, which is in pinned memory.
inline bool holds(const std::uint32_t& flag) {
  return std::atomic_ref<std::uint32_t>(const_cast<std::uint32_t&>(flag))
             .load(std::memory_order_acquire) != 0;
}

/// Waits until a kernel of this host thread has stored `value` in `flag` (simt::store_to_host); the
/// caller then sees what the kernel wrote before. `flag` is in pinned memory. The call reports the
/// errors of launches before.
inline void wait_for_note(const std::uint32_t* flag, std::uint32_t value) {
#if defined(__CUDACC__)
  constexpr unsigned looks = 1 << 12;  // between two queries of the device's state
  auto* const word = const_cast<std::uint32_t*>(flag);
  const auto arrived = [&] {
    return std::atomic_ref<std::uint32_t>(*word).load(std::memory_order_acquire) == value;
  };
  for (unsigned k = 1;; ++k) {
    if (arrived()) return;
    if (k % looks != 0 || !is_done()) continue;
    if (arrived()) return;
    throw error(exit_code::run_failed, "kernel: it ended without what the host waits for");
  }
#else
  if (*flag != value) throw error(exit_code::run_failed, "kernel: no note for the host");
#endif
}

/// Work that the device does concurrently with the other work of this host thread. The caller may
/// free the memory that this work uses only after join().
class side_work {
 public:
  side_work() = default;
  side_work(const side_work&) = delete;
  side_work& operator=(const side_work&) = delete;
#if defined(__CUDACC__)
  ~side_work() {
    if (stream_ == nullptr) return;
    cudaEventDestroy(mark_);
    cudaStreamDestroy(stream_);
  }
  /// What it is given from now on comes after all that this thread has given the device before.
  void begin() {
    if (stream_ == nullptr) {
      check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
      check(cudaEventCreateWithFlags(&mark_, cudaEventDisableTiming), "event");
    }
    check(cudaEventRecord(mark_, cudaStreamPerThread), "event");
    check(cudaStreamWaitEvent(stream_, mark_, 0), "event");
    begun_ = true;
  }
  /// What this thread gives the device from now on comes after it.
  void join() {
    if (!begun_) return;
    begun_ = false;
    check(cudaEventRecord(mark_, stream_), "event");
    check(cudaStreamWaitEvent(cudaStreamPerThread, mark_, 0), "event");
  }
  [[nodiscard]] cudaStream_t stream() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
  cudaEvent_t mark_ = nullptr;
  bool begun_ = false;
#else
  // The emulator does it at once.
  void begin() {}
  void join() {}
#endif
};

/// Launches a kernel whose blocks are guaranteed to be resident together; asynchronous. It belongs
/// to `beside`, if that is given.
template <class... P, class... A>
void launch_cooperative_beside([[maybe_unused]] const side_work* beside, void (*kernel)(P...),
                               int blocks, int threads, std::size_t shared_bytes, A... a) {
#if defined(__CUDACC__)
  std::tuple<P...> values(static_cast<P>(a)...);
  std::apply(
      [&](auto&... v) {
        void* pointers[] = {static_cast<void*>(&v)...};
        check(cudaLaunchCooperativeKernel(
                  reinterpret_cast<const void*>(kernel), dim3(static_cast<unsigned>(blocks)),
                  dim3(static_cast<unsigned>(threads)), pointers, shared_bytes,
                  beside != nullptr ? beside->stream() : nullptr),
              "cooperative launch");
      },
      values);
#else
  simt::emulator::run_grid(static_cast<unsigned>(blocks), static_cast<unsigned>(threads),
                           shared_bytes, true, [&] { kernel(static_cast<P>(a)...); });
#endif
}
template <class... P, class... A>
void launch_cooperative(void (*kernel)(P...), int blocks, int threads, std::size_t shared_bytes,
                        A... a) {
  launch_cooperative_beside(nullptr, kernel, blocks, threads, shared_bytes, a...);
}

#if defined(__CUDACC__)
/// The configuration of a launch of clusters of `cluster` blocks each.
struct cluster_launch {
  cudaLaunchAttribute attribute{};
  cudaLaunchConfig_t config{};

  cluster_launch(int clusters, int cluster, int threads, std::size_t shared_bytes) {
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {static_cast<unsigned>(cluster), 1, 1};
    config.gridDim = dim3(static_cast<unsigned>(clusters * cluster));
    config.blockDim = dim3(static_cast<unsigned>(threads));
    config.dynamicSmemBytes = shared_bytes;
    config.attrs = &attribute;
    config.numAttrs = 1;
  }
  cluster_launch(const cluster_launch&) = delete;
  cluster_launch& operator=(const cluster_launch&) = delete;
};
#endif

/// Clusters of a kernel that can be resident on the whole device at once; 0 where the device has no
/// clusters.
template <class... P>
int resident_clusters(void (*kernel)(P...), int cluster, int threads, std::size_t shared_bytes) {
#if defined(__CUDACC__)
  int device = 0;
  int supported = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&supported, cudaDevAttrClusterLaunch, device), "device attributes");
  if (supported == 0) return 0;
  int count = 0;
  constexpr int portable = 8;
  if (cluster > portable) {
    check(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                               cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
          "cluster size");
  }
  cluster_launch how(1, cluster, threads, shared_bytes);
  const cudaError_t status =
      cudaOccupancyMaxActiveClusters(&count, reinterpret_cast<const void*>(kernel), &how.config);
  if (cluster > portable && status != cudaSuccess) {
    (void)cudaGetLastError();
    return 0;
  }
  check(status, "occupancy");
  return count;
#else
  (void)kernel;
  (void)threads;
  (void)shared_bytes;
  return cluster > 1 ? 2 : 0;
#endif
}

template <class... P, class... A>
void launch_clusters(void (*kernel)(P...), int clusters, int cluster, int threads,
                     std::size_t shared_bytes, A... a) {
#if defined(__CUDACC__)
  cluster_launch how(clusters, cluster, threads, shared_bytes);
  check(cudaLaunchKernelEx(&how.config, kernel, static_cast<P>(a)...), "cluster launch");
#else
  simt::emulator::run_grid(
      static_cast<unsigned>(clusters * cluster), static_cast<unsigned>(threads), shared_bytes, true,
      [&] { kernel(static_cast<P>(a)...); }, static_cast<unsigned>(cluster));
#endif
}

#endif

}  // namespace gsofa::gpu
