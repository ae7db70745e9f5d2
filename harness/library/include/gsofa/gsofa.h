#ifndef GSOFA_GSOFA_H
#define GSOFA_GSOFA_H

/// C interface to exact symbolic LU factorization; gsofa.hpp says what is computed and what each
/// option and result means. Indices are 0-based. C99.
///
/// Functions that can fail return a gsofa_status and leave a line of text for gsofa_last_error().
/// Pointers that a handle gives out are valid until gsofa_free().

#include <stddef.h>
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
  GSOFA_INTERNAL_ERROR = 4, ///< the device or a library failed
  GSOFA_OVERFLOW = 5,       ///< a number does not fit in the integers that have to hold it
  GSOFA_CANCELLED = 6       ///< gsofa_options::progress returned nonzero
} gsofa_status;

typedef enum gsofa_device { GSOFA_AUTOMATIC = 0, GSOFA_CPU = 1, GSOFA_GPU = 2 } gsofa_device;

typedef enum gsofa_order {
  GSOFA_ORDER_AUTOMATIC = 0,  ///< as order_method::automatic of gsofa.hpp
  GSOFA_ORDER_METIS = 1,
  GSOFA_ORDER_AMD = 2,
  GSOFA_ORDER_COLAMD = 3,
  GSOFA_ORDER_NATURAL = 4,
  GSOFA_ORDER_GIVEN = 5,  ///< gsofa_options::permutation
  GSOFA_ORDER_NESTED_DISSECTION = 6,  ///< by this library, on options.threads
  GSOFA_ORDER_BEST_OF = 7,  ///< of minimum degree and nested dissection the fewest operations
  GSOFA_ORDER_GPU_NESTED_DISSECTION = 8  ///< by this library, on a device
} gsofa_order;

/// Integers of the arrays of a pattern: bits of the pointers, bits of the indices.
typedef enum gsofa_index_type {
  GSOFA_INDEX_64_32 = 0,  ///< int64_t, int32_t
  GSOFA_INDEX_32_32 = 1,  ///< int32_t, int32_t
  GSOFA_INDEX_64_64 = 2   ///< int64_t, int64_t
} gsofa_index_type;

typedef enum gsofa_format {
  GSOFA_CSR = 0,  ///< compressed rows
  GSOFA_CSC = 1   ///< compressed columns
} gsofa_format;

/// Pattern of a square matrix, owned by the caller: n + 1 pointers from 0, and as many indices as
/// the last of them says. Rows (columns) may be unsorted and hold duplicates.
typedef struct gsofa_pattern {
  int64_t n;
  const void* pointers;  ///< of index_type
  const void* indices;   ///< of index_type; NULL if there are none
  int index_type;        ///< a gsofa_index_type
  int format;            ///< a gsofa_format
} gsofa_pattern;

/// Pattern of a square matrix in compressed rows in the memory of the current CUDA device.
typedef struct gsofa_device_pattern {
  int64_t n;
  int64_t nnz;
  const void* pointers;  ///< n + 1, of index_type
  const void* indices;   ///< nnz, of index_type
  int index_type;        ///< a gsofa_index_type
  /// A cudaStream_t: what it was given before the call makes the arrays complete. NULL: the legacy
  /// default stream.
  void* stream;
} gsofa_device_pattern;

/// Pattern of the square matrix in a file, as read_pattern() of gsofa.hpp, in GSOFA_INDEX_64_32 and
/// GSOFA_CSR, columns ascending. Its arrays belong to the library: gsofa_pattern_free() releases them.
/// After any failure n is 0 and both pointers are NULL.
GSOFA_API gsofa_status gsofa_read_pattern(const char* file, gsofa_pattern* out);
/// Releases the arrays that gsofa_read_pattern() gave, and sets them to NULL; NULL is allowed.
GSOFA_API void gsofa_pattern_free(gsofa_pattern* a);

/// Parts of an analysis, in their order: checking, matching, ordering, permuting, symbolic
/// factorization, output.
typedef enum gsofa_stage {
  GSOFA_STAGE_CHECK = 0,
  GSOFA_STAGE_MATCH = 1,
  GSOFA_STAGE_ORDER = 2,
  GSOFA_STAGE_PERMUTE = 3,
  GSOFA_STAGE_ANALYZE = 4,
  GSOFA_STAGE_OUTPUT = 5
} gsofa_stage;

/// `share` of the gsofa_stage that is done, from 0 to 1, -1 if it is not known. Nonzero: cancel.
typedef int (*gsofa_progress_function)(int stage, double share, void* user);
/// One line of text without an end of line.
typedef void (*gsofa_log_function)(const char* line, void* user);

/// Memory of the current CUDA device, aligned to 8 bytes; NULL if there is none.
typedef void* (*gsofa_device_memory_function)(size_t bytes, void* user);

/// Columns begin .. end - 1.
typedef struct gsofa_range {
  int32_t begin;
  int32_t end;
} gsofa_range;

/// What is asked for; call gsofa_options_init() first. Later versions add members at the end.
typedef struct gsofa_options {
  size_t size;                 ///< of this structure as the caller knows it
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
  int factor_columns;          ///< nonzero: explicit L and U by columns
  /// NULL, or called by the thread that called gsofa_analyze(), before any work and then every
  /// progress_seconds, as analysis_options::progress of gsofa.hpp.
  gsofa_progress_function progress;
  gsofa_log_function log;   ///< NULL, or called by the same thread
  void* user;               ///< for `progress` and `log`
  double progress_seconds;  ///< between two calls of `progress`
  int supernodal;           ///< nonzero: gsofa_supernodal()
  int32_t most_columns;     ///< of a supernode there; 0: any number
  int32_t relax;            ///< 1, or SuperLU's relaxed supernodes of so many columns
  /// NULL, or gives memory for L, U and supernodes of columns that stay on the device, as
  /// analysis_options::device_memory of gsofa.hpp; with `user`.
  gsofa_device_memory_function device_memory;
  /// NULL, or a cudaStream_t: memory of device_memory is written after what this was given by then.
  void* device_stream;
  int tree;  ///< nonzero: gsofa_parent(), gsofa_l_col_counts(), gsofa_flops()
  /// In place of `relax` these relaxed supernodes, as analysis_options::relaxed of gsofa.hpp.
  int32_t relaxed_count;
  const gsofa_range* relaxed;
  int masks;  ///< nonzero: gsofa_masks()
} gsofa_options;

/// Defaults: automatic device and order, one thread, matching, neither factors nor supernodes, no
/// callbacks, progress every 0.1 s. `size` is sizeof(gsofa_options) of the caller: no byte beyond is
/// written.
GSOFA_API void gsofa_options_init_sized(gsofa_options* options, size_t size);
static inline void gsofa_options_init(gsofa_options* options) {
  gsofa_options_init_sized(options, sizeof(gsofa_options));
}

/// Result of gsofa_analyze().
typedef struct gsofa_analysis gsofa_analysis;

/// Analyses the pattern of a square matrix of order n: row_ptr has n + 1 entries from 0, col_idx
/// row_ptr[n], rows unsorted and with duplicates if need be. `options` may be NULL: defaults.
/// `*out` is a new handle, or NULL after any failure.
GSOFA_API gsofa_status gsofa_analyze(int32_t n, const int64_t* row_ptr, const int32_t* col_idx,
                                     const gsofa_options* options, gsofa_analysis** out);

/// The same of a pattern in any integers, by rows or columns.
GSOFA_API gsofa_status gsofa_analyze_pattern(const gsofa_pattern* a, const gsofa_options* options,
                                             gsofa_analysis** out);
/// The same of a pattern in device memory: analyzed there, or a copy of it on the host, as analyze()
/// of gsofa.hpp does. GSOFA_UNAVAILABLE without a device.
GSOFA_API gsofa_status gsofa_analyze_device(const gsofa_device_pattern* a,
                                            const gsofa_options* options, gsofa_analysis** out);

/// Analyses `count` patterns, several at a time, as analyze_batch() of gsofa.hpp does, in compressed
/// rows with GSOFA_INDEX_64_32. out[k] is a new handle for patterns[k]; after any failure all `count`
/// of them are NULL, and the text says which pattern was at fault. `patterns` and `out` may be NULL
/// if `count` is 0. A permutation of the options is one of each pattern, all of which have one order
/// then.
GSOFA_API gsofa_status gsofa_analyze_batch(const gsofa_pattern* patterns, size_t count,
                                           const gsofa_options* options, gsofa_analysis** out);

/// An analysis that keeps its working storage and is done by a thread of its own, as analyzer and
/// pending_analysis of gsofa.hpp.
typedef struct gsofa_analyzer gsofa_analyzer;
GSOFA_API gsofa_status gsofa_analyzer_create(gsofa_analyzer** out);
/// Cancels an analysis that has not ended, waits for its end, and releases all results; NULL is
/// allowed. In a callback of the analysis it returns at once, and no callback is called again.
GSOFA_API void gsofa_analyzer_free(gsofa_analyzer* by);
/// Begins an analysis and returns. The arrays of the pattern and of the permutation must live until
/// it has ended; callbacks are called by another thread. The last result is no more.
/// GSOFA_INVALID_INPUT while the one before has not ended, and for options and patterns that are no
/// such; all else is for gsofa_analyzer_wait() to report.
GSOFA_API gsofa_status gsofa_analyzer_start(gsofa_analyzer* by, const gsofa_pattern* a,
                                            const gsofa_options* options);
GSOFA_API gsofa_status gsofa_analyzer_start_device(gsofa_analyzer* by, const gsofa_device_pattern* a,
                                                   const gsofa_options* options);
/// Nonzero if gsofa_analyzer_wait() would not wait.
GSOFA_API int gsofa_analyzer_ready(const gsofa_analyzer* by);
/// Asks the analysis to end and does not wait: GSOFA_CANCELLED, unless it ends before.
GSOFA_API void gsofa_analyzer_cancel(gsofa_analyzer* by);
/// Waits for the end of the analysis that was begun last, as often as it is called. `*out` belongs to
/// the analyzer and is valid until the next start; NULL after any failure. GSOFA_INVALID_INPUT in a
/// callback of the analysis. GSOFA_UNAVAILABLE in a process that was forked while the analysis was
/// under way: it goes on in the parent only.
GSOFA_API gsofa_status gsofa_analyzer_wait(gsofa_analyzer* by, const gsofa_analysis** out);

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
/// GSOFA_INVALID_INPUT if factors were not asked for, are in device memory, or an argument is NULL.
GSOFA_API gsofa_status gsofa_l(const gsofa_analysis* a, const int64_t** row_ptr,
                               const int32_t** col_idx);
GSOFA_API gsofa_status gsofa_u(const gsofa_analysis* a, const int64_t** row_ptr,
                               const int32_t** col_idx);

/// The same by columns: n + 1 column pointers, rows ascending within each column. They need
/// gsofa_options::factor_columns.
GSOFA_API gsofa_status gsofa_l_columns(const gsofa_analysis* a, const int64_t** col_ptr,
                                       const int32_t** row_idx);
GSOFA_API gsofa_status gsofa_u_columns(const gsofa_analysis* a, const int64_t** col_ptr,
                                       const int32_t** row_idx);

/// Copies of L and of U, by rows or columns as `format` says and the options asked for, into arrays
/// of the caller: n + 1 pointers, and gsofa_nnz_l() or gsofa_nnz_u() indices. GSOFA_OVERFLOW, with
/// nothing written, if a pointer does not fit.
GSOFA_API gsofa_status gsofa_copy_l(const gsofa_analysis* a, int format, int index_type,
                                    void* pointers, void* indices);
GSOFA_API gsofa_status gsofa_copy_u(const gsofa_analysis* a, int format, int index_type,
                                    void* pointers, void* indices);

/// L + U by supernodes of columns, as supernodal_factors of gsofa.hpp; the arrays belong to the
/// analysis.
typedef struct gsofa_supernodal_view {
  int32_t supernodes;
  const int32_t* first_column;   ///< supernodes + 1
  const int64_t* row_begin;      ///< supernodes + 1
  const int32_t* rows;           ///< row_begin[supernodes]: of the first column of each, in L
  const int64_t* segment_begin;  ///< n + 1
  const int32_t* segments;       ///< segment_begin[n]: first rows of the segments of columns of U
} gsofa_supernodal_view;
/// GSOFA_INVALID_INPUT if gsofa_options::supernodal was 0, the supernodes are in device memory, or an
/// argument is NULL.
GSOFA_API gsofa_status gsofa_supernodal(const gsofa_analysis* a, gsofa_supernodal_view* out);

/// L and U (factors) and the supernodes of columns that an analysis left in device memory of the
/// caller. GSOFA_UNAVAILABLE where it did not: gsofa_l(), gsofa_u() and gsofa_supernodal() have what
/// the host found. GSOFA_INVALID_INPUT if an argument is NULL.
GSOFA_API gsofa_status gsofa_device_l(const gsofa_analysis* a, gsofa_device_pattern* out);
GSOFA_API gsofa_status gsofa_device_u(const gsofa_analysis* a, gsofa_device_pattern* out);
GSOFA_API gsofa_status gsofa_device_supernodal(const gsofa_analysis* a, gsofa_supernodal_view* out);

/// L + U compressed to bits, as mask_factors of gsofa.hpp; the arrays belong to the analysis.
typedef struct gsofa_masks_view {
  int32_t panels;
  const int32_t* first_vertex;    ///< panels + 1
  const int64_t* position_begin;  ///< panels + 1
  const int32_t* vertices;        ///< position_begin[panels]
  const uint64_t* masks;          ///< two for each of them: U, then L
} gsofa_masks_view;
/// GSOFA_INVALID_INPUT if gsofa_options::masks was 0 or an argument is NULL.
GSOFA_API gsofa_status gsofa_masks(const gsofa_analysis* a, gsofa_masks_view* out);

/// With gsofa_options::tree: n entries each, the elimination tree of A + A^T (-1 for roots) and the
/// entries of the columns of L below the diagonal; operations of A = L U. NULL and 0 if it was not
/// asked for, or for NULL.
GSOFA_API const int32_t* gsofa_parent(const gsofa_analysis* a);
GSOFA_API const int32_t* gsofa_l_col_counts(const gsofa_analysis* a);
GSOFA_API double gsofa_flops(const gsofa_analysis* a);

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

/// Elimination tree of A + A^T: `parent` has n entries, -1 for roots.
GSOFA_API gsofa_status gsofa_elimination_tree(const gsofa_pattern* a, int32_t* parent);

/// Of an elimination tree of n vertices, `parent` of each (-1 or n for roots), vertices by height, as
/// level_sets() of gsofa.hpp: `vertices` gets n entries, `begin` at most n + 1, of which *levels + 1
/// are set.
GSOFA_API gsofa_status gsofa_level_sets(int32_t n, const int32_t* parent, int32_t* begin,
                                        int32_t* vertices, int32_t* levels);
/// A postorder of it, n vertices by new position.
GSOFA_API gsofa_status gsofa_tree_postorder(int32_t n, const int32_t* parent, int32_t* order);
/// The supernodes that gsofa_options::relax means, of a postordered tree: at most n ranges, of which
/// *count are set.
GSOFA_API gsofa_status gsofa_relaxed_supernodes(int32_t n, const int32_t* parent, int32_t relax,
                                                gsofa_range* ranges, int32_t* count);

/// What an analysis will find and take at most, as fill_estimate of gsofa.hpp.
typedef struct gsofa_fill_estimate {
  int64_t nnz_a;
  int64_t nnz_l;
  int64_t nnz_u;
  double flops;
  int64_t result_bytes;
  int64_t working_bytes;
  int symmetric;
} gsofa_fill_estimate;
/// As estimate() of gsofa.hpp. `permutation` gets n entries for GSOFA_ORDER_GIVEN, unless it is NULL.
GSOFA_API gsofa_status gsofa_estimate(const gsofa_pattern* a, const gsofa_options* options,
                                      gsofa_fill_estimate* out, int32_t* permutation);

/// Where the entries of L + U are and what a factorization costs, as profile() of gsofa.hpp.
typedef struct gsofa_profile gsofa_profile;

/// Of a pattern as it is, without matching or order, on so many host threads (0: all); `cells` in
/// [0, 8192] is lowered to n. `*out` is a new handle, or NULL after any failure.
GSOFA_API gsofa_status gsofa_profile_pattern(const gsofa_pattern* a, int32_t cells, int threads,
                                             gsofa_profile** out);
/// Releases a handle; NULL is allowed.
GSOFA_API void gsofa_profile_free(gsofa_profile* p);
/// n entries each: parents in the elimination tree, entries of the columns of L below the diagonal,
/// entries of the rows of U with it. NULL for NULL.
GSOFA_API const int32_t* gsofa_profile_parent(const gsofa_profile* p);
GSOFA_API const int32_t* gsofa_profile_l_col_counts(const gsofa_profile* p);
GSOFA_API const int32_t* gsofa_profile_u_row_counts(const gsofa_profile* p);
/// Operations of A = L U; cells in each direction; cells x cells numbers of entries, by rows.
GSOFA_API double gsofa_profile_flops(const gsofa_profile* p);
GSOFA_API int32_t gsofa_profile_cells(const gsofa_profile* p);
GSOFA_API const int64_t* gsofa_profile_density(const gsofa_profile* p);

/// Algorithms of this build, in order of name. Texts are valid until the process ends.
typedef struct gsofa_variant {
  const char* name;
  const char* device;       ///< "cpu" or "gpu"
  const char* summary;      ///< one line
  const char* unavailable;  ///< why it cannot run on this machine; "" if it can
} gsofa_variant;
GSOFA_API gsofa_status gsofa_variants(const gsofa_variant** variants, int32_t* count);

/// Nonzero where METIS can be loaded.
GSOFA_API int gsofa_has_metis(void);

/// Version of the library, "major.minor.patch".
GSOFA_API const char* gsofa_version(void);

#ifdef __cplusplus
}
#endif

#endif
