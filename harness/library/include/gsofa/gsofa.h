#ifndef GSOFA_GSOFA_H
#define GSOFA_GSOFA_H

/// C interface to exact symbolic LU factorization; gsofa.hpp says what is computed and what each
/// option and result means. Indices are 0-based. C99.
///
/// Functions that can fail return a gsofa_status and leave a line of text for gsofa_last_error().
/// Pointers that a handle gives out are valid until gsofa_free().

#include <stdint.h>

#include "gsofa/export.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum gsofa_status {
  GSOFA_OK = 0,
  GSOFA_INVALID_INPUT = 1,  ///< the pattern or an option is wrong
  GSOFA_UNAVAILABLE = 2,    ///< this build or machine lacks what was asked for by name
  GSOFA_OUT_OF_MEMORY = 3,  ///< of the host, of the device or of the budget
  GSOFA_INTERNAL_ERROR = 4  ///< the device or a library failed
} gsofa_status;

typedef enum gsofa_device { GSOFA_AUTOMATIC = 0, GSOFA_CPU = 1, GSOFA_GPU = 2 } gsofa_device;

typedef enum gsofa_order {
  GSOFA_ORDER_AUTOMATIC = 0,  ///< METIS; AMD in a build without METIS
  GSOFA_ORDER_METIS = 1,
  GSOFA_ORDER_AMD = 2,
  GSOFA_ORDER_COLAMD = 3,
  GSOFA_ORDER_NATURAL = 4,
  GSOFA_ORDER_GIVEN = 5,  ///< gsofa_options::permutation
  GSOFA_ORDER_NESTED_DISSECTION = 6,  ///< by this library, on options.threads
  GSOFA_ORDER_BEST_OF = 7  ///< of minimum degree and nested dissection the fewest operations
} gsofa_order;

/// What is asked for; call gsofa_options_init() first.
typedef struct gsofa_options {
  int device;                  ///< a gsofa_device
  int order;                   ///< a gsofa_order
  const char* variant;         ///< name of one algorithm; NULL: as `device` says
  const int32_t* permutation;  ///< n entries for GSOFA_ORDER_GIVEN, else NULL
  int64_t memory_budget_mb;    ///< -1 or 0: chosen by the library
  int threads;                 ///< host threads; 0: all
  int match;                   ///< nonzero: zero-free diagonal by a matching, where it has zeros
  int factors;                 ///< nonzero: explicit L and U
  int supernodes;              ///< nonzero: T3 supernodes
  int32_t chunk_size;          ///< supernodes never cross a multiple of it; 0: unlimited
} gsofa_options;

/// Defaults: automatic device and order, one thread, matching, neither factors nor supernodes.
GSOFA_API void gsofa_options_init(gsofa_options* options);

/// Result of gsofa_analyze().
typedef struct gsofa_analysis gsofa_analysis;

/// Analyses the pattern of a square matrix of order n: row_ptr has n + 1 entries from 0, col_idx
/// row_ptr[n], rows unsorted and with duplicates if need be. `options` may be NULL: defaults.
/// `*out` is a new handle, or NULL after any failure.
GSOFA_API gsofa_status gsofa_analyze(int32_t n, const int64_t* row_ptr, const int32_t* col_idx,
                                     const gsofa_options* options, gsofa_analysis** out);

/// Releases a handle; NULL is allowed.
GSOFA_API void gsofa_free(gsofa_analysis* a);

/// Why the last call on this thread that did not return GSOFA_OK failed; "" before any did.
GSOFA_API const char* gsofa_last_error(void);

/// Order of the matrix, entries of L below the diagonal, entries of U with it, entries of A with
/// added diagonal entries, number of these. 0 for NULL.
GSOFA_API int32_t gsofa_n(const gsofa_analysis* a);
GSOFA_API int64_t gsofa_nnz_l(const gsofa_analysis* a);
GSOFA_API int64_t gsofa_nnz_u(const gsofa_analysis* a);
GSOFA_API int64_t gsofa_nnz_a(const gsofa_analysis* a);
GSOFA_API int32_t gsofa_diagonal_added(const gsofa_analysis* a);

/// n entries each. Entry (i, j) of the permuted matrix is (row_order[i], col_order[j]) of A; counts
/// and factors are in the new numbering. NULL for NULL.
GSOFA_API const int32_t* gsofa_row_order(const gsofa_analysis* a);
GSOFA_API const int32_t* gsofa_col_order(const gsofa_analysis* a);
GSOFA_API const int32_t* gsofa_l_row_counts(const gsofa_analysis* a);
GSOFA_API const int32_t* gsofa_u_row_counts(const gsofa_analysis* a);

/// L below the diagonal, and U with it: n + 1 row pointers, columns ascending within each row.
/// GSOFA_INVALID_INPUT if factors were not asked for or an argument is NULL.
GSOFA_API gsofa_status gsofa_l(const gsofa_analysis* a, const int64_t** row_ptr,
                               const int32_t** col_idx);
GSOFA_API gsofa_status gsofa_u(const gsofa_analysis* a, const int64_t** row_ptr,
                               const int32_t** col_idx);

/// First rows of the supernodes and their number. GSOFA_INVALID_INPUT if they were not asked for or
/// an argument is NULL.
GSOFA_API gsofa_status gsofa_supernodes(const gsofa_analysis* a, const int32_t** starts,
                                        int32_t* count);

/// Name of the variant that ran; name of the order; why the analysis fell back from a device to
/// the host, else "". NULL for NULL.
GSOFA_API const char* gsofa_variant_name(const gsofa_analysis* a);
GSOFA_API const char* gsofa_order_name(const gsofa_analysis* a);
GSOFA_API const char* gsofa_fallback(const gsofa_analysis* a);

/// Seconds of matching and ordering, allocation, symbolic factorization, copying out. 0 for NULL.
GSOFA_API double gsofa_order_seconds(const gsofa_analysis* a);
GSOFA_API double gsofa_setup_seconds(const gsofa_analysis* a);
GSOFA_API double gsofa_analysis_seconds(const gsofa_analysis* a);
GSOFA_API double gsofa_output_seconds(const gsofa_analysis* a);

/// Version of the library, "major.minor.patch".
GSOFA_API const char* gsofa_version(void);

#ifdef __cplusplus
}
#endif

#endif
