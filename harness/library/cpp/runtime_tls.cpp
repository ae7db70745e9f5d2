// The C++ run-time keeps the exceptions of a thread in a thread-local block of libstdc++.so. If a
// program that does not link libstdc++ loads libgsofa.so by dlopen(), the dynamic linker allocates
// that block where a thread throws or catches for the first time, and ends the process if there is
// no memory: just where the library is about to report that. A reference by a TLS descriptor makes
// glibc reserve the block (32 bytes) in the static area of every thread while it loads the library,
// if the area has room, and changes nothing if it has not. CMake compiles this file with TLS
// descriptors.

#include <mutex>

#if defined(GSOFA_TLS_DESCRIPTORS) && defined(__GLIBCXX__) && defined(_GLIBCXX_HAVE_TLS)

namespace gsofa::library {

// std::call_once declares the variable; nothing reads it here.
[[gnu::used]] const void* address_in_runtime_tls() { return &std::__once_callable; }

}  // namespace gsofa::library

#endif
