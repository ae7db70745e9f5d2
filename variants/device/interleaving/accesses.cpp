// The functions that code compiled with -fsanitize=thread calls at every load and store, in a
// program that is linked without that option and so without ThreadSanitizer: each lets the emulator
// switch fibers. The names are those of the interface between compiler and runtime (LLVM,
// compiler-rt, lib/tsan/rtl/tsan_interface.h); GCC calls a part of them. This file is compiled
// without it.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "variants/device/simt.hpp"

using gsofa::simt::emulator::before_access;

#define GSOFA_ACCESS(name) \
  void __tsan_##name(void* address) { before_access(address); }
#define GSOFA_ACCESSES(size)          \
  GSOFA_ACCESS(read##size)            \
  GSOFA_ACCESS(write##size)           \
  GSOFA_ACCESS(read_write##size)      \
  GSOFA_ACCESS(unaligned_read##size)  \
  GSOFA_ACCESS(unaligned_write##size) \
  GSOFA_ACCESS(unaligned_read_write##size)

#define GSOFA_ATOMIC_UPDATE(bits, type, name)                                    \
  type __tsan_atomic##bits##_##name(volatile type* address, type operand, int) { \
    return __atomic_##name(address, operand, __ATOMIC_SEQ_CST);                  \
  }
#define GSOFA_ATOMIC_COMPARE(bits, type, name)                                              \
  int __tsan_atomic##bits##_compare_exchange_##name(volatile type* address, type* expected, \
                                                    type desired, int, int) {               \
    return __atomic_compare_exchange_n(address, expected, desired, false, __ATOMIC_SEQ_CST, \
                                       __ATOMIC_SEQ_CST)                                    \
               ? 1                                                                          \
               : 0;                                                                         \
  }
#define GSOFA_ATOMICS(bits, type)                                                \
  type __tsan_atomic##bits##_load(const volatile type* address, int) {           \
    return __atomic_load_n(address, __ATOMIC_SEQ_CST);                           \
  }                                                                              \
  void __tsan_atomic##bits##_store(volatile type* address, type value, int) {    \
    __atomic_store_n(address, value, __ATOMIC_SEQ_CST);                          \
  }                                                                              \
  type __tsan_atomic##bits##_exchange(volatile type* address, type value, int) { \
    return __atomic_exchange_n(address, value, __ATOMIC_SEQ_CST);                \
  }                                                                              \
  GSOFA_ATOMIC_UPDATE(bits, type, fetch_add)                                     \
  GSOFA_ATOMIC_UPDATE(bits, type, fetch_sub)                                     \
  GSOFA_ATOMIC_UPDATE(bits, type, fetch_and)                                     \
  GSOFA_ATOMIC_UPDATE(bits, type, fetch_or)                                      \
  GSOFA_ATOMIC_UPDATE(bits, type, fetch_xor)                                     \
  GSOFA_ATOMIC_COMPARE(bits, type, strong)                                       \
  GSOFA_ATOMIC_COMPARE(bits, type, weak)

// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" {

GSOFA_ACCESSES(1)
GSOFA_ACCESSES(2)
GSOFA_ACCESSES(4)
GSOFA_ACCESSES(8)
GSOFA_ACCESSES(16)

void __tsan_read_range(void* address, std::size_t) { before_access(address); }
void __tsan_write_range(void* address, std::size_t) { before_access(address); }
void* __tsan_memcpy(void* to, const void* from, std::size_t size) {
  before_access(from);
  before_access(to);
  return std::memcpy(to, from, size);
}
void* __tsan_memmove(void* to, const void* from, std::size_t size) {
  before_access(from);
  before_access(to);
  return std::memmove(to, from, size);
}
void* __tsan_memset(void* to, int byte, std::size_t size) {
  before_access(to);
  return std::memset(to, byte, size);
}

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_read(void**) {}
void __tsan_vptr_update(void**, void*) {}

// Atomics of the C++ library and the guards of static variables: they are of the host's threads, a
// kernel has its own. The order given is ignored, the strongest is right for all.
GSOFA_ATOMICS(8, std::uint8_t)
GSOFA_ATOMICS(16, std::uint16_t)
GSOFA_ATOMICS(32, std::uint32_t)
GSOFA_ATOMICS(64, std::uint64_t)
void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier)
