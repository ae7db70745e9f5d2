// METIS_NodeND and METIS_NodeNDP by libgsofa, with the signatures of METIS 5.
//
// The loader finds these functions before those that they hide: hidden_function() finds the one
// that a call would have reached, by the name that was called, and index_bits() the width of its
// indices. So pointers have no type here. A number that is passed by value lies in a register of 64
// bits, of which a caller with indices of 32 bits sets the lower half. Arguments that are no graph,
// and a hidden function with another interface, are left to that function. README.md says what the
// environment changes.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "harness/library/metis/order_call.hpp"

using namespace gsofa::metis_abi;

#define GSOFA_METIS_EXPORT extern "C" [[gnu::visibility("default")]]

/// The mark of a drop-in: next_metis.cpp.
GSOFA_METIS_EXPORT const char gsofa_metis_drop_in;
const char gsofa_metis_drop_in = 0;

namespace {

constexpr const char* set_defaults_of_metis = "METIS_SetDefaultOptions";

// Runs call_of(Index{}) with the type of the caller's indices, or the hidden function if it has
// another interface.
template <class CallOf, class Original>
int in_width_of(const hidden& of, const CallOf& call_of, const Original& original) noexcept {
  was_called = true;
  const int bits = index_bits(of);
  if (bits == 0) return original();
  if (bits == 32) return run(call_of(std::int32_t{}), of.function, original);
  return run(call_of(std::int64_t{}), of.function, original);
}

int nodend(const hidden& of, void* nvtxs, void* xadj, void* adjncy, void* vwgt, void* options,
           void* perm, void* iperm) {
  const auto call_of = [&]<class Index>(Index zero) {
    const auto as = [](void* p) { return static_cast<Index*>(p); };
    const Index n = nvtxs == nullptr ? --zero : *as(nvtxs);
    return order_call<Index>{
        of.name, {n, as(xadj), as(adjncy), as(vwgt), as(options)}, as(perm), as(iperm)};
  };
  return in_width_of(of, call_of, [&] {
    using function = int(void*, void*, void*, void*, void*, void*, void*);
    return reinterpret_cast<function*>(of.function)(nvtxs, xadj, adjncy, vwgt, options, perm,
                                                    iperm);
  });
}

// METIS numbers the vertices from 0 here, whatever the options say, and its tree is that of a power
// of two: other arguments are left to the hidden function.
int nodendp(const hidden& of, std::int64_t nvtxs, void* xadj, void* adjncy, void* vwgt,
            std::int64_t npes, void* options, void* perm, void* iperm, void* sizes) {
  const auto call_of = [&]<class Index>(Index zero) {
    const auto as = [](void* p) { return static_cast<Index*>(p); };
    const auto parts = static_cast<std::uint64_t>(std::max(static_cast<Index>(npes), zero));
    const int levels = static_cast<int>(std::bit_width(parts));
    const bool has_tree = std::has_single_bit(parts) && levels <= gsofa::most_tree_levels &&
                          sizes != nullptr && numbering(as(options)) == 0;
    const Index n = has_tree ? static_cast<Index>(nvtxs) : --zero;
    return order_call<Index>{of.name,  {n, as(xadj), as(adjncy), as(vwgt), as(options)},
                             as(perm), as(iperm),
                             levels,   as(sizes)};
  };
  return in_width_of(of, call_of, [&] {
    using function =
        int(std::int64_t, void*, void*, void*, std::int64_t, void*, void*, void*, void*);
    return reinterpret_cast<function*>(of.function)(nvtxs, xadj, adjncy, vwgt, npes, options, perm,
                                                    iperm, sizes);
  });
}

int set_default_options(void* hidden, void* options) {
  if (hidden != nullptr) return reinterpret_cast<int (*)(void*)>(hidden)(options);
  const std::size_t bytes = option_count * static_cast<std::size_t>(default_index_bits()) / 8;
  std::memset(options, 0xff, bytes);  // -1
  return metis_ok;
}

int free_block(void* hidden, void* block) {
  if (hidden != nullptr) return reinterpret_cast<int (*)(void*)>(hidden)(block);
  std::free(block);
  return metis_ok;
}

// What GSOFA_VERBOSE=1 says when the process begins and ends.
[[gnu::constructor]] void say_loaded() {
  if (!is_verbose()) return;
  say("METIS_NodeND of libgsofa " + std::string(gsofa::version()) + " is loaded");
}

[[gnu::destructor]] void say_unused() {
  if (was_called || !is_verbose()) return;
  const std::string other = another_metis();
  if (other.empty()) return;
  say("nothing called METIS_NodeND of libgsofa; a call by a handle or RTLD_DEEPBIND reaches that "
      "of " +
      other);
}

}  // namespace

#define GSOFA_HIDDEN(name) hidden_function(name, __builtin_return_address(0))

GSOFA_METIS_EXPORT int METIS_NodeNDP(std::int64_t nvtxs, void* xadj, void* adjncy, void* vwgt,
                                     std::int64_t npes, void* options, void* perm, void* iperm,
                                     void* sizes) {
  const hidden of{"METIS_NodeNDP", GSOFA_HIDDEN("METIS_NodeNDP"), set_defaults_of_metis};
  return nodendp(of, nvtxs, xadj, adjncy, vwgt, npes, options, perm, iperm, sizes);
}

// NOLINTBEGIN(bugprone-macro-parentheses): names
#define GSOFA_NODEND_OF(name, set_defaults)                                                     \
  GSOFA_METIS_EXPORT int name(void* nvtxs, void* xadj, void* adjncy, void* vwgt, void* options, \
                              void* perm, void* iperm) {                                        \
    const hidden of{#name, GSOFA_HIDDEN(#name), set_defaults};                                  \
    return nodend(of, nvtxs, xadj, adjncy, vwgt, options, perm, iperm);                         \
  }
#define GSOFA_NODEND(name) GSOFA_NODEND_OF(name, set_defaults_of_metis)
#define GSOFA_SET_DEFAULT_OPTIONS(name)                       \
  GSOFA_METIS_EXPORT int name(void* options) {                \
    return set_default_options(GSOFA_HIDDEN(#name), options); \
  }
#define GSOFA_FREE(name) \
  GSOFA_METIS_EXPORT int name(void* block) { return free_block(GSOFA_HIDDEN(#name), block); }
// C's name and the four by which Fortran calls a function.
#define GSOFA_NAMES(define, name, upper, lower) \
  define(name) define(upper) define(lower) define(lower##_) define(lower##__)
// NOLINTEND(bugprone-macro-parentheses)

// That of the METIS inside CHOLMOD 4 and later.
GSOFA_NODEND_OF(SuiteSparse_metis_METIS_NodeND, "SuiteSparse_metis_METIS_SetDefaultOptions")
GSOFA_NAMES(GSOFA_NODEND, METIS_NodeND, METIS_NODEND, metis_nodend)
GSOFA_NAMES(GSOFA_SET_DEFAULT_OPTIONS, METIS_SetDefaultOptions, METIS_SETDEFAULTOPTIONS,
            metis_setdefaultoptions)
GSOFA_NAMES(GSOFA_FREE, METIS_Free, METIS_FREE, metis_free)
