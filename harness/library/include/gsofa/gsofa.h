#ifndef GSOFA_GSOFA_H
#define GSOFA_GSOFA_H

/// C99 interface to exact symbolic LU factorization. gsofa.hpp defines every option and result of
/// the same name. Indices are 0-based; results have 64-bit pointers and 32-bit columns.
///
/// Errors: functions that can fail return a gsofa_status and leave one line of text for
/// gsofa_last_error().
///
/// Ownership: arrays that the caller passes stay the caller's; after a call returns, the library no
/// longer reads them. Arrays in a gsofa_result belong to their gsofa_analysis and are valid until
/// it is released. Nothing that the caller changes after a call changes a result.

#include <stddef.h>
#include <stdint.h>

#include "gsofa/export.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum gsofa_status {
  GSOFA_OK = 0,
  GSOFA_INVALID_INPUT = 1,   ///< the pattern or an option is wrong
  GSOFA_UNAVAILABLE = 2,     ///< this build or machine lacks what the caller named
  GSOFA_OUT_OF_MEMORY = 3,   ///< of the host, of the device or of the budget
  GSOFA_INTERNAL_ERROR = 4,  ///< the device or a library failed
  GSOFA_OVERFLOW = 5,        ///< a number does not fit in its integer type
  GSOFA_CANCELLED = 6        ///< gsofa_options::progress returned nonzero
} gsofa_status;

typedef enum gsofa_device { GSOFA_AUTOMATIC = 0, GSOFA_CPU = 1, GSOFA_GPU = 2 } gsofa_device;

/// As order_method of gsofa.hpp.
typedef enum gsofa_order {
  GSOFA_ORDER_AUTOMATIC = 0,
  GSOFA_ORDER_METIS = 1,
  GSOFA_ORDER_AMD = 2,
  GSOFA_ORDER_COLAMD = 3,
  GSOFA_ORDER_NATURAL = 4,
  GSOFA_ORDER_GIVEN = 5,  ///< gsofa_options::permutation
  GSOFA_ORDER_CPU_NESTED_DISSECTION = 6,
  GSOFA_ORDER_TOURNAMENT = 7,
  GSOFA_ORDER_GPU_NESTED_DISSECTION = 8,
  GSOFA_ORDER_AMF = 9
} gsofa_order;

/// Integer types of the arrays of a pattern: bits of the pointers, bits of the indices.
typedef enum gsofa_index_type {
  GSOFA_INDEX_64_32 = 0,  ///< int64_t, int32_t
  GSOFA_INDEX_32_32 = 1,  ///< int32_t, int32_t
  GSOFA_INDEX_64_64 = 2   ///< int64_t, int64_t
} gsofa_index_type;

typedef enum gsofa_format {
  GSOFA_CSR = 0,  ///< compressed rows
  GSOFA_CSC = 1   ///< compressed columns
} gsofa_format;

/// As stored_triangle of gsofa.hpp.
typedef enum gsofa_triangle {
  GSOFA_BOTH_TRIANGLES = 0,
  GSOFA_LOWER_TRIANGLE = 1,
  GSOFA_UPPER_TRIANGLE = 2
} gsofa_triangle;

/// As factorization_kind of gsofa.hpp.
typedef enum gsofa_factorization {
  GSOFA_FACTORIZATION_AUTOMATIC = 0,
  GSOFA_FACTORIZATION_LEFT_LOOKING = 1,
  GSOFA_FACTORIZATION_SUPERNODAL = 2,
  GSOFA_FACTORIZATION_GPU = 3,
  GSOFA_FACTORIZATION_DISTRIBUTED = 4
} gsofa_factorization;

/// Parts of an analysis, in their order.
typedef enum gsofa_stage {
  GSOFA_STAGE_CHECK = 0,
  GSOFA_STAGE_MATCH = 1,
  GSOFA_STAGE_ORDER = 2,
  GSOFA_STAGE_PERMUTE = 3,
  GSOFA_STAGE_ANALYZE = 4,
  GSOFA_STAGE_OUTPUT = 5
} gsofa_stage;

/// Pattern of a square matrix of order n in host memory: n + 1 pointers from 0, and pointers[n]
/// indices. Rows (columns) may be unsorted and hold duplicates.
typedef struct gsofa_pattern {
  int64_t n;
  const void* pointers;  ///< of index_type
  const void* indices;   ///< of index_type; NULL if there are no entries
  int index_type;        ///< a gsofa_index_type
  int format;            ///< a gsofa_format
} gsofa_pattern;

/// Pattern of a square matrix of order n in compressed rows in the memory of the current CUDA
/// device.
typedef struct gsofa_device_pattern {
  int64_t n;
  int64_t nnz;
  const void* pointers;  ///< n + 1, of index_type
  const void* indices;   ///< nnz, of index_type
  int index_type;        ///< a gsofa_index_type
  /// A cudaStream_t; the arrays must be ready once all work enqueued on it before the call has
  /// finished. NULL: the legacy default stream.
  void* stream;
} gsofa_device_pattern;

/// Columns begin .. end - 1.
typedef struct gsofa_range {
  int32_t begin;
  int32_t end;
} gsofa_range;

/// `share` of the gsofa_stage is done, from 0 to 1; -1 if unknown. Nonzero cancels the analysis.
typedef int (*gsofa_progress_function)(int stage, double share, void* user);
/// One line of text without an end of line.
typedef void (*gsofa_log_function)(const char* line, void* user);
/// Returns memory of the current CUDA device, aligned to 8 bytes, or NULL if there is none.
typedef void* (*gsofa_device_memory_function)(size_t bytes, void* user);

/// As analysis_options of gsofa.hpp. Call gsofa_options_init() first. Later versions add members at
/// the end.
typedef struct gsofa_options {
  size_t size;                 ///< of this structure as the caller compiled it
  int device;                  ///< a gsofa_device
  int order;                   ///< a gsofa_order
  const char* variant;         ///< name of one algorithm; NULL: chosen by `device`
  const int32_t* permutation;  ///< n entries for GSOFA_ORDER_GIVEN, else NULL
  int64_t memory_budget_mb;    ///< -1 or 0: chosen by the library
  int threads;                 ///< host threads; 0: all
  int match;                   ///< nonzero: permute rows for a zero-free diagonal if it has zeros
  int factors;                 ///< nonzero: gsofa_result::l, u
  int supernodes;              ///< nonzero: gsofa_result::supernode_starts
  int32_t chunk_size;          ///< supernodes never cross a multiple of it; 0: unlimited
  int factor_columns;          ///< nonzero: gsofa_result::l_columns, u_columns
  gsofa_progress_function progress;  ///< or NULL
  gsofa_log_function log;            ///< or NULL
  void* user;                        ///< for the callbacks
  double progress_seconds;           ///< between two calls of `progress`
  int supernodal;                    ///< nonzero: gsofa_result::supernodal
  int32_t most_columns;              ///< of a supernode of `supernodal`; 0: unlimited
  int32_t relax;  ///< 1, or the most columns of a relaxed supernode as SuperLU has them
  gsofa_device_memory_function device_memory;  ///< or NULL: nothing stays on the device
  void* device_stream;  ///< a cudaStream_t that orders writes to device_memory, or NULL
  int tree;             ///< nonzero: gsofa_result::parent, l_col_counts, flops
  int32_t relaxed_count;
  const gsofa_range* relaxed;  ///< relaxed supernodes, instead of `relax`
  int masks;                   ///< nonzero: gsofa_result::masks
  int symmetric;               ///< a gsofa_triangle: what the pattern holds
  int first_index;             ///< 0, or 1: messages about the pattern count from 1
  const char* order_options;   ///< OPTION=VALUE,... of the order; NULL: defaults
  int64_t factorizations;      ///< that GSOFA_ORDER_AUTOMATIC is for
  int factorization_kind;      ///< a gsofa_factorization: how the program factorizes
  int factorization_cores;     ///< of a supernodal factorization
} gsofa_options;

/// Defaults: automatic device and order, all threads, matching, counts alone, no callbacks,
/// progress every 0.1 s. Writes `size` bytes.
GSOFA_API void gsofa_options_init_sized(gsofa_options* options, size_t size);
static inline void gsofa_options_init(gsofa_options* options) {
  gsofa_options_init_sized(options, sizeof(gsofa_options));
}

/// L below the diagonal, or U with it: n + 1 pointers from 0 and pointers[n] indices, ascending
/// within each row (column). Both NULL if the options did not request it or it is in device memory.
typedef struct gsofa_factor {
  const int64_t* pointers;
  const int32_t* indices;  ///< may be NULL if there are no entries
} gsofa_factor;

/// L + U by supernodes of columns, as supernodal_factors of gsofa.hpp.
typedef struct gsofa_supernodal_view {
  int32_t supernodes;
  const int32_t* first_column;   ///< supernodes + 1
  const int64_t* row_begin;      ///< supernodes + 1
  const int32_t* rows;           ///< row_begin[supernodes]: of the first column of each, in L
  const int64_t* segment_begin;  ///< n + 1
  const int32_t* segments;       ///< segment_begin[n]: first rows of the segments of columns of U
} gsofa_supernodal_view;

/// L + U compressed to bits, as mask_factors of gsofa.hpp.
typedef struct gsofa_masks_view {
  int32_t panels;
  const int32_t* first_vertex;    ///< panels + 1
  const int64_t* position_begin;  ///< panels + 1
  const int32_t* vertices;        ///< position_begin[panels]
  const uint64_t* masks;          ///< two for each of them: U, then L
} gsofa_masks_view;

/// How gsofa_analyzer_update() found its order, as order_change of gsofa.hpp.
typedef enum gsofa_order_change {
  GSOFA_NEW_ORDER = 0,
  GSOFA_ORDER_KEPT = 1,
  GSOFA_ORDER_MOVED = 2
} gsofa_order_change;

/// What an analysis found, as analysis of gsofa.hpp, in the new numbering. Entry (i, j) of the
/// permuted matrix is entry (row_order[i], col_order[j]) of A. Whatever the options did not request
/// is zero or NULL. Later versions add members at the end.
typedef struct gsofa_result {
  size_t size;                  ///< bytes that the library filled
  int32_t n;                    ///< order
  int32_t diagonal_added;       ///< diagonal entries added to A
  int64_t nnz_a;                ///< entries of A with the added ones
  int64_t nnz_l;                ///< entries of L below the diagonal
  int64_t nnz_u;                ///< entries of U with the diagonal
  const int32_t* row_order;     ///< n; old row by new position
  const int32_t* col_order;     ///< n; old column by new position
  const int32_t* l_row_counts;  ///< n; entries of the rows of L
  const int32_t* u_row_counts;  ///< n; entries of the rows of U
  gsofa_factor l;               ///< by rows
  gsofa_factor u;               ///< by rows
  gsofa_factor l_columns;       ///< by columns
  gsofa_factor u_columns;       ///< by columns
  int32_t supernode_count;
  const int32_t* supernode_starts;  ///< supernode_count first rows of the T3 supernodes
  gsofa_supernodal_view supernodal;
  gsofa_masks_view masks;
  const int32_t* parent;        ///< n; elimination tree of A + A^T, -1 for roots
  const int32_t* l_col_counts;  ///< n; entries of the columns of L
  double flops;                 ///< operations of A = L U
  /// L, U and supernodes in memory of gsofa_options::device_memory; order 0 if the host found them.
  gsofa_device_pattern device_l;
  gsofa_device_pattern device_u;
  gsofa_supernodal_view device_supernodal;
  const char* variant;      ///< name of the algorithm that ran
  const char* order;        ///< name of the order with its options
  const char* fallback;     ///< why the analysis fell back from a device to the host, else ""
  double order_seconds;     ///< matching and ordering
  double setup_seconds;     ///< allocation
  double analysis_seconds;  ///< symbolic factorization
  double output_seconds;    ///< copying out
  /// What gsofa_analyzer_update() did to the order; zero after other analyses, for
  /// GSOFA_ORDER_NATURAL and GSOFA_ORDER_GIVEN, and for n = 0.
  int update_kind;         ///< a gsofa_order_change
  int update_compared;     ///< nonzero: with a new order, and the better one taken
  int64_t rows_changed;    ///< new or different; n if none is compared
  int64_t vertices_moved;  ///< new, or moved to an ancestor
  const char* order_note;  ///< what was done besides or instead of the order, else ""
  const char* warning;     ///< what the caller may not have meant, else ""
} gsofa_result;

/// An analysis, which owns the arrays of its result.
typedef struct gsofa_analysis gsofa_analysis;

/// Analyzes the pattern of a square matrix of order n in compressed rows. `options` may be NULL:
/// defaults. `*out` is a new handle, or NULL after any failure.
GSOFA_API gsofa_status gsofa_analyze(int32_t n, const int64_t row_ptr[], const int32_t col_idx[],
                                     const gsofa_options* options, gsofa_analysis** out);
/// As gsofa_analyze(), for rows or columns in any integers.
GSOFA_API gsofa_status gsofa_analyze_pattern(const gsofa_pattern* a, const gsofa_options* options,
                                             gsofa_analysis** out);
/// As gsofa_analyze(), for a pattern in device memory. GSOFA_UNAVAILABLE without a device.
GSOFA_API gsofa_status gsofa_analyze_device(const gsofa_device_pattern* a,
                                            const gsofa_options* options, gsofa_analysis** out);
/// Releases a handle; NULL is allowed.
GSOFA_API void gsofa_free(gsofa_analysis* a);

/// Fills `size` bytes of the result. The arrays are valid until gsofa_free(), or for a handle of an
/// analyzer until its next analysis or update. GSOFA_INVALID_INPUT, with `*out` zeroed, if `a` is
/// NULL.
GSOFA_API gsofa_status gsofa_get_result_sized(const gsofa_analysis* a, gsofa_result* out,
                                              size_t size);
static inline gsofa_status gsofa_get_result(const gsofa_analysis* a, gsofa_result* out) {
  return gsofa_get_result_sized(a, out, sizeof(gsofa_result));
}

/// Why the last call of this thread that returned no GSOFA_OK failed; "" before any failure.
GSOFA_API const char* gsofa_last_error(void);

/// Analyzes pattern after pattern and keeps its working storage, as analyzer of gsofa.hpp.
typedef struct gsofa_analyzer gsofa_analyzer;
GSOFA_API gsofa_status gsofa_analyzer_create(gsofa_analyzer** out);
/// Releases the analyzer and its results; NULL is allowed. Not in a callback of its analysis.
GSOFA_API void gsofa_analyzer_free(gsofa_analyzer* by);
/// Analyzes a pattern on the calling thread. `*out` belongs to the analyzer and is valid until its
/// next analysis or update; NULL after any failure. GSOFA_INVALID_INPUT in a callback of its own
/// analysis.
GSOFA_API gsofa_status gsofa_analyzer_analyze(gsofa_analyzer* by, const gsofa_pattern* a,
                                              const gsofa_options* options,
                                              const gsofa_analysis** out);
GSOFA_API gsofa_status gsofa_analyzer_analyze_device(gsofa_analyzer* by,
                                                     const gsofa_device_pattern* a,
                                                     const gsofa_options* options,
                                                     const gsofa_analysis** out);
/// Analyzes a pattern that differs little from that of the last update of this analyzer, as
/// analyzer::update() of gsofa.hpp. previous[i], of n entries, is the row of that pattern that row
/// i was, -1 if it is new; NULL: i. `*out` is as for gsofa_analyzer_analyze().
GSOFA_API gsofa_status gsofa_analyzer_update(gsofa_analyzer* by, const gsofa_pattern* a,
                                             const int32_t previous[], const gsofa_options* options,
                                             const gsofa_analysis** out);
GSOFA_API gsofa_status gsofa_analyzer_update_device(gsofa_analyzer* by,
                                                    const gsofa_device_pattern* a,
                                                    const int32_t previous[],
                                                    const gsofa_options* options,
                                                    const gsofa_analysis** out);

/// Reads the pattern of the square matrix in a file, as read_pattern() of gsofa.hpp, in
/// GSOFA_INDEX_64_32 and GSOFA_CSR with ascending columns. gsofa_pattern_free() releases its
/// arrays. After any failure n is 0 and both pointers are NULL.
GSOFA_API gsofa_status gsofa_read_pattern(const char* file, gsofa_pattern* out);
/// Releases the arrays that gsofa_read_pattern() allocated, and sets them to NULL; NULL is allowed.
GSOFA_API void gsofa_pattern_free(gsofa_pattern* a);

/// A maximum matching of rows and columns, as match() of gsofa.hpp. values: of all entries in the
/// order of the pattern's indices, or NULL. method: a name, or NULL or "" for the default. Sets
/// row_of_col[j], n entries, to the row that belongs at position j of the diagonal, or -1;
/// row_scale and col_scale, n entries each or NULL, to the scales, or to 1 if the method gives
/// none; and *structural_rank.
GSOFA_API gsofa_status gsofa_match(const gsofa_pattern* a, const double values[],
                                   const char* method, int32_t row_of_col[], double row_scale[],
                                   double col_scale[], int32_t* structural_rank);

/// Elimination tree of A + A^T: n parents, -1 for roots.
GSOFA_API gsofa_status gsofa_elimination_tree(const gsofa_pattern* a, int32_t parent[]);
/// Vertices of an elimination tree (parents; -1 or n for roots) by height, as level_sets() of
/// gsofa.hpp. `vertices` has room for n entries, `begin` for n + 1, of which *levels + 1 are set.
GSOFA_API gsofa_status gsofa_level_sets(int32_t n, const int32_t parent[], int32_t begin[],
                                        int32_t vertices[], int32_t* levels);
/// A postorder of an elimination tree: n vertices by new position.
GSOFA_API gsofa_status gsofa_tree_postorder(int32_t n, const int32_t parent[], int32_t order[]);
/// The relaxed supernodes that gsofa_options::relax selects in a postordered tree. `ranges` has
/// room for n entries, of which *count are set.
GSOFA_API gsofa_status gsofa_relaxed_supernodes(int32_t n, const int32_t parent[], int32_t relax,
                                                gsofa_range ranges[], int32_t* count);

/// As tree_layout of gsofa.hpp.
typedef enum gsofa_tree_layout {
  GSOFA_TREE_BY_LEVEL = 0,  ///< levels of nodes, the deepest first, the root last (cuDSS)
  GSOFA_TREE_NESTED = 1     ///< left subtree, right subtree, separator (METIS)
} gsofa_tree_layout;

/// As order_options of gsofa.hpp. Call gsofa_order_options_init() first. Later versions add members
/// at the end.
typedef struct gsofa_order_options {
  size_t size;                       ///< of this structure as the caller compiled it
  int device;                        ///< a gsofa_device
  int order;                         ///< a gsofa_order
  int threads;                       ///< host threads; 0: all
  int tree_levels;                   ///< of a separator tree; 0: none
  int layout;                        ///< a gsofa_tree_layout: of the order, if there is a tree
  const int32_t* permutation;        ///< n entries for GSOFA_ORDER_GIVEN, else NULL
  const int32_t* weights;            ///< n vertex weights, 1 or more, or NULL
  int64_t seed;                      ///< of the search; -1: the default of the method
  gsofa_progress_function progress;  ///< or NULL
  gsofa_log_function log;            ///< or NULL; the last line names the method
  void* user;                        ///< for the callbacks
  double progress_seconds;           ///< between two calls of `progress`
  const char* order_options;         ///< OPTION=VALUE,... of the order; NULL: defaults
  int64_t factorizations;            ///< that GSOFA_ORDER_AUTOMATIC is for
  int factorization_kind;            ///< a gsofa_factorization: how the program factorizes
  int factorization_cores;           ///< of a supernodal factorization
  const int32_t* groups;             ///< n group numbers, 0 or more, or NULL
  int64_t longest_row;               ///< longer rows come last; 0: none
} gsofa_order_options;
/// Defaults: automatic device and order, all threads, no tree. Writes `size` bytes.
GSOFA_API void gsofa_order_options_init_sized(gsofa_order_options* options, size_t size);
static inline void gsofa_order_options_init(gsofa_order_options* options) {
  gsofa_order_options_init_sized(options, sizeof(gsofa_order_options));
}
/// A fill-reducing order of rows and columns alike, as order() of gsofa.hpp: `permutation` receives
/// n old indices by new position. With tree_levels > 0, `tree_sizes`, unless it is NULL, receives
/// the vertices of the 2^tree_levels - 1 nodes of the separator tree by level, the deepest first.
/// After any failure nothing is written. `options` may be NULL: defaults.
GSOFA_API gsofa_status gsofa_order_pattern(const gsofa_pattern* a,
                                           const gsofa_order_options* options,
                                           int32_t permutation[], int32_t* tree_sizes);
/// The same for a pattern in device memory, which is copied to the host; `permutation` and
/// `tree_sizes` are arrays of the host. GSOFA_UNAVAILABLE without a device.
GSOFA_API gsofa_status gsofa_order_device(const gsofa_device_pattern* a,
                                          const gsofa_order_options* options, int32_t permutation[],
                                          int32_t* tree_sizes);

/// Upper bounds for a result and an estimate of memory, as fill_estimate of gsofa.hpp.
typedef struct gsofa_fill_estimate {
  int64_t nnz_a;
  int64_t nnz_l;
  int64_t nnz_u;
  double flops;
  int64_t result_bytes;
  int64_t working_bytes;
  int symmetric;
  int64_t supernodal_bytes;
  int64_t multifrontal_bytes;
} gsofa_fill_estimate;
/// As estimate() of gsofa.hpp. `permutation` receives n entries for GSOFA_ORDER_GIVEN, unless it is
/// NULL.
GSOFA_API gsofa_status gsofa_estimate(const gsofa_pattern* a, const gsofa_options* options,
                                      gsofa_fill_estimate* out, int32_t* permutation);

/// Where the entries of L + U are and what a factorization costs, as fill_profile of gsofa.hpp. The
/// library allocates it; later versions add members at the end.
typedef struct gsofa_profile {
  int32_t n;
  int32_t cells;                ///< cells of `density` in each direction
  const int32_t* parent;        ///< n; elimination tree of A + A^T, -1 for roots
  const int32_t* l_col_counts;  ///< n; entries of the columns of L below the diagonal
  const int32_t* u_row_counts;  ///< n; entries of the rows of U with the diagonal
  const int64_t* density;       ///< cells x cells numbers of entries, by rows
  double flops;                 ///< operations of A = L U
} gsofa_profile;
/// Profiles a pattern as it is, without matching or order, on `threads` host threads (0: all);
/// `cells` in [0, 8192] is lowered to n. `*out` is a new profile, or NULL after any failure.
GSOFA_API gsofa_status gsofa_profile_pattern(const gsofa_pattern* a, int32_t cells, int threads,
                                             gsofa_profile** out);
/// Releases a profile with its arrays; NULL is allowed.
GSOFA_API void gsofa_profile_free(gsofa_profile* p);

typedef struct gsofa_variant {
  const char* name;
  const char* device;       ///< "cpu" or "gpu"
  const char* summary;      ///< one line
  const char* unavailable;  ///< why it cannot run on this machine; "" if it can
} gsofa_variant;
/// Algorithms of this build, in order of name; valid until the process ends.
GSOFA_API gsofa_status gsofa_variants(const gsofa_variant** variants, int32_t* count);

/// Nonzero if METIS can be loaded.
GSOFA_API int gsofa_has_metis(void);

/// Version of the library, "major.minor.patch".
GSOFA_API const char* gsofa_version(void);

#ifdef __cplusplus
}
#endif

#endif
