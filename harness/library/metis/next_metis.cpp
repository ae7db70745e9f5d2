#include <dlfcn.h>
#include <link.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

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

// The function `name` of the library that defines `function`; null if that library has none.
void* beside(void* function, const char* name) {
  void* const found = in_scope_of(function, name);
  Dl_info of_function{}, of_found{};
  const bool same = found != nullptr && dladdr(function, &of_function) != 0 &&
                    dladdr(found, &of_found) != 0 && of_function.dli_fbase == of_found.dli_fbase;
  return same ? found : nullptr;
}

// Whether a function belongs to a drop-in: to this one or to a copy. Two drop-ins would call each
// other for ever.
bool is_of_drop_in(void* function) { return beside(function, "gsofa_metis_drop_in") != nullptr; }

}  // namespace

void* hidden_function(const char* name, const void* caller) {
  void* const of_caller = in_scope_of(caller, name);
  if (of_caller != nullptr && !is_of_drop_in(of_caller)) return of_caller;
  void* const next = dlsym(RTLD_NEXT, name);
  return next == nullptr || is_of_drop_in(next) ? nullptr : next;
}

int default_index_bits() {
  const char* const set = std::getenv("GSOFA_METIS_INDEX_BITS");
  if (set != nullptr && *set != '\0') return std::string_view(set) == "64" ? 64 : 32;
  Dl_info self{};
  if (dladdr(reinterpret_cast<void*>(&default_index_bits), &self) == 0) return 32;
  const std::string_view file = self.dli_fname;
  return file.substr(file.rfind('/') + 1).starts_with("libgsofa_metis64.") ? 64 : 32;
}

int index_bits(const hidden& of) {
  const bool is_of_cholmod = std::string_view(of.name).starts_with("SuiteSparse");
  if (of.function == nullptr) return is_of_cholmod ? 64 : default_index_bits();
  const auto set = reinterpret_cast<int (*)(std::int32_t*)>(beside(of.function, of.set_defaults));
  if (set == nullptr) return is_of_cholmod ? 64 : 0;
  constexpr std::int32_t untouched = 0x5a5a5a5a;
  alignas(std::int64_t) std::array<std::int32_t, 2 * option_count> options{};
  options.fill(untouched);
  set(options.data());
  return options[option_count] == untouched ? 32 : 64;
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
