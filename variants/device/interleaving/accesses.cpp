// The functions that code compiled with -fsanitize=thread calls at every load and store, in a
// program that is linked without that option and so without ThreadSanitizer: each lets the emulator
// switch fibers. The names are those of the interface between compiler and runtime (LLVM,
// compiler-rt, lib/tsan/rtl/tsan_interface.h); GCC calls a part of them. This file is compiled
// without it.

#include <cstddef>
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

// The guards of static variables, the only atomics of the C++ library in kernels, call this one.
char __tsan_atomic8_load(const volatile char* address, int) {
  return __atomic_load_n(address, __ATOMIC_SEQ_CST);
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier)
