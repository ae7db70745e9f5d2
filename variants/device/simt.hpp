#pragma once

/// One source for kernels, two compilers. Under nvcc this is CUDA. Under a host compiler with
/// GSOFA_EMULATE_GPU the same kernels run on the CPU: every thread of a grid is a fiber, all on one
/// operating-system thread, switched at barriers, warp collectives, atomics and yields in an order
/// that a seed shuffles. The emulator finds missing barriers, stale reads and wrong index
/// arithmetic without a GPU, and makes every GPU variant testable in continuous integration.
/// Kernels compiled with -fsanitize=thread, whose callbacks interleaving/accesses.cpp defines, are
/// also switched before loads and stores. This finds data that threads share without an atomic
/// operation or a barrier. The emulator does not model weak memory: a write is visible at once.
///
/// Kernels are one-dimensional, take their dynamic shared memory through shared_memory<T>(), and
/// use only the operations that this header declares.

#include <cstddef>
#include <cstdint>

#if defined(__CUDACC__)

#include <cuda_runtime.h>

#define GSOFA_DEVICE __device__ __forceinline__
#define GSOFA_KERNEL static __global__
/// A kernel of at most `threads` threads per block.
#define GSOFA_BOUNDED_KERNEL(threads) static __global__ __launch_bounds__(threads, 1)
/// A kernel with at most `threads` threads per block, whose registers allow `blocks` resident
/// blocks per multiprocessor.
#define GSOFA_RESIDENT_KERNEL(threads, blocks) static __global__ __launch_bounds__(threads, blocks)
/// The next loop has a constant number of steps; the compiler makes its counter a constant in each.
#define GSOFA_UNROLL _Pragma("unroll")
/// The next loop is not unrolled: a loop counter is cheaper than code that exceeds the instruction
/// cache.
#define GSOFA_KEEP_LOOP _Pragma("unroll 1")
/// A function that is not inlined: one copy of its code per kernel.
#define GSOFA_SHARED_CODE static __device__ __noinline__
#define GSOFA_GPU 1

namespace gsofa::simt {

/// No-op: only the emulator (below) has a seed; a device orders its threads itself.
namespace emulator {
inline void set_seed(std::uint64_t) {}
}  // namespace emulator

GSOFA_DEVICE unsigned thread_index() { return threadIdx.x; }
GSOFA_DEVICE unsigned block_index() { return blockIdx.x; }
GSOFA_DEVICE unsigned block_size() { return blockDim.x; }
GSOFA_DEVICE unsigned grid_size() { return gridDim.x; }
GSOFA_DEVICE void sync_block() { __syncthreads(); }
/// A barrier of the block; returns whether `predicate` is true in any of its threads.
GSOFA_DEVICE bool sync_block_or(bool predicate) { return __syncthreads_or(predicate ? 1 : 0) != 0; }
GSOFA_DEVICE void sync_warp() { __syncwarp(); }
/// Blocks of a cluster run at the same time. Devices before compute capability 9.0 have no
/// clusters: there every block is its own cluster.
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
GSOFA_DEVICE unsigned cluster_size() { return __clusterSizeInBlocks(); }
GSOFA_DEVICE unsigned cluster_rank() { return __clusterRelativeBlockRank(); }
/// A barrier of all threads of the cluster; release and acquire at cluster scope.
GSOFA_DEVICE void sync_cluster() {
  __syncwarp();
  __cluster_barrier_arrive();
  __cluster_barrier_wait();
}
#else
GSOFA_DEVICE unsigned cluster_size() { return 1; }
GSOFA_DEVICE unsigned cluster_rank() { return 0; }
GSOFA_DEVICE void sync_cluster() { __syncthreads(); }
#endif

/// The first statement of a kernel that launch_overlapping() launches: it lets the next launch
/// begin, and returns when the earlier launches have ended and their writes are visible.
GSOFA_DEVICE void after_earlier_launches() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

GSOFA_DEVICE unsigned ballot(bool predicate) { return __ballot_sync(0xffffffffU, predicate); }
template <class T>
GSOFA_DEVICE T shuffle(T value, unsigned lane) {
  return __shfl_sync(0xffffffffU, value, static_cast<int>(lane));
}
template <class T>
GSOFA_DEVICE T shuffle_xor(T value, unsigned mask) {
  return __shfl_xor_sync(0xffffffffU, value, static_cast<int>(mask));
}
template <class T>
GSOFA_DEVICE T shuffle_up(T value, unsigned delta) {
  return __shfl_up_sync(0xffffffffU, value, delta);
}
template <class T>
GSOFA_DEVICE T shuffle_down(T value, unsigned delta) {
  return __shfl_down_sync(0xffffffffU, value, delta);
}
/// The lanes whose value equals this lane's value.
GSOFA_DEVICE unsigned lanes_with(std::uint32_t value) {
  return __match_any_sync(0xffffffffU, value);
}
/// OR over the warp, in every lane.
GSOFA_DEVICE std::uint32_t or_of_warp(std::uint32_t value) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  return __reduce_or_sync(0xffffffffU, value);
#else
  for (unsigned step = 16; step > 0; step /= 2) value |= shuffle_xor(value, step);
  return value;
#endif
}

/// The maximum over the warp, in every lane.
GSOFA_DEVICE std::uint32_t max_of_warp(std::uint32_t value) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  return __reduce_max_sync(0xffffffffU, value);
#else
  for (unsigned step = 16; step > 0; step /= 2) {
    const std::uint32_t other = shuffle_xor(value, step);
    value = other > value ? other : value;
  }
  return value;
#endif
}
/// The sum over the warp, in every lane.
GSOFA_DEVICE std::uint32_t add_of_warp(std::uint32_t value) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  return __reduce_add_sync(0xffffffffU, value);
#else
  for (unsigned step = 16; step > 0; step /= 2) value += shuffle_xor(value, step);
  return value;
#endif
}

template <class T>
GSOFA_DEVICE T* shared_memory() {
  extern __shared__ __align__(16) unsigned char gsofa_shared_bytes[];
  return reinterpret_cast<T*>(gsofa_shared_bytes);
}

GSOFA_DEVICE std::uint32_t atomic_add(std::uint32_t* p, std::uint32_t v) { return atomicAdd(p, v); }
GSOFA_DEVICE unsigned long long atomic_add(unsigned long long* p, unsigned long long v) {
  return atomicAdd(p, v);
}
GSOFA_DEVICE std::uint64_t atomic_add(std::uint64_t* p, std::uint64_t v) {
  return atomicAdd(reinterpret_cast<unsigned long long*>(p), static_cast<unsigned long long>(v));
}
GSOFA_DEVICE std::uint32_t atomic_min(std::uint32_t* p, std::uint32_t v) { return atomicMin(p, v); }
GSOFA_DEVICE std::uint64_t atomic_min(std::uint64_t* p, std::uint64_t v) {
  return atomicMin(reinterpret_cast<unsigned long long*>(p), static_cast<unsigned long long>(v));
}
GSOFA_DEVICE std::uint32_t atomic_max(std::uint32_t* p, std::uint32_t v) { return atomicMax(p, v); }
GSOFA_DEVICE std::uint32_t atomic_or(std::uint32_t* p, std::uint32_t v) { return atomicOr(p, v); }
GSOFA_DEVICE std::uint64_t atomic_or(std::uint64_t* p, std::uint64_t v) {
  static_assert(sizeof(unsigned long long) == 8);
  return atomicOr(reinterpret_cast<unsigned long long*>(p), static_cast<unsigned long long>(v));
}
GSOFA_DEVICE std::uint32_t atomic_and(std::uint32_t* p, std::uint32_t v) { return atomicAnd(p, v); }
GSOFA_DEVICE std::uint32_t atomic_exchange(std::uint32_t* p, std::uint32_t v) {
  return atomicExch(p, v);
}
GSOFA_DEVICE std::uint64_t atomic_exchange(std::uint64_t* p, std::uint64_t v) {
  return atomicExch(reinterpret_cast<unsigned long long*>(p), static_cast<unsigned long long>(v));
}
GSOFA_DEVICE unsigned short atomic_cas(unsigned short* p, unsigned short expected,
                                       unsigned short desired) {
  return atomicCAS(p, expected, desired);
}
GSOFA_DEVICE std::uint32_t atomic_cas(std::uint32_t* p, std::uint32_t expected,
                                      std::uint32_t desired) {
  return atomicCAS(p, expected, desired);
}
GSOFA_DEVICE std::uint64_t atomic_cas(std::uint64_t* p, std::uint64_t expected,
                                      std::uint64_t desired) {
  return atomicCAS(reinterpret_cast<unsigned long long*>(p),
                   static_cast<unsigned long long>(expected),
                   static_cast<unsigned long long>(desired));
}
/// *p += 1; returns the old value. The call releases, at device scope, everything that this thread
/// did before it and everything that other threads of its block or warp did before a barrier that
/// this thread passed; it acquires likewise. All calls on one word form a release sequence: the
/// caller that gets the last value sees what every earlier caller released.
GSOFA_DEVICE std::uint32_t atomic_increment_acq_rel(std::uint32_t* p) {
  std::uint32_t old;
  asm volatile("atom.add.acq_rel.gpu.u32 %0, [%1], 1;" : "=r"(old) : "l"(p) : "memory");
  return old;
}

/// Stores to memory that the host reads while the kernel runs; the store releases this thread's
/// earlier writes.
GSOFA_DEVICE void store_to_host(std::uint32_t* p, std::uint32_t v) {
  asm volatile("st.release.sys.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}

/// A load of a word that other threads of the grid may be writing; its value is never cached in a
/// register or in L1.
template <class T>
GSOFA_DEVICE T load_shared_state(const T* p) {
  return *static_cast<const volatile T*>(p);
}
/// A load of data that no thread of the launch writes.
template <class T>
GSOFA_DEVICE T load_constant(const T* p) {
  return __ldg(p);
}

/// Fetches the cache line of p into L1 for a plain load that follows soon.
GSOFA_DEVICE void prefetch(const void* p) { asm volatile("prefetch.L1 [%0];" ::"l"(p)); }

GSOFA_DEVICE unsigned population(std::uint32_t x) { return static_cast<unsigned>(__popc(x)); }
GSOFA_DEVICE unsigned population(std::uint64_t x) { return static_cast<unsigned>(__popcll(x)); }
/// x rotated left by `count` bits.
GSOFA_DEVICE std::uint32_t rotate_left(std::uint32_t x, unsigned count) {
  return __funnelshift_l(x, x, count);
}
/// Index of the highest set bit; x != 0.
GSOFA_DEVICE unsigned highest_bit(std::uint64_t x) {
  return 63U - static_cast<unsigned>(__clzll(static_cast<long long>(x)));
}
/// Index of the lowest set bit; x != 0.
GSOFA_DEVICE unsigned lowest_bit(std::uint32_t x) { return static_cast<unsigned>(__ffs(x)) - 1; }
GSOFA_DEVICE unsigned lowest_bit(std::uint64_t x) {
  return static_cast<unsigned>(__ffsll(static_cast<long long>(x))) - 1;
}
/// Orders this thread's accesses before the fence before its accesses after the fence, at block
/// scope.
GSOFA_DEVICE void fence_block() { __threadfence_block(); }
/// Yields to other threads; does not order memory.
GSOFA_DEVICE void pause() { __nanosleep(100); }
/// Nanoseconds by a clock that all multiprocessors share; the clock advances in steps of some tens
/// of nanoseconds or more.
GSOFA_DEVICE unsigned long long device_time() {
  unsigned long long t = 0;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
  return t;
}
/// Cycles of this multiprocessor.
GSOFA_DEVICE unsigned long long cycles() { return static_cast<unsigned long long>(clock64()); }

}  // namespace gsofa::simt

#elif defined(GSOFA_EMULATE_GPU)

#include <bit>
#include <functional>

#define GSOFA_DEVICE inline
#define GSOFA_KERNEL static
#define GSOFA_BOUNDED_KERNEL(threads) static
#define GSOFA_RESIDENT_KERNEL(threads, blocks) static
#define GSOFA_UNROLL
#define GSOFA_KEEP_LOOP
#define GSOFA_SHARED_CODE static
#define GSOFA_GPU 1
/// A function that is atomic for the emulator: no fiber switches at its loads and stores.
#define GSOFA_ONE_STEP __attribute__((no_sanitize("thread")))

namespace gsofa::simt {

namespace emulator {

/// Runs `body` once per thread of `blocks` blocks of `threads` threads (a multiple of 32), each
/// block with `shared_bytes` of shared memory (filled with a pattern, because a GPU does not clear
/// it). A few blocks at a time run in shuffled order, or all at once if `cooperative`; `cluster`
/// consecutive blocks are a cluster, which needs `cooperative`. Throws std::logic_error on a
/// deadlock: threads of a warp or block at different barriers.
void run_grid(unsigned blocks, unsigned threads, std::size_t shared_bytes, bool cooperative,
              const std::function<void()>& body, unsigned cluster = 1);

/// Reseeds the order in which fibers run.
void set_seed(std::uint64_t seed);

/// Lets other fibers run before one in `accesses` loads and stores of instrumented kernels; 0 (the
/// initial value): never.
void switch_at_accesses(unsigned accesses);
[[nodiscard]] bool switches_at_accesses();
/// An instrumented kernel is about to load from or store to this address.
void before_access(const void* address);

unsigned thread_index();
unsigned block_index();
unsigned block_size();
unsigned grid_size();
void* shared_bytes();
void barrier_block();
/// A barrier of the block; returns whether `predicate` is true in any of its threads.
bool barrier_block_or(bool predicate);
void barrier_grid();
void barrier_cluster();
unsigned cluster_size();
/// Collectives of a warp.
enum class collective : std::uint8_t { barrier, vote, shuffle, match, disjunction, maximum, sum };
/// All 32 lanes contribute a word; each gets the array of all words. Throws std::logic_error if
/// lanes call different collectives.
const std::uint64_t* exchange_warp(std::uint64_t mine, collective kind);
/// May let other fibers run.
void maybe_yield();

}  // namespace emulator

inline unsigned thread_index() { return emulator::thread_index(); }
inline unsigned block_index() { return emulator::block_index(); }
inline unsigned block_size() { return emulator::block_size(); }
inline unsigned grid_size() { return emulator::grid_size(); }
inline void sync_block() { emulator::barrier_block(); }
inline bool sync_block_or(bool predicate) { return emulator::barrier_block_or(predicate); }
inline void sync_warp() { emulator::exchange_warp(0, emulator::collective::barrier); }
inline void sync_grid() { emulator::barrier_grid(); }
inline unsigned cluster_size() { return emulator::cluster_size(); }
inline unsigned cluster_rank() { return emulator::block_index() % emulator::cluster_size(); }
inline void sync_cluster() { emulator::barrier_cluster(); }
inline void after_earlier_launches() {}

GSOFA_ONE_STEP inline unsigned ballot(bool predicate) {
  const std::uint64_t* all = emulator::exchange_warp(predicate ? 1 : 0, emulator::collective::vote);
  unsigned bits = 0;
  for (unsigned lane = 0; lane < 32; ++lane) bits |= static_cast<unsigned>(all[lane]) << lane;
  return bits;
}
template <class T>
GSOFA_ONE_STEP T shuffle(T value, unsigned lane) {
  static_assert(sizeof(T) <= 8);
  return static_cast<T>(emulator::exchange_warp(static_cast<std::uint64_t>(value),
                                                emulator::collective::shuffle)[lane & 31U]);
}
template <class T>
T shuffle_xor(T value, unsigned mask) {
  return shuffle(value, (thread_index() & 31U) ^ mask);
}
template <class T>
T shuffle_up(T value, unsigned delta) {
  const unsigned lane = thread_index() & 31U;
  return shuffle(value, lane >= delta ? lane - delta : lane);
}
template <class T>
T shuffle_down(T value, unsigned delta) {
  const unsigned lane = thread_index() & 31U;
  return shuffle(value, lane + delta < 32 ? lane + delta : lane);
}
GSOFA_ONE_STEP inline unsigned lanes_with(std::uint32_t value) {
  const std::uint64_t* all = emulator::exchange_warp(value, emulator::collective::match);
  unsigned bits = 0;
  for (unsigned lane = 0; lane < 32; ++lane) bits |= (all[lane] == value ? 1U : 0U) << lane;
  return bits;
}
GSOFA_ONE_STEP inline std::uint32_t or_of_warp(std::uint32_t value) {
  const std::uint64_t* all = emulator::exchange_warp(value, emulator::collective::disjunction);
  std::uint64_t sum = 0;
  for (unsigned lane = 0; lane < 32; ++lane) sum |= all[lane];
  return static_cast<std::uint32_t>(sum);
}

GSOFA_ONE_STEP inline std::uint32_t max_of_warp(std::uint32_t value) {
  const std::uint64_t* all = emulator::exchange_warp(value, emulator::collective::maximum);
  std::uint64_t most = 0;
  for (unsigned lane = 0; lane < 32; ++lane) most = all[lane] > most ? all[lane] : most;
  return static_cast<std::uint32_t>(most);
}
GSOFA_ONE_STEP inline std::uint32_t add_of_warp(std::uint32_t value) {
  const std::uint64_t* all = emulator::exchange_warp(value, emulator::collective::sum);
  std::uint64_t sum = 0;
  for (unsigned lane = 0; lane < 32; ++lane) sum += all[lane];
  return static_cast<std::uint32_t>(sum);
}

template <class T>
T* shared_memory() {
  return static_cast<T*>(emulator::shared_bytes());
}

template <class T>
GSOFA_ONE_STEP T atomic_add(T* p, T v) {
  emulator::maybe_yield();
  const T old = *p;
  *p = static_cast<T>(old + v);
  return old;
}
template <class T>
GSOFA_ONE_STEP T atomic_min(T* p, T v) {
  emulator::maybe_yield();
  const T old = *p;
  if (v < old) *p = v;
  return old;
}
template <class T>
GSOFA_ONE_STEP T atomic_max(T* p, T v) {
  emulator::maybe_yield();
  const T old = *p;
  if (v > old) *p = v;
  return old;
}
template <class T>
GSOFA_ONE_STEP T atomic_or(T* p, T v) {
  emulator::maybe_yield();
  const T old = *p;
  *p = old | v;
  return old;
}
template <class T>
GSOFA_ONE_STEP T atomic_and(T* p, T v) {
  emulator::maybe_yield();
  const T old = *p;
  *p = old & v;
  return old;
}
template <class T>
GSOFA_ONE_STEP T atomic_exchange(T* p, T v) {
  emulator::maybe_yield();
  const T old = *p;
  *p = v;
  return old;
}
template <class T>
GSOFA_ONE_STEP T atomic_cas(T* p, T expected, T desired) {
  emulator::maybe_yield();
  const T old = *p;
  if (old == expected) *p = desired;
  return old;
}
GSOFA_ONE_STEP inline std::uint32_t atomic_increment_acq_rel(std::uint32_t* p) {
  emulator::maybe_yield();
  return (*p)++;
}
GSOFA_ONE_STEP inline void store_to_host(std::uint32_t* p, std::uint32_t v) { *p = v; }
template <class T>
GSOFA_ONE_STEP T load_shared_state(const T* p) {
  emulator::maybe_yield();
  return *p;
}
template <class T>
GSOFA_ONE_STEP T load_constant(const T* p) {
  return *p;
}
inline void prefetch(const void*) {}
inline unsigned population(std::uint32_t x) { return static_cast<unsigned>(std::popcount(x)); }
inline unsigned population(std::uint64_t x) { return static_cast<unsigned>(std::popcount(x)); }
inline std::uint32_t rotate_left(std::uint32_t x, unsigned count) {
  return std::rotl(x, static_cast<int>(count));
}
inline unsigned highest_bit(std::uint64_t x) {
  return 63U - static_cast<unsigned>(std::countl_zero(x));
}
inline unsigned lowest_bit(std::uint32_t x) { return static_cast<unsigned>(std::countr_zero(x)); }
inline unsigned lowest_bit(std::uint64_t x) { return static_cast<unsigned>(std::countr_zero(x)); }
inline void fence_block() {}
inline void pause() {
  for (int k = 0; k < 8; ++k) emulator::maybe_yield();
}
/// The clock of the emulator advances by one at each call.
inline unsigned long long device_time() {
  static unsigned long long steps = 0;
  return ++steps;
}
inline unsigned long long cycles() { return device_time(); }

}  // namespace gsofa::simt

#endif
