// Test aid, preloaded or linked: malloc and the like, of which chosen calls fail as if memory had
// run out, and threads that the system refuses. GSOFA_FAIL_ALLOCATION=K makes the K-th allocation
// of the process fail (from 1), K+ the K-th and all later ones; programs may choose themselves by
// the functions of failing_malloc.hpp.

#include "harness/testing/failing_malloc.hpp"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <limits>

extern "C" {
// glibc's own, under the names that stay when malloc is replaced.
void* __libc_malloc(std::size_t);                 // NOLINT
void* __libc_calloc(std::size_t, std::size_t);    // NOLINT
void* __libc_realloc(void*, std::size_t);         // NOLINT
void* __libc_memalign(std::size_t, std::size_t);  // NOLINT
void __libc_free(void*);                          // NOLINT
}

namespace {

constinit std::atomic<long> allowed_threads{std::numeric_limits<long>::max()};
constinit std::atomic<long> made{0}, live{0}, first_failing{0}, last_failing{0}, largest{0};

void* counted(void* block) {
  if (block != nullptr) live.fetch_add(1, std::memory_order_relaxed);
  return block;
}

bool fails(std::size_t bytes) {
  const long size = static_cast<long>(bytes);
  for (long most = largest.load(std::memory_order_relaxed);
       size > most && !largest.compare_exchange_weak(most, size, std::memory_order_relaxed);) {
  }
  const long mine = made.fetch_add(1, std::memory_order_relaxed) + 1;
  if (mine < first_failing.load(std::memory_order_relaxed) ||
      mine > last_failing.load(std::memory_order_relaxed)) {
    return false;
  }
  errno = ENOMEM;
  return true;
}

[[gnu::constructor]] void read_environment() {
  const char* text = std::getenv("GSOFA_FAIL_ALLOCATION");
  if (text == nullptr) return;
  char* end = nullptr;
  const long k = std::strtol(text, &end, 10);
  fail_allocations(k, *end == '+' ? std::numeric_limits<long>::max() : k);
}

}  // namespace

extern "C" {

void fail_allocations(long first, long last) {
  last_failing = 0;
  made = 0;
  largest = 0;
  first_failing = first;
  last_failing = last;
}
long live_allocations() { return live; }
long allocations_made() { return made; }
long largest_allocation() { return largest; }
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
