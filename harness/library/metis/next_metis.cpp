#include <dlfcn.h>
#include <link.h>

#include <string>

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

// Whether a function belongs to a drop-in: to this one, that of the other width, or another copy.
// Two drop-ins would call each other for ever.
bool is_of_drop_in(void* function) { return beside(function, "gsofa_metis_drop_in") != nullptr; }

}  // namespace

void* beside(void* function, const char* name) {
  void* const found = in_scope_of(function, name);
  Dl_info of_function{}, of_found{};
  const bool same = found != nullptr && dladdr(function, &of_function) != 0 &&
                    dladdr(found, &of_found) != 0 && of_function.dli_fbase == of_found.dli_fbase;
  return same ? found : nullptr;
}

void* hidden_function(const char* name, const void* caller) {
  void* const of_caller = in_scope_of(caller, name);
  if (of_caller != nullptr && !is_of_drop_in(of_caller)) return of_caller;
  void* const next = dlsym(RTLD_NEXT, name);
  return next == nullptr || is_of_drop_in(next) ? nullptr : next;
}

std::string another_metis() {
  std::string found;
  // When a process ends, dlopen() would initialize a library again.
  const auto look = [](dl_phdr_info* library, std::size_t, void* out) {
    const std::string name = library->dlpi_name == nullptr ? "" : library->dlpi_name;
    if (name.find("libmetis") == std::string::npos) return 0;
    *static_cast<std::string*>(out) = name;
    return 1;
  };
  dl_iterate_phdr(look, &found);
  return found;
}

}  // namespace gsofa::metis_abi
