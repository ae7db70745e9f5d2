#ifndef GSOFA_CUDSS_H
#define GSOFA_CUDSS_H

/// cuDSS with orders and separator trees of this library, in C99. gsofa_cudss_set_order() is all
/// that a solver calls; the other functions are its steps, which gsofa/cudss.hpp calls too.
///
/// A header alone: the caller compiles with cuDSS 1.0 or newer and links cuDSS and the CUDA
/// run-time. libgsofa needs neither.
///
/// Functions return a gsofa_status and, after a failure, let `*error` point to one line of text,
/// valid as gsofa_last_error() is. `error` may be NULL.

#include <cuda_runtime.h>
#include <cudss.h>
#include <stdlib.h>

#include "gsofa/gsofa.h"

#if CUDSS_VERSION_MAJOR < 1
#error "gsofa/cudss.h needs cuDSS 1.0 or newer"
#endif

/* One definition in a C++ program, whose inline functions call these; one in each file in C. */
#ifdef __cplusplus
#define GSOFA_CUDSS_INLINE inline
extern "C" {
#else
#define GSOFA_CUDSS_INLINE static inline
#endif

GSOFA_CUDSS_INLINE gsofa_status gsofa_cudss_failed(gsofa_status status, const char* text,
                                                   const char** error) {
  if (error != NULL) *error = text;
  return status;
}

/// The status of a call of cuDSS; `refused` says what cuDSS refused.
GSOFA_CUDSS_INLINE gsofa_status gsofa_cudss_status(cudssStatus_t status, const char* refused,
                                                   const char** error) {
  if (status == CUDSS_STATUS_SUCCESS) return GSOFA_OK;
  if (status == CUDSS_STATUS_ALLOC_FAILED) {
    return gsofa_cudss_failed(GSOFA_OUT_OF_MEMORY, "cuDSS: out of memory", error);
  }
  return gsofa_cudss_failed(GSOFA_INTERNAL_ERROR, refused, error);
}

/// Copies `count` integers of `bytes` each from host or device memory to `to`, less `base`.
GSOFA_CUDSS_INLINE cudaError_t gsofa_cudss_fetch(void* to, const void* from, int64_t count,
                                                 size_t bytes, int base, cudaStream_t stream) {
  cudaError_t status =
      count == 0 ? cudaSuccess
                 : cudaMemcpyAsync(to, from, (size_t)count * bytes, cudaMemcpyDefault, stream);
  if (status == cudaSuccess) status = cudaStreamSynchronize(stream);
  if (status != cudaSuccess || base == 0) return status;
  for (int64_t k = 0; k < count; ++k) {
    if (bytes == sizeof(int32_t)) {
      ((int32_t*)to)[k] -= base;
    } else {
      ((int64_t*)to)[k] -= base;
    }
  }
  return status;
}

/// Whether `a` is one square matrix in compressed sparse rows that the library can read, and the
/// header of its pattern.
GSOFA_CUDSS_INLINE gsofa_status gsofa_cudss_describe(cudssMatrix_t a, gsofa_pattern* out,
                                                     int64_t* nnz, void** row_start, void** columns,
                                                     int* base, const char** error) {
  int format = 0;
  int64_t rows = 0, cols = 0;
  void *row_end = NULL, *values = NULL;
  cudaDataType_t offset_type, index_type, value_type;
  cudssMatrixType_t type;
  cudssMatrixViewType_t view;
  cudssIndexBase_t index_base;
  if (cudssMatrixGetFormat(a, &format) != CUDSS_STATUS_SUCCESS || format != CUDSS_MFORMAT_CSR) {
    return gsofa_cudss_failed(GSOFA_INVALID_INPUT,
                              "matrix: expected one matrix in compressed sparse rows, not a batch, "
                              "a distributed or a dense matrix",
                              error);
  }
  const gsofa_status status = gsofa_cudss_status(
      cudssMatrixGetCsr(a, &rows, &cols, nnz, row_start, &row_end, columns, &values, &offset_type,
                        &index_type, &value_type, &type, &view, &index_base),
      "matrix: cuDSS does not return its arrays", error);
  if (status != GSOFA_OK) return status;
  if (rows != cols) return gsofa_cudss_failed(GSOFA_INVALID_INPUT, "matrix: not square", error);
  if (rows > INT32_MAX) {
    return gsofa_cudss_failed(GSOFA_OVERFLOW, "matrix: 2^31 rows or more", error);
  }
  if (row_end != NULL) {
    return gsofa_cudss_failed(GSOFA_INVALID_INPUT, "matrix: rowEnd is not NULL", error);
  }
  if (offset_type == CUDA_R_32I && index_type == CUDA_R_32I) {
    out->index_type = GSOFA_INDEX_32_32;
  } else if (offset_type == CUDA_R_64I && index_type == CUDA_R_32I) {
    out->index_type = GSOFA_INDEX_64_32;
  } else if (offset_type == CUDA_R_64I && index_type == CUDA_R_64I) {
    out->index_type = GSOFA_INDEX_64_64;
  } else {
    return gsofa_cudss_failed(GSOFA_INVALID_INPUT,
                              "matrix: columns of 64 bits need row offsets of 64 bits", error);
  }
  out->n = rows;
  out->format = GSOFA_CSR;
  *base = index_base == CUDSS_BASE_ONE;
  return GSOFA_OK;
}

/// Releases the arrays of gsofa_cudss_read().
GSOFA_CUDSS_INLINE void gsofa_cudss_free(gsofa_pattern* p) {
  free((void*)p->pointers);
  free((void*)p->indices);
  p->pointers = p->indices = NULL;
}

/// Copies the stored pattern of `a`, base 0, to new host arrays of `out`. The arrays of `a` may be
/// in host or device memory and must be ready once all work enqueued on `stream` has finished.
GSOFA_CUDSS_INLINE gsofa_status gsofa_cudss_read(cudssMatrix_t a, cudaStream_t stream,
                                                 gsofa_pattern* out, const char** error) {
  int64_t nnz = 0;
  void *row_start = NULL, *columns = NULL;
  int base = 0;
  const gsofa_status status =
      gsofa_cudss_describe(a, out, &nnz, &row_start, &columns, &base, error);
  if (status != GSOFA_OK) return status;
  const size_t offset_bytes = out->index_type == GSOFA_INDEX_32_32 ? 4 : 8;
  const size_t index_bytes = out->index_type == GSOFA_INDEX_64_64 ? 8 : 4;
  void* pointers = malloc((size_t)(out->n + 1) * offset_bytes);
  void* indices = malloc((size_t)(nnz > 0 ? nnz : 1) * index_bytes);
  out->pointers = pointers;
  out->indices = indices;
  if (pointers == NULL || indices == NULL) {
    gsofa_cudss_free(out);
    return gsofa_cudss_failed(GSOFA_OUT_OF_MEMORY, "out of host memory", error);
  }
  cudaError_t copied =
      gsofa_cudss_fetch(pointers, row_start, out->n + 1, offset_bytes, base, stream);
  if (copied == cudaSuccess) {
    copied = gsofa_cudss_fetch(indices, columns, nnz, index_bytes, base, stream);
  }
  if (copied != cudaSuccess) {
    gsofa_cudss_free(out);
    return gsofa_cudss_failed(GSOFA_INTERNAL_ERROR, cudaGetErrorString(copied), error);
  }
  const int64_t last =
      offset_bytes == 4 ? ((const int32_t*)pointers)[out->n] : ((const int64_t*)pointers)[out->n];
  if (last != nnz) {
    gsofa_cudss_free(out);
    return gsofa_cudss_failed(GSOFA_INVALID_INPUT,
                              "matrix: the row offsets do not end with the number of entries",
                              error);
  }
  return GSOFA_OK;
}

/// Sets `*levels`, if it is 0, to the levels of the separator tree that `config` asks for. Refuses
/// a configuration with a matching.
GSOFA_CUDSS_INLINE gsofa_status gsofa_cudss_levels(cudssConfig_t config, int* levels,
                                                   const char** error) {
  cudssMatchingAlg_t matching = CUDSS_MATCHING_ALG_NONE;
  size_t written = 0;
  gsofa_status status = gsofa_cudss_status(
      cudssConfigGet(config, CUDSS_CONFIG_MATCHING_ALG, &matching, sizeof matching, &written),
      "configuration: cuDSS does not return CUDSS_CONFIG_MATCHING_ALG", error);
  if (status == GSOFA_OK && matching != CUDSS_MATCHING_ALG_NONE) {
    return gsofa_cudss_failed(GSOFA_INVALID_INPUT,
                              "CUDSS_CONFIG_MATCHING_ALG: the order and the tree are those of A "
                              "itself; set CUDSS_MATCHING_ALG_NONE, which is not the default",
                              error);
  }
  if (status != GSOFA_OK || *levels != 0) return status;
  return gsofa_cudss_status(
      cudssConfigGet(config, CUDSS_CONFIG_ND_NLEVELS, levels, sizeof *levels, &written),
      "configuration: cuDSS does not return CUDSS_CONFIG_ND_NLEVELS", error);
}

/// Gives cuDSS an order and its separator tree: the form of gsofa_order_pattern() in the layout
/// GSOFA_TREE_BY_LEVEL. cuDSS copies both arrays.
GSOFA_CUDSS_INLINE gsofa_status gsofa_cudss_give(cudssHandle_t handle, cudssConfig_t config,
                                                 cudssData_t data, int32_t n,
                                                 const int32_t permutation[], int levels,
                                                 const int32_t tree_sizes[], const char** error) {
  const cudssReorderingAlg_t reordering = CUDSS_REORDERING_ALG_DEFAULT;
  const size_t nodes = ((size_t)1 << levels) - 1;
  gsofa_status status = gsofa_cudss_status(
      cudssConfigSet(config, CUDSS_CONFIG_ND_NLEVELS, &levels, sizeof levels),
      "configuration: cuDSS refuses CUDSS_CONFIG_ND_NLEVELS, which must be 2 or more", error);
  if (status == GSOFA_OK) {
    status = gsofa_cudss_status(
        cudssConfigSet(config, CUDSS_CONFIG_REORDERING_ALG, &reordering, sizeof reordering),
        "configuration: cuDSS refuses CUDSS_CONFIG_REORDERING_ALG", error);
  }
  if (status == GSOFA_OK) {
    status = gsofa_cudss_status(cudssDataSet(handle, data, CUDSS_DATA_USER_PERM, permutation,
                                             (size_t)n * sizeof permutation[0]),
                                "data object: cuDSS refuses CUDSS_DATA_USER_PERM", error);
  }
  if (status == GSOFA_OK) {
    status =
        gsofa_cudss_status(cudssDataSet(handle, data, CUDSS_DATA_USER_ND_PARTITION_TREE, tree_sizes,
                                        nodes * sizeof tree_sizes[0]),
                           "data object: cuDSS refuses CUDSS_DATA_USER_ND_PARTITION_TREE", error);
  }
  return status;
}

/// Orders `a` and gives cuDSS the order with its separator tree, as set_order() of gsofa/cudss.hpp.
/// `options` may be NULL: defaults; tree_levels 0: as `config` asks for; `layout` is ignored; the
/// automatic kind of factorization is GSOFA_FACTORIZATION_GPU.
GSOFA_CUDSS_INLINE gsofa_status gsofa_cudss_set_order(cudssHandle_t handle, cudssConfig_t config,
                                                      cudssData_t data, cudssMatrix_t a,
                                                      const gsofa_order_options* options,
                                                      cudaStream_t stream, const char** error) {
  gsofa_order_options chosen;
  gsofa_order_options_init(&chosen);
  if (options != NULL) chosen = *options;
  chosen.layout = GSOFA_TREE_BY_LEVEL;
  if (chosen.factorization_kind == GSOFA_FACTORIZATION_AUTOMATIC) {
    chosen.factorization_kind = GSOFA_FACTORIZATION_GPU;
  }
  gsofa_pattern rows = {0, NULL, NULL, GSOFA_INDEX_64_32, GSOFA_CSR};
  gsofa_status status = gsofa_cudss_levels(config, &chosen.tree_levels, error);
  if (status == GSOFA_OK) status = gsofa_cudss_read(a, stream, &rows, error);
  if (status != GSOFA_OK) return status;
  const int levels = chosen.tree_levels > 0 && chosen.tree_levels <= 24 ? chosen.tree_levels : 0;
  int32_t* permutation = (int32_t*)malloc((size_t)(rows.n + 1) * sizeof(int32_t));
  int32_t* tree_sizes = (int32_t*)malloc(((size_t)1 << levels) * sizeof(int32_t));
  if (permutation == NULL || tree_sizes == NULL) {
    status = gsofa_cudss_failed(GSOFA_OUT_OF_MEMORY, "out of host memory", error);
  } else {
    status = gsofa_order_pattern(&rows, &chosen, permutation, tree_sizes);
    if (status != GSOFA_OK) gsofa_cudss_failed(status, gsofa_last_error(), error);
  }
  if (status == GSOFA_OK) {
    status = gsofa_cudss_give(handle, config, data, (int32_t)rows.n, permutation, levels,
                              tree_sizes, error);
  }
  free(permutation);
  free(tree_sizes);
  gsofa_cudss_free(&rows);
  return status;
}

#ifdef __cplusplus
}
#endif
#undef GSOFA_CUDSS_INLINE

#endif
