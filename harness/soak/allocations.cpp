#include "harness/soak/allocations.hpp"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define GSOFA_SOAK_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define GSOFA_SOAK_SANITIZED 1
#endif
#endif

namespace gsofa::soak {

namespace {

// Constant-initialised: allocations begin before any constructor runs.
constinit std::atomic<bool> watching{false};
constinit std::atomic<std::int64_t> count{0};
constinit allocation_rule rule_in_force{};

bool refused(std::size_t size) {
  if (!watching.load(std::memory_order_relaxed)) return false;
  const std::int64_t number = count.fetch_add(1, std::memory_order_relaxed) + 1;
  const allocation_rule& r = rule_in_force;
  return size > r.largest || (r.first > 0 && (r.all_after ? number >= r.first : number == r.first));
}

}  // namespace

void watch_allocations(const allocation_rule& rule) {
  watching = false;
  rule_in_force = rule;
  count = 0;
  watching = true;
}

std::int64_t unwatch_allocations() {
  watching = false;
  return count;
}

bool watches_malloc() {
#if defined(GSOFA_SOAK_SANITIZED) || !defined(__GLIBC__)
  return false;
#else
  return true;
#endif
}

}  // namespace gsofa::soak

using gsofa::soak::refused;

#if !defined(GSOFA_SOAK_SANITIZED) && defined(__GLIBC__)

// glibc lets a program define these; its own are then reached by the names that begin with __libc.
extern "C" {

void* __libc_malloc(std::size_t);                 // NOLINT(bugprone-reserved-identifier)
void* __libc_calloc(std::size_t, std::size_t);    // NOLINT(bugprone-reserved-identifier)
void* __libc_realloc(void*, std::size_t);         // NOLINT(bugprone-reserved-identifier)
void* __libc_memalign(std::size_t, std::size_t);  // NOLINT(bugprone-reserved-identifier)

void* malloc(std::size_t size) noexcept {
  if (refused(size)) {
    errno = ENOMEM;
    return nullptr;
  }
  return __libc_malloc(size);
}

void* calloc(std::size_t items, std::size_t size) noexcept {
  if (refused(items * size)) {
    errno = ENOMEM;
    return nullptr;
  }
  return __libc_calloc(items, size);
}

void* realloc(void* old, std::size_t size) noexcept {
  if (size > 0 && refused(size)) {
    errno = ENOMEM;
    return nullptr;
  }
  return __libc_realloc(old, size);
}

void* memalign(std::size_t alignment, std::size_t size) noexcept {
  if (refused(size)) {
    errno = ENOMEM;
    return nullptr;
  }
  return __libc_memalign(alignment, size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return memalign(alignment, size);
}

int posix_memalign(void** out, std::size_t alignment, std::size_t size) noexcept {
  const int before = errno;
  void* block = memalign(alignment, size);
  errno = before;
  if (block == nullptr) return ENOMEM;
  *out = block;
  return 0;
}
}

#else

namespace {

void* block_of(std::size_t size, std::size_t alignment) {
  if (refused(size)) return nullptr;
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

#endif
