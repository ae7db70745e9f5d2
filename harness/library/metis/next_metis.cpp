#include <dlfcn.h>

#include "harness/library/metis/order_call.hpp"

namespace gsofa::metis_abi {

void* next_metis::address_of(const char* name) const {
  if (void* const found = dlsym(RTLD_NEXT, name)) return found;
  Dl_info caller{}, found{}, own{};
  if (dladdr(caller_, &caller) == 0 || caller.dli_fname == nullptr) return nullptr;
  void* const scope = dlopen(caller.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (scope == nullptr) return nullptr;
  void* const function = dlsym(scope, name);
  dlclose(scope);
  static const char here = 0;
  const bool is_own = function != nullptr && dladdr(function, &found) != 0 &&
                      dladdr(&here, &own) != 0 && found.dli_fbase == own.dli_fbase;
  return is_own ? nullptr : function;
}

}  // namespace gsofa::metis_abi
