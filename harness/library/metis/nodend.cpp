// METIS_NodeND and METIS_NodeNDP by libgsofa, with the signatures of METIS 5.
//
// Compiled once for each width of idx_t (GSOFA_METIS_INDEX_BITS). The loader finds these functions
// before those of METIS; "the next METIS" is the one that it would have found without this library.
// Arguments that are no graph, and a next METIS with indices of another width, which the program
// then has too, are left to the next METIS. README.md says what the environment changes.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>

#include "harness/library/metis/metis_functions.hpp"
#include "harness/library/metis/order_call.hpp"

// Four more names by which Fortran calls a function.
// NOLINTBEGIN(bugprone-macro-parentheses): names
#define GSOFA_FORTRAN_NAMES(function, upper, lower)                         \
  GSOFA_METIS_EXPORT [[gnu::alias(#function)]] decltype(function) upper;    \
  GSOFA_METIS_EXPORT [[gnu::alias(#function)]] decltype(function) lower;    \
  GSOFA_METIS_EXPORT [[gnu::alias(#function)]] decltype(function) lower##_; \
  GSOFA_METIS_EXPORT [[gnu::alias(#function)]] decltype(function) lower##__
// NOLINTEND(bugprone-macro-parentheses)

GSOFA_FORTRAN_NAMES(METIS_NodeND, METIS_NODEND, metis_nodend);
GSOFA_FORTRAN_NAMES(METIS_SetDefaultOptions, METIS_SETDEFAULTOPTIONS, metis_setdefaultoptions);
GSOFA_FORTRAN_NAMES(METIS_Free, METIS_FREE, metis_free);

/// The mark of a drop-in: next_metis.cpp.
GSOFA_METIS_EXPORT const char gsofa_metis_drop_in;
const char gsofa_metis_drop_in = 0;

using namespace gsofa::metis_abi;

namespace {

template <class Index>
int nodend(const next_metis& next, const char* name, const char* set_default_options, Index* nvtxs,
           Index* xadj, Index* adjncy, Index* vwgt, Index* options, Index* perm, Index* iperm) {
  const auto original =
      next.find<int(Index*, Index*, Index*, Index*, Index*, Index*, Index*)>(name);
  const order_call<Index> call{
      .name = name,
      .set_default_options = set_default_options,
      .arguments = {nvtxs == nullptr ? -1 : *nvtxs, xadj, adjncy, vwgt, options},
      .perm = perm,
      .iperm = iperm};
  return run(call, next, original != nullptr,
             [&] { return original(nvtxs, xadj, adjncy, vwgt, options, perm, iperm); });
}

}  // namespace

int METIS_NodeND(idx_t* nvtxs, idx_t* xadj, idx_t* adjncy, idx_t* vwgt, idx_t* options, idx_t* perm,
                 idx_t* iperm) {
  return nodend(next_metis(__builtin_return_address(0)), "METIS_NodeND", "METIS_SetDefaultOptions",
                nvtxs, xadj, adjncy, vwgt, options, perm, iperm);
}

int SuiteSparse_metis_METIS_NodeND(std::int64_t* nvtxs, std::int64_t* xadj, std::int64_t* adjncy,
                                   std::int64_t* vwgt, std::int64_t* options, std::int64_t* perm,
                                   std::int64_t* iperm) {
  return nodend(next_metis(__builtin_return_address(0)), "SuiteSparse_metis_METIS_NodeND",
                "SuiteSparse_metis_METIS_SetDefaultOptions", nvtxs, xadj, adjncy, vwgt, options,
                perm, iperm);
}

// METIS numbers the vertices from 0 here, whatever the options say, and its tree is that of a power
// of two: other arguments are left to the next METIS.
int METIS_NodeNDP(idx_t nvtxs, idx_t* xadj, idx_t* adjncy, idx_t* vwgt, idx_t npes, idx_t* options,
                  idx_t* perm, idx_t* iperm, idx_t* sizes) {
  const next_metis next(__builtin_return_address(0));
  const auto original = next.find<decltype(METIS_NodeNDP)>("METIS_NodeNDP");
  const auto parts = static_cast<std::uint64_t>(std::max<idx_t>(npes, 0));
  const int levels = static_cast<int>(std::bit_width(parts));
  const bool has_tree = std::has_single_bit(parts) && levels <= gsofa::most_tree_levels &&
                        sizes != nullptr && numbering(options) == 0;
  const order_call<idx_t> call{.name = "METIS_NodeNDP",
                               .set_default_options = "METIS_SetDefaultOptions",
                               .arguments = {has_tree ? nvtxs : -1, xadj, adjncy, vwgt, options},
                               .perm = perm,
                               .iperm = iperm,
                               .tree_levels = levels,
                               .sizes = sizes};
  return run(call, next, original != nullptr, [&] {
    return original(nvtxs, xadj, adjncy, vwgt, npes, options, perm, iperm, sizes);
  });
}

int METIS_SetDefaultOptions(idx_t* options) {
  const next_metis next(__builtin_return_address(0));
  const auto original = next.find<decltype(METIS_SetDefaultOptions)>("METIS_SetDefaultOptions");
  if (original != nullptr) return original(options);
  std::fill_n(options, option_count, idx_t{-1});
  return metis_ok;
}

int METIS_Free(void* block) {
  const next_metis next(__builtin_return_address(0));
  const auto original = next.find<decltype(METIS_Free)>("METIS_Free");
  if (original != nullptr) return original(block);
  std::free(block);
  return metis_ok;
}
