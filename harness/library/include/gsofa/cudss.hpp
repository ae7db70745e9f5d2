#pragma once

/// cuDSS with orders and separator trees of this library. A header alone: the caller compiles with
/// cuDSS 1.0 or newer and links cuDSS and the CUDA run-time. libgsofa needs neither.

#include <memory>

#include "gsofa/cudss.h"
#include "gsofa/gsofa.hpp"

namespace gsofa::cudss {

namespace detail {

/// `error` is a reference: the call that returns `status`, evaluated in the same list of arguments,
/// sets it.
inline void check(gsofa_status status, const char* const& error) {
  if (status == GSOFA_INVALID_INPUT) throw invalid_input(error);
  if (status != GSOFA_OK) throw analysis_error(static_cast<failure>(status), error);
}

template <class Offset, class Index>
pattern_order order_of(const gsofa_pattern& a, const order_options& options) {
  const auto* begin = static_cast<const Offset*>(a.pointers);
  const auto rows = static_cast<std::size_t>(a.n);
  return order(basic_csr_view<Offset, Index>{static_cast<Index>(a.n),
                                             {begin, rows + 1},
                                             {static_cast<const Index*>(a.indices),
                                              static_cast<std::size_t>(begin[rows])}},
               options);
}

inline pattern_order order_of(const gsofa_pattern& a, const order_options& options) {
  if (a.index_type == GSOFA_INDEX_32_32) return order_of<std::int32_t, std::int32_t>(a, options);
  if (a.index_type == GSOFA_INDEX_64_32) return order_of<std::int64_t, std::int32_t>(a, options);
  return order_of<std::int64_t, std::int64_t>(a, options);
}

}  // namespace detail

/// Orders `a` and gives cuDSS the order with its separator tree, before the reordering phase:
/// cuDSS then skips its own reordering. Returns the order and the tree; cuDSS has copied both.
///
/// `a` is one matrix in compressed sparse rows, in host or device memory, of any type (general,
/// symmetric, Hermitian, positive definite), view (full, lower, upper) and index base. Its arrays
/// must be ready once all work enqueued on `stream` has finished. Batches and distributed matrices
/// are invalid_input, as is a configuration with a matching: CUDSS_CONFIG_MATCHING_ALG must be
/// CUDSS_MATCHING_ALG_NONE, which is not the default of cuDSS 1.0.
///
/// options.tree_levels = 0 takes the levels from CUDSS_CONFIG_ND_NLEVELS (10 by default); another
/// number is set there. options.layout is ignored; the automatic kind of factorization is gpu. Sets
/// CUDSS_CONFIG_REORDERING_ALG to the default and CUDSS_DATA_USER_PERM and
/// CUDSS_DATA_USER_ND_PARTITION_TREE of `data`, which holds them for every later analysis: call
/// set_order() again for another pattern, and not for other values of the same pattern. `config`
/// must have the same levels when cuDSS analyzes `a`.
///
/// Throws as order() does, before anything is set; analysis_error of kind internal if cuDSS refuses
/// an argument (CUDSS_LOG_LEVEL=5 prints why).
inline pattern_order set_order(cudssHandle_t handle, cudssConfig_t config, cudssData_t data,
                               cudssMatrix_t a, order_options options = {},
                               cudaStream_t stream = nullptr) {
  const char* error = "";
  detail::check(gsofa_cudss_levels(config, &options.tree_levels, &error), error);
  options.layout = tree_layout::by_level;
  if (options.purpose.kind == factorization_kind::automatic) {
    options.purpose.kind = factorization_kind::gpu;
  }
  gsofa_pattern rows{};
  const std::unique_ptr<gsofa_pattern, void (*)(gsofa_pattern*)> owner(&rows, gsofa_cudss_free);
  detail::check(gsofa_cudss_read(a, stream, &rows, &error), error);
  pattern_order found = detail::order_of(rows, options);
  detail::check(gsofa_cudss_give(handle, config, data, found.n, found.permutation.data(),
                                 options.tree_levels, found.tree_sizes.data(), &error),
                error);
  return found;
}

}  // namespace gsofa::cudss
