// METIS_NodeND and METIS_NodeNDP by libgsofa, with the signatures of METIS 5.
//
// Compiled once for each width of idx_t (GSOFA_METIS_INDEX_BITS). The loader finds these functions
// before those that they hide: hidden_function() finds the one that a call would have reached, by
// the name that was called. Arguments that are no graph, and a hidden function with another
// interface, are left to that function. README.md says what the environment changes.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>

#include "harness/library/metis/metis_functions.hpp"
#include "harness/library/metis/order_call.hpp"

using namespace gsofa::metis_abi;

/// The mark of a drop-in: next_metis.cpp.
GSOFA_METIS_EXPORT const char gsofa_metis_drop_in;
const char gsofa_metis_drop_in = 0;

namespace {

template <class Index>
int nodend(const char* name, void* hidden, const char* set_default_options, Index* nvtxs,
           Index* xadj, Index* adjncy, Index* vwgt, Index* options, Index* perm, Index* iperm) {
  const order_call<Index> call{
      .name = name,
      .set_default_options = set_default_options,
      .arguments = {nvtxs == nullptr ? -1 : *nvtxs, xadj, adjncy, vwgt, options},
      .perm = perm,
      .iperm = iperm};
  using function = int(Index*, Index*, Index*, Index*, Index*, Index*, Index*);
  return run(call, hidden, [&] {
    return reinterpret_cast<function*>(hidden)(nvtxs, xadj, adjncy, vwgt, options, perm, iperm);
  });
}

// METIS numbers the vertices from 0 here, whatever the options say, and its tree is that of a power
// of two: other arguments are left to the hidden function.
int nodendp(const char* name, void* hidden, idx_t nvtxs, idx_t* xadj, idx_t* adjncy, idx_t* vwgt,
            idx_t npes, idx_t* options, idx_t* perm, idx_t* iperm, idx_t* sizes) {
  const auto parts = static_cast<std::uint64_t>(std::max<idx_t>(npes, 0));
  const int levels = static_cast<int>(std::bit_width(parts));
  const bool has_tree = std::has_single_bit(parts) && levels <= gsofa::most_tree_levels &&
                        sizes != nullptr && numbering(options) == 0;
  const order_call<idx_t> call{.name = name,
                               .set_default_options = "METIS_SetDefaultOptions",
                               .arguments = {has_tree ? nvtxs : -1, xadj, adjncy, vwgt, options},
                               .perm = perm,
                               .iperm = iperm,
                               .tree_levels = levels,
                               .sizes = sizes};
  return run(call, hidden, [&] {
    return reinterpret_cast<decltype(METIS_NodeNDP)*>(hidden)(nvtxs, xadj, adjncy, vwgt, npes,
                                                              options, perm, iperm, sizes);
  });
}

int set_default_options(void* hidden, idx_t* options) {
  if (hidden != nullptr) {
    return reinterpret_cast<decltype(METIS_SetDefaultOptions)*>(hidden)(options);
  }
  std::fill_n(options, option_count, idx_t{-1});
  return metis_ok;
}

int free_block(void* hidden, void* block) {
  if (hidden != nullptr) return reinterpret_cast<decltype(METIS_Free)*>(hidden)(block);
  std::free(block);
  return metis_ok;
}

// What GSOFA_VERBOSE=1 says when the process begins and ends.
[[gnu::constructor]] void say_loaded() {
  if (!is_verbose()) return;
  say("METIS_NodeND of libgsofa " + std::string(gsofa::version()) + " is loaded, for indices of " +
      std::to_string(GSOFA_METIS_INDEX_BITS) + " bits");
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

int METIS_NodeNDP(idx_t nvtxs, idx_t* xadj, idx_t* adjncy, idx_t* vwgt, idx_t npes, idx_t* options,
                  idx_t* perm, idx_t* iperm, idx_t* sizes) {
  return nodendp("METIS_NodeNDP", GSOFA_HIDDEN("METIS_NodeNDP"), nvtxs, xadj, adjncy, vwgt, npes,
                 options, perm, iperm, sizes);
}

int SuiteSparse_metis_METIS_NodeND(std::int64_t* nvtxs, std::int64_t* xadj, std::int64_t* adjncy,
                                   std::int64_t* vwgt, std::int64_t* options, std::int64_t* perm,
                                   std::int64_t* iperm) {
  return nodend("SuiteSparse_metis_METIS_NodeND", GSOFA_HIDDEN("SuiteSparse_metis_METIS_NodeND"),
                "SuiteSparse_metis_METIS_SetDefaultOptions", nvtxs, xadj, adjncy, vwgt, options,
                perm, iperm);
}

// NOLINTBEGIN(bugprone-macro-parentheses): names
#define GSOFA_NODEND(name)                                                                    \
  GSOFA_METIS_EXPORT int name(idx_t* nvtxs, idx_t* xadj, idx_t* adjncy, idx_t* vwgt,          \
                              idx_t* options, idx_t* perm, idx_t* iperm) {                    \
    return nodend(#name, GSOFA_HIDDEN(#name), "METIS_SetDefaultOptions", nvtxs, xadj, adjncy, \
                  vwgt, options, perm, iperm);                                                \
  }
#define GSOFA_SET_DEFAULT_OPTIONS(name)                       \
  GSOFA_METIS_EXPORT int name(idx_t* options) {               \
    return set_default_options(GSOFA_HIDDEN(#name), options); \
  }
#define GSOFA_FREE(name) \
  GSOFA_METIS_EXPORT int name(void* block) { return free_block(GSOFA_HIDDEN(#name), block); }
// C's name and the four by which Fortran calls a function.
#define GSOFA_NAMES(define, name, upper, lower) \
  define(name) define(upper) define(lower) define(lower##_) define(lower##__)
// NOLINTEND(bugprone-macro-parentheses)

GSOFA_NAMES(GSOFA_NODEND, METIS_NodeND, METIS_NODEND, metis_nodend)
GSOFA_NAMES(GSOFA_SET_DEFAULT_OPTIONS, METIS_SetDefaultOptions, METIS_SETDEFAULTOPTIONS,
            metis_setdefaultoptions)
GSOFA_NAMES(GSOFA_FREE, METIS_Free, METIS_FREE, metis_free)
