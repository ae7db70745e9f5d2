#include <dlfcn.h>

#include "harness/library/metis/order_call.hpp"

namespace gsofa::metis_abi {

namespace {

// A function of a library that is loaded, in the scope of that library; null if there is none.
void* in_scope_of(const void* address, const char* name) {
  Dl_info library{};
  if (dladdr(address, &library) == 0 || library.dli_fname == nullptr) return nullptr;
  void* const scope = dlopen(library.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (scope == nullptr) return nullptr;
  void* const found = dlsym(scope, name);
  dlclose(scope);
  return found;
}

// Whether a function is that of a drop-in: this one, that of the other width, or another copy. Two
// of them would call each other for ever.
bool is_of_drop_in(void* function) {
  void* const marker = in_scope_of(function, "gsofa_metis_drop_in");
  Dl_info of_function{}, of_marker{};
  return marker != nullptr && dladdr(function, &of_function) != 0 &&
         dladdr(marker, &of_marker) != 0 && of_function.dli_fbase == of_marker.dli_fbase;
}

}  // namespace

void* next_metis::address_of(const char* name) const {
  void* const next = dlsym(RTLD_NEXT, name);
  if (next != nullptr && !is_of_drop_in(next)) return next;
  void* const of_caller = in_scope_of(caller_, name);
  return of_caller == nullptr || is_of_drop_in(of_caller) ? nullptr : of_caller;
}

}  // namespace gsofa::metis_abi
