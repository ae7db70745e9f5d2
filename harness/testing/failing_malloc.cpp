// Test aid, preloaded or linked: malloc and the like, of which chosen calls fail as if memory had
// run out, and threads that the system refuses (failing_malloc.hpp).

#include "harness/testing/failing_malloc.hpp"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <new>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define GSOFA_OPERATOR_NEW_ONLY 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define GSOFA_OPERATOR_NEW_ONLY 1
#endif
#endif

namespace {

constexpr long unlimited = std::numeric_limits<long>::max();
constinit std::atomic<long> made{0}, live{0}, first_failing{0}, last_failing{0}, largest{0};
constinit std::atomic<long> size_limit{unlimited};

bool fails(std::size_t bytes) {
  const long size = static_cast<long>(bytes);
  for (long most = largest.load(std::memory_order_relaxed);
       size > most && !largest.compare_exchange_weak(most, size, std::memory_order_relaxed);) {
  }
  const long mine = made.fetch_add(1, std::memory_order_relaxed) + 1;
  const bool is_too_large = bytes > static_cast<std::size_t>(size_limit.load());
  if (!is_too_large && (mine < first_failing.load(std::memory_order_relaxed) ||
                        mine > last_failing.load(std::memory_order_relaxed))) {
    return false;
  }
  errno = ENOMEM;
  return true;
}

}  // namespace

extern "C" {

void fail_allocations(long first, long last) {
  last_failing = 0;
  made = 0;
  largest = 0;
  size_limit = unlimited;
  first_failing = first;
  last_failing = last;
}
void limit_allocations(long bytes) { size_limit = bytes; }
long live_allocations() { return live; }
long allocations_made() { return made; }
long largest_allocation() { return largest; }
}

#ifdef GSOFA_OPERATOR_NEW_ONLY

// Sanitizers have a malloc of their own.
namespace {

void* block_of(std::size_t size, std::size_t alignment) {
  if (fails(size)) return nullptr;
  if (size == 0) size = 1;
  if (alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__) return std::malloc(size);
  void* block = nullptr;
  return ::posix_memalign(&block, alignment, size) == 0 ? block : nullptr;
}

void* block_or_throw(std::size_t size, std::size_t alignment) {
  void* block = block_of(size, alignment);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

constexpr std::size_t usual = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

}  // namespace

void* operator new(std::size_t n) { return block_or_throw(n, usual); }
void* operator new[](std::size_t n) { return block_or_throw(n, usual); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return block_of(n, usual); }
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return block_of(n, usual); }
void* operator new(std::size_t n, std::align_val_t a) {
  return block_or_throw(n, static_cast<std::size_t>(a));
}
void* operator new[](std::size_t n, std::align_val_t a) {
  return block_or_throw(n, static_cast<std::size_t>(a));
}
void* operator new(std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return block_of(n, static_cast<std::size_t>(a));
}
void* operator new[](std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return block_of(n, static_cast<std::size_t>(a));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t, const std::nothrow_t&) noexcept { std::free(p); }

#else

namespace {

constinit std::atomic<long> allowed_threads{unlimited};

void* counted(void* block) {
  if (block != nullptr) live.fetch_add(1, std::memory_order_relaxed);
  return block;
}

}  // namespace

extern "C" {
// glibc's own, under the names that stay when malloc is replaced.
void* __libc_malloc(std::size_t);                 // NOLINT
void* __libc_calloc(std::size_t, std::size_t);    // NOLINT
void* __libc_realloc(void*, std::size_t);         // NOLINT
void* __libc_memalign(std::size_t, std::size_t);  // NOLINT
void __libc_free(void*);                          // NOLINT

void allow_threads(long count) { allowed_threads = count; }

int pthread_create(pthread_t* out, const pthread_attr_t* how, void* (*body)(void*), void* what) {
  using function = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  if (allowed_threads.fetch_sub(1) <= 0) {
    allowed_threads = 0;
    return EAGAIN;
  }
  return reinterpret_cast<function*>(dlsym(RTLD_NEXT, "pthread_create"))(out, how, body, what);
}

void* malloc(std::size_t bytes) { return fails(bytes) ? nullptr : counted(__libc_malloc(bytes)); }
void* calloc(std::size_t count, std::size_t bytes) {
  return fails(count * bytes) ? nullptr : counted(__libc_calloc(count, bytes));
}
void* realloc(void* old, std::size_t bytes) {
  if (fails(bytes)) return nullptr;
  void* block = __libc_realloc(old, bytes);
  return old == nullptr ? counted(block) : block;
}
void* memalign(std::size_t alignment, std::size_t bytes) {
  return fails(bytes) ? nullptr : counted(__libc_memalign(alignment, bytes));
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) { return memalign(alignment, bytes); }
void free(void* block) {
  if (block != nullptr) live.fetch_sub(1, std::memory_order_relaxed);
  __libc_free(block);
}
int posix_memalign(void** out, std::size_t alignment, std::size_t bytes) {
  void* block = memalign(alignment, bytes);
  if (block == nullptr) return ENOMEM;
  *out = block;
  return 0;
}

}  // extern "C"

#endif
