#pragma once

/// The few services of a GPU runtime that the variants use, on CUDA or on the emulator of simt.hpp:
/// budgeted device memory, copies, pinned host memory, launches, limits of the device. Every host
/// thread has a stream of its own (nvcc --default-stream=per-thread): threads do not wait for each
/// other, and a thread that hands memory to another one calls synchronize() first.

#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/error.hpp"
#include "common/run_context.hpp"
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

/// Allocates from the current device's pool. What the pool keeps may lie in pieces none of which is
/// large enough: where the device has no more, these are unmapped first.
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
                         " needs " + std::to_string(bytes) + " beside " + std::to_string(used_));
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
  if (count == 0) return;
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

/// Launches of one host thread that are recorded once and repeated by one call. The launches must
/// depend on nothing but their arguments.
class launch_sequence {
 public:
  launch_sequence() = default;
  launch_sequence(const launch_sequence&) = delete;
  launch_sequence& operator=(const launch_sequence&) = delete;
  ~launch_sequence() { clear(); }

  /// Records the launches of `launches()`, which must have been launched before: kernels are loaded
  /// by their first launch. Nothing is recorded where the device does not support it.
  template <class Launches>
  void record([[maybe_unused]] Launches&& launches) {
    clear();
#if defined(__CUDACC__)
    cudaGraph_t graph = nullptr;
    check(cudaStreamBeginCapture(cudaStreamPerThread, cudaStreamCaptureModeThreadLocal), "capture");
    try {
      launches();
    } catch (...) {
      cudaStreamEndCapture(cudaStreamPerThread, &graph);
      if (graph != nullptr) cudaGraphDestroy(graph);
      throw;
    }
    check(cudaStreamEndCapture(cudaStreamPerThread, &graph), "capture");
    const cudaError_t made = cudaGraphInstantiate(&graph_, graph, 0);
    cudaGraphDestroy(graph);
    if (made != cudaSuccess) {
      (void)cudaGetLastError();
      graph_ = nullptr;
      return;
    }
    check(cudaGraphUpload(graph_, cudaStreamPerThread), "graph");
#endif
  }
  /// The same of launches that can be made at any time until clear(): the emulator, which records
  /// nothing, makes them again.
  void record_lasting(const std::function<void()>& launches) {
    record(launches);
#if !defined(__CUDACC__)
    again_ = launches;
#endif
  }
  [[nodiscard]] bool recorded() const {
#if defined(__CUDACC__)
    return graph_ != nullptr;
#else
    return again_ != nullptr;
#endif
  }
  /// Asynchronous.
  void launch() const {
#if defined(__CUDACC__)
    check(cudaGraphLaunch(graph_, cudaStreamPerThread), "graph launch");
#else
    again_();
#endif
  }
  void clear() {
#if defined(__CUDACC__)
    if (graph_ != nullptr) cudaGraphExecDestroy(graph_);
    graph_ = nullptr;
#else
    again_ = nullptr;
#endif
  }

 private:
#if defined(__CUDACC__)
  cudaGraphExec_t graph_ = nullptr;
#else
  std::function<void()> again_;
#endif
};

/// Work that the device does beside what this host thread gives it. Memory that it uses is given
/// back after join() alone.
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

/// Notes the time, in nanoseconds, at which all launches before have ended.
template <class Time>
GSOFA_KERNEL void note_time_kernel(Time* at) {
  simt::after_earlier_launches();
  if (simt::thread_index() == 0) *at = simt::device_time();
}

/// Splits the time of a run among phases without waiting between them: each mark is an event among
/// the launches of this host thread. Among recorded launches it is a launch that notes the time,
/// which takes a quarter of what an event does.
class device_phases {
 public:
  device_phases() = default;
  device_phases(const device_phases&) = delete;
  device_phases& operator=(const device_phases&) = delete;
#if defined(__CUDACC__)
  ~device_phases() {
    for (const cudaEvent_t e : events_) cudaEventDestroy(e);
  }
#endif

  /// Begins the first phase.
  void start(run_context& context, phase_id first) {
    marks_.clear();
    mark(context, first);
  }
  /// Launches after this call belong to `next`.
  void mark([[maybe_unused]] run_context& context, phase_id next) {
#if defined(__CUDACC__)
    if (marks_.size() == events_.size()) {
      cudaEvent_t event = nullptr;
      check(cudaEventCreate(&event), "event");
      events_.push_back(event);
    }
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    check(cudaStreamIsCapturing(cudaStreamPerThread, &status), "capture");
    recorded_ = status == cudaStreamCaptureStatusActive;
    if (recorded_) {
      launch_overlapping(note_time_kernel<unsigned long long>, 1, 32, 0, &notes_.at(marks_.size()));
    } else {
      // Memory cannot be allocated while launches are recorded, which have been launched before.
      if (notes_.empty()) notes_.assign(most_notes, 0);
      check(cudaEventRecord(events_[marks_.size()], cudaStreamPerThread), "event");
    }
#else
    context.phases.switch_to(next);
#endif
    marks_.push_back(next);
  }
  /// Waits for all launches and charges their times to the phases; the rest of the time remains
  /// with the phase of the host.
  void finish(run_context& context) {
    end(context);
    settle(context);
  }
  /// Ends the last phase; asynchronous.
  void end(run_context& context) {
    const phase_id last = marks_.back();
    mark(context, last);
  }
  /// Waits for all launches up to end(), which may be recorded ones, and charges their times.
  void settle([[maybe_unused]] run_context& context) {
    synchronize();
#if defined(__CUDACC__)
    for (std::size_t k = 0; k + 1 < marks_.size(); ++k) {
      if (recorded_) {
        context.phases.charge(marks_[k], 1e-9 * static_cast<double>(notes_[k + 1] - notes_[k]));
        continue;
      }
      float ms = 0;
      check(cudaEventElapsedTime(&ms, events_[k], events_[k + 1]), "event");
      context.phases.charge(marks_[k], 1e-3 * static_cast<double>(ms));
    }
#endif
  }

 private:
  std::vector<phase_id> marks_;
#if defined(__CUDACC__)
  static constexpr std::size_t most_notes = 16;  // recorded launches have fewer marks
  std::vector<cudaEvent_t> events_;
  pinned_vector<unsigned long long> notes_;  // of recorded launches
  bool recorded_ = false;                    // notes_ has the times of the marks
#endif
};

#endif

}  // namespace gsofa::gpu
