#pragma once

/// Exact symbolic LU factorization of sparse nonsymmetric patterns with static pivoting.
///
/// Given the pattern of a square matrix A, analyze() permutes its rows for a zero-free diagonal,
/// orders rows and columns alike, and finds the patterns of L and U of Gaussian elimination without
/// pivoting and without numerical cancellation: (i, j) is in L+U iff it is in the permuted A or
/// there is a path i -> ... -> j in its graph whose intermediate vertices are all smaller than
/// min(i, j) (Rose & Tarjan 1978). The patterns are exact.
///
/// Indices are 0-based. Needs C++20.

#if (defined(_MSVC_LANG) ? _MSVC_LANG : __cplusplus) < 202002L
#error "gsofa/gsofa.hpp needs C++20 (-std=c++20); gsofa/gsofa.h is the C99 interface"
#else

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "gsofa/export.h"

namespace gsofa {

/// Pattern of a square matrix in compressed sparse rows, owned by the caller: row i holds the
/// columns col_idx[row_ptr[i] .. row_ptr[i+1]).
template <class Offset, class Index>
struct basic_csr_view {
  Index n = 0;                      ///< order, below 2^31
  std::span<const Offset> row_ptr;  ///< n + 1 entries, from 0 to the size of col_idx
  std::span<const Index> col_idx;   ///< in [0, n)

  /// Columns of row i.
  [[nodiscard]] std::span<const Index> row(Index i) const {
    const auto k = static_cast<std::size_t>(i);
    return col_idx.subspan(static_cast<std::size_t>(row_ptr[k]),
                           static_cast<std::size_t>(row_ptr[k + 1] - row_ptr[k]));
  }
};

/// The same in compressed sparse columns: column j holds the rows row_idx[col_ptr[j] ..
/// col_ptr[j+1]).
template <class Offset, class Index>
struct basic_csc_view {
  Index n = 0;
  std::span<const Offset> col_ptr;
  std::span<const Index> row_idx;
};

/// Compressed sparse rows in the memory of the current CUDA device (cudaMalloc, cudaMallocManaged,
/// the arrays of CuPy). The arrays must be ready once all work enqueued on `stream` before the call
/// has finished.
template <class Offset, class Index>
struct basic_device_csr_view {
  Index n = 0;
  std::int64_t nnz = 0;
  const Offset* row_ptr = nullptr;  ///< n + 1
  const Index* col_idx = nullptr;   ///< nnz
  void* stream = nullptr;           ///< cudaStream_t; null: the legacy default stream
};

/// Compressed sparse rows, owning; columns are strictly ascending within a row.
template <class Offset, class Index>
struct basic_csr_pattern {
  Index n = 0;
  std::vector<Offset> row_ptr{0};
  std::vector<Index> col_idx;

  [[nodiscard]] basic_csr_view<Offset, Index> view() const { return {n, row_ptr, col_idx}; }
  [[nodiscard]] std::span<const Index> row(Index i) const { return view().row(i); }
};

/// The analysis itself has 64-bit pointers and 32-bit columns; arrays of the other types are copied
/// once.
using csr_view = basic_csr_view<std::int64_t, std::int32_t>;
using csr_view_32 = basic_csr_view<std::int32_t, std::int32_t>;
using csr_view_64 = basic_csr_view<std::int64_t, std::int64_t>;
using csc_view = basic_csc_view<std::int64_t, std::int32_t>;
using csc_view_32 = basic_csc_view<std::int32_t, std::int32_t>;
using csc_view_64 = basic_csc_view<std::int64_t, std::int64_t>;
using device_csr_view = basic_device_csr_view<std::int64_t, std::int32_t>;
using device_csr_view_32 = basic_device_csr_view<std::int32_t, std::int32_t>;
using device_csr_view_64 = basic_device_csr_view<std::int64_t, std::int64_t>;
using csr_pattern = basic_csr_pattern<std::int64_t, std::int32_t>;

/// supernodal_factors in device memory; an array without elements is null.
struct device_supernodal_factors {
  std::int32_t supernodes = 0;
  std::int64_t row_count = 0;
  std::int64_t segment_count = 0;
  const std::int32_t* first_column = nullptr;   ///< supernodes + 1
  const std::int64_t* row_begin = nullptr;      ///< supernodes + 1
  const std::int32_t* rows = nullptr;           ///< row_count
  const std::int64_t* segment_begin = nullptr;  ///< n + 1
  const std::int32_t* segments = nullptr;       ///< segment_count
};

/// Compressed columns, owning; rows are strictly ascending within a column.
struct csc_pattern {
  std::int32_t n = 0;
  std::vector<std::int64_t> col_ptr{0};
  std::vector<std::int32_t> row_idx;

  [[nodiscard]] csc_view view() const { return {n, col_ptr, row_idx}; }
  /// Rows of column j.
  [[nodiscard]] std::span<const std::int32_t> column(std::int32_t j) const {
    return csr_view{n, col_ptr, row_idx}.row(j);
  }
};

/// Parts of an analysis, in their order.
enum class analysis_stage {
  check,    ///< checking and sorting the pattern
  match,    ///< a zero-free diagonal
  order,    ///< the fill-reducing order
  permute,  ///< by that order and a postorder
  analyze,  ///< the symbolic factorization
  output,   ///< counts, explicit L and U
};

/// How far an analysis is.
struct analysis_progress {
  analysis_stage stage = analysis_stage::check;
  double share = -1;  ///< of this stage, from 0 to 1; -1: not known
};

/// Where the analysis runs. A device does all steps (sorting, matching, ordering, permuting) if it
/// also computes the order and there are no relaxed supernodes; otherwise the host does all steps
/// except the factorization.
enum class compute_device {
  automatic,  ///< on a CUDA device; on the host if there is no device or it fails
  cpu,
  gpu,  ///< on the first CUDA device that CUDA_VISIBLE_DEVICES admits, or not at all
};

/// A fill-reducing order of rows and columns alike. The libraries that compute metis and colamd
/// take up to 2^31 - 1 entries of A + A^T.
enum class order_method {
  /// the one of minimum degree, minimum fill and nested dissection that is predicted to take the
  /// least time together with all factorizations (order_purpose)
  automatic,
  metis,    ///< nested dissection of A + A^T (METIS)
  amd,      ///< approximate minimum degree of A + A^T (SuiteSparse AMD)
  colamd,   ///< column approximate minimum degree of A (Eigen)
  natural,  ///< as it is
  given,    ///< analysis_options::permutation
  /// nested dissection of A + A^T by this library; the same order on any number of host threads
  cpu_nested_dissection,
  /// computes orders by minimum degree, minimum fill and nested dissections, counts their
  /// operations exactly, and keeps the best; ends when the next order costs more than it may save
  tournament,
  /// nested dissection of A + A^T by this library on a device, with a wider search than
  /// cpu_nested_dissection; the same order on any device
  gpu_nested_dissection,
  amf,  ///< approximate minimum fill of A + A^T by this library
};

/// A method with its options, from an order_method or from a text NAME or
/// NAME:OPTION=VALUE,OPTION=VALUE, as the program takes it and analysis::order has it.
struct order_choice {
  order_method method = order_method::automatic;
  std::string options{};  ///< OPTION=VALUE,OPTION=VALUE; the others have their defaults

  order_choice() = default;
  order_choice(order_method m) : method(m) {}
  /// Throws invalid_input for an unknown name.
  GSOFA_API order_choice(const std::string& text);
  order_choice(const char* text) : order_choice(std::string(text)) {}
  bool operator==(const order_choice&) const = default;
};

/// How a program factorizes.
enum class factorization_kind {
  automatic,     ///< gpu with compute_device::gpu or a pattern in device memory; else left_looking
  left_looking,  ///< by columns, on one core: SuperLU, KLU, UMFPACK
  supernodal,    ///< with dense blocks, on any number of cores: CHOLMOD
  gpu,           ///< on a GPU: cuDSS
  distributed,   ///< with dense blocks and static pivots, on any number of processes: SuperLU_DIST
};

/// What an order is for: order_method::automatic weighs the time of the order against that of the
/// factorizations. The same purpose gives the same order on every machine.
struct order_purpose {
  std::int64_t factorizations = 1;  ///< each with one solve
  factorization_kind kind = factorization_kind::automatic;
  int cores = 1;  ///< of a supernodal factorization, or processes of a distributed one
  bool operator==(const order_purpose&) const = default;
};

/// Columns begin .. end - 1.
struct supernode_range {
  std::int32_t begin = 0;
  std::int32_t end = 0;
};

/// Which entries of a matrix a pattern holds.
enum class stored_triangle {
  both,   ///< all
  lower,  ///< of a symmetric matrix those below the diagonal, and any of the diagonal
  upper,  ///< of a symmetric matrix those above the diagonal, and any of the diagonal
};

/// What a caller requests of analyze().
struct analysis_options {
  compute_device device = compute_device::automatic;
  /// NAME or NAME:OPTION=VALUE,... of a variant of variants(), the only one to be tried. Empty:
  /// `device` selects gpu_bitmap_panels or cpu_bitmap_panels.
  std::string variant{};
  int threads = 0;  ///< host threads of the analysis; 0: $GSOFA_THREADS or this process's share
  /// Most MiB of working storage, on the device if the variant runs there. If bit masks need more,
  /// the analysis searches rows instead, which takes longer. -1 or 0: 4096 on the host, 3/4 of the
  /// free memory on a device.
  std::int64_t memory_budget_mb = -1;
  /// true: if a diagonal entry is structurally zero, permute rows by a maximum matching to a
  /// zero-free diagonal. false: keep the rows, and add missing diagonal entries to the pattern.
  bool match = true;
  /// lower or upper: the matrix is the symmetric one whose triangle is given. An entry of the other
  /// triangle is invalid_input.
  stored_triangle symmetric = stored_triangle::both;
  /// Every order except natural and given is postordered by the elimination tree of A + A^T, which
  /// changes no fill.
  order_choice order{};
  order_purpose purpose{};  ///< of order_method::automatic
  /// For order_method::given, n entries: old index by new position, for columns, and for rows after
  /// the matching. Otherwise empty.
  std::span<const std::int32_t> permutation{};

  // Results, in addition to the orders and the counts.
  bool factors = false;           ///< fill analysis::l and analysis::u
  bool factor_columns = false;    ///< fill analysis::l_columns and analysis::u_columns
  bool supernodes = false;        ///< fill analysis::supernode_starts
  std::int32_t chunk_size = 0;    ///< supernodes never cross a multiple of it; 0: unlimited
  bool supernodal = false;        ///< fill analysis::supernodal
  std::int32_t most_columns = 0;  ///< of a supernode of analysis::supernodal; 0: unlimited
  /// Maximal subtrees of the elimination tree of A + A^T with at most `relax` vertices are one
  /// supernode each (SuperLU's relaxed supernodes). All results are then those of the pattern
  /// padded to full blocks. 1: nothing is padded. A larger value needs a postordered elimination
  /// tree, which all orders except natural and given have.
  std::int32_t relax = 1;
  /// Relaxed supernodes, instead of `relax`: ascending ranges of the new numbering. No column of a
  /// range has a row above the range, and no row has a column before it.
  std::span<const supernode_range> relaxed{};
  bool tree = false;   ///< fill analysis::parent, l_col_counts and flops; not with device_memory
  bool masks = false;  ///< fill analysis::masks; not with device_memory
  /// If it is set and gpu_bitmap_panels finds L and U (analysis::variant), the requested factors
  /// and supernodes of columns stay on the device: analysis::device_l, device_u and
  /// device_supernodal are filled instead of l, u and supernodal. Receives the bytes of an array
  /// and returns memory of the current CUDA device, aligned to 8 bytes, that any stream may use at
  /// once. The memory is the caller's to release, also after an error. Null is a failure of the
  /// device; an exception passes through analyze(). The arrays are complete when analyze() returns.
  /// Not with factor_columns.
  std::function<void*(std::size_t bytes)> device_memory{};
  /// A cudaStream_t of the current device. Memory from device_memory is written after all work
  /// enqueued on this stream by then, as memory of cudaMallocAsync() requires. Null: at once.
  void* device_stream = nullptr;

  // Messages.
  /// Called on the thread that called analyze(), before any work and then every progress_seconds,
  /// while another thread works. If it returns false, the analysis ends with an analysis_error of
  /// kind cancelled: at the next panel or row of the symbolic factorization, at the next allocation
  /// of METIS, at the end of any other stage. An exception passes through analyze() once the work
  /// has ended.
  std::function<bool(const analysis_progress&)> progress{};
  double progress_seconds = 0.1;  ///< between two calls of `progress`; more than 0
  /// Receives lines of text about the analysis, on the thread that called analyze(). The library
  /// itself prints nothing.
  std::function<void(const std::string&)> log{};
  /// 1: messages of analyze() about the pattern count rows, columns and pointers from 1. The arrays
  /// count from 0.
  int first_index = 0;
};

/// L + U by supernodes of columns: ranges of consecutive columns with one structure of L. Column j
/// belongs to the supernode of column j - 1 iff L(j, j-1) is structurally nonzero and both columns
/// have the same rows beyond j (type T2 of Demmel, Eisenstat, Gilbert, Li & Liu 1999), within the
/// limits of most_columns and relaxed supernodes. U(k, j) != 0 implies U(k', j) != 0 for all later
/// k' < j of the supernode of k.
struct supernodal_factors {
  std::vector<std::int32_t> first_column;  ///< supernodes + 1, ascending; ends with n
  /// supernodes + 1: rows[row_begin[s] .. row_begin[s+1]) are the rows of the first column of s in
  /// L with the diagonal, ascending; column c of s has all of them except the first c
  std::vector<std::int64_t> row_begin;
  std::vector<std::int32_t> rows;
  /// n + 1: segments[segment_begin[j] .. segment_begin[j+1]) are the first rows of the segments of
  /// column j of U in earlier supernodes, ascending; a segment extends to the end of its supernode
  std::vector<std::int64_t> segment_begin;
  std::vector<std::int32_t> segments;

  [[nodiscard]] std::int32_t supernodes() const {
    return static_cast<std::int32_t>(first_column.size()) - 1;
  }
};

/// L + U compressed to bits. A panel is a range of at most 64 consecutive vertices b, b + 1, ...
/// with an ascending list of vertices that begins with the panel itself. Vertex f of the list has
/// two masks: bit c of the first is U(b + c, f) != 0 and bit c of the second is L(f, b + c) != 0,
/// for b + c < f. So every entry off the diagonal is one bit, in the panel of the smaller vertex at
/// the position of the larger one; the diagonal has no bits. The variant chooses the panels.
struct mask_factors {
  std::vector<std::int32_t> first_vertex;    ///< panels + 1, ascending; ends with n
  std::vector<std::int64_t> position_begin;  ///< panels + 1: positions of each panel
  std::vector<std::int32_t> vertices;        ///< of each position
  std::vector<std::uint64_t> masks;          ///< two of each position: U, then L

  [[nodiscard]] std::int32_t panels() const {
    return static_cast<std::int32_t>(first_vertex.size()) - 1;
  }
};

/// How analyzer::update() found its order.
enum class order_change {
  new_order,  ///< computed anew
  kept,       ///< the previous order, without the rows that are gone
  moved,      ///< the previous order with some vertices or subtrees at other places
};

/// What analyzer::update() did to the order. All members are zero after other analyses, for the
/// orders natural and given, and for n = 0.
struct order_update {
  order_change kind = order_change::new_order;
  std::int64_t rows_changed = 0;  ///< rows that are new or differ; n if none is compared
  /// vertices that are new or moved to an ancestor; subtrees that changed places do not count
  std::int64_t vertices_moved = 0;
  bool compared =
      false;  ///< the adapted order and a new one were counted, and the better one taken
};

/// The result of analyze(), in the new numbering: entry (i, j) of the permuted matrix is
/// entry (row_order[i], col_order[j]) of A.
struct analysis {
  std::int32_t n = 0;
  std::vector<std::int32_t> row_order;  ///< n; old row by new position
  std::vector<std::int32_t> col_order;  ///< n; old column by new position
  std::int64_t nnz_a = 0;               ///< entries of A, repeated ones once, and diagonal_added
  std::int32_t diagonal_added = 0;      ///< diagonal entries added; 0 if analysis_options::match

  std::int64_t nnz_l = 0;                  ///< entries of L below the diagonal
  std::int64_t nnz_u = 0;                  ///< entries of U with the diagonal
  std::vector<std::int32_t> l_row_counts;  ///< n; sum to nnz_l
  std::vector<std::int32_t> u_row_counts;  ///< n; sum to nnz_u

  csr_pattern l;  ///< strictly lower part; order 0 unless analysis_options::factors
  csr_pattern u;  ///< upper part with the diagonal; order 0 unless analysis_options::factors
  /// First rows of the T3 supernodes (Demmel et al. 1999), ascending, the first is 0: row s joins
  /// the supernode that begins at row r iff |U(s,:)| = |U(s-1,:)| - 1 and L(s, r) is structurally
  /// nonzero. Empty unless analysis_options::supernodes.
  std::vector<std::int32_t> supernode_starts;
  supernodal_factors supernodal;  ///< empty unless analysis_options::supernodal
  device_csr_view device_l;       ///< l by analysis_options::device_memory; else order 0
  device_csr_view device_u;       ///< u, likewise
  device_supernodal_factors device_supernodal;  ///< likewise
  csc_pattern l_columns;  ///< l by columns; order 0 unless analysis_options::factor_columns
  csc_pattern u_columns;  ///< u by columns; order 0 unless analysis_options::factor_columns

  std::string variant;  ///< name of the variant that found it
  /// As order_choice takes it; of `automatic` and `tournament` the order that they chose, with its
  /// options.
  std::string order;
  /// What was done besides or instead of that method, as "perfect elimination of blocks" or "amd
  /// with direction"; empty: nothing.
  std::string order_note;
  std::string fallback;  ///< why the analysis fell back from a device to the host; else empty
  /// What the caller may not have meant: all entries off the diagonal are in one triangle, and
  /// analysis_options::symmetric is not set; else empty. Patterns that stay on a device are not
  /// looked at.
  std::string warning;

  double order_seconds = 0;  ///< checking, sorting, matching, ordering, permuting
  double setup_seconds = 0;  ///< allocation, copies to the device, its first use
  /// The symbolic factorization, with supernodes, and with large masks of a GPU.
  double analysis_seconds = 0;
  double output_seconds = 0;  ///< counts, explicit L and U

  /// n; elimination tree of A + A^T, -1 for roots: level_sets() and relaxed_supernodes() take it.
  /// Empty unless analysis_options::tree.
  std::vector<std::int32_t> parent;
  std::vector<std::int32_t> l_col_counts;  ///< n; sum to nnz_l; empty unless analysis_options::tree
  double flops = 0;    ///< as fill_profile::flops; 0 unless analysis_options::tree
  mask_factors masks;  ///< empty unless analysis_options::masks
  order_update update;
};

/// Why analyze() failed.
enum class failure {
  invalid_input = 1,  ///< the pattern or an option is wrong
  unavailable = 2,    ///< this build or machine lacks what the caller named
  out_of_memory = 3,  ///< of the host, of the device or of the budget
  internal = 4,       ///< the device or a library failed
  overflow = 5,       ///< a number does not fit in its integer type
  cancelled = 6,      ///< analysis_options::progress returned false
};

/// Every exception of this library; what() is one line.
class GSOFA_API analysis_error : public std::runtime_error {
 public:
  analysis_error(failure kind, const std::string& message);
  ~analysis_error() override;
  [[nodiscard]] failure kind() const noexcept { return kind_; }

 private:
  failure kind_;
};

/// analysis_error of kind invalid_input: names the row, the entry or the option, and what is wrong.
class GSOFA_API invalid_input : public analysis_error {
 public:
  explicit invalid_input(const std::string& message);
  ~invalid_input() override;
};

/// Symbolic LU factorization of a square pattern. Rows may be unsorted and hold duplicates, which
/// count once. Throws invalid_input for a fault of `a` or `options`, also for a structurally
/// singular pattern under analysis_options::match, and analysis_error. Threads may call it at the
/// same time. The same input and options give the same result. The order does not depend on the
/// requested results. The caller's rand(), signal handlers and METIS are left alone.
GSOFA_API analysis analyze(const csr_view& a, const analysis_options& options = {});

/// The same for a pattern in other integers, by columns or in device memory. View is csr_view_32,
/// csr_view_64, csc_view, csc_view_32, csc_view_64, device_csr_view, device_csr_view_32 or
/// device_csr_view_64; the result is that of the rows of the same matrix. Compressed columns are
/// transposed first. A pattern in device memory is copied to the host unless the device does all
/// steps (compute_device) under analysis_options::match and the diagonal has no zeros.
template <class View>
analysis analyze(const View& a, const analysis_options& options = {});

/// Analyzes pattern after pattern and keeps its working storage. A second analysis on one thread
/// allocates no array as long as the matrix if the order is natural, or given as a postorder
/// (analysis::row_order of an earlier analysis is one), rows are sorted, the diagonal is explicit,
/// and only counts are requested; with a postorder also for factors, supernodal and masks. Each
/// object belongs to one thread at a time. A callback of an analysis must not destroy its analyzer;
/// another analysis that it begins with it throws invalid_input. A forked process begins its first
/// analysis with storage of its own.
class GSOFA_API analyzer {
 public:
  explicit analyzer(analysis_options options = {});
  ~analyzer();
  analyzer(analyzer&&) noexcept;
  analyzer& operator=(analyzer&&) noexcept;
  /// May be changed between two calls.
  [[nodiscard]] analysis_options& options();
  /// analyze() of `a`; the result is valid until the next call or the end of this object.
  const analysis& analyze(const csr_view& a);
  /// The same for the other views that analyze() takes.
  template <class View>
  const analysis& analyze(const View& a);
  /// Analyzes a pattern that differs little from that of the last update(): adapts the last order
  /// to it instead of computing another one. previous[i] is the row that row i, and column i, was
  /// in the pattern of the last update() that returned, -1 if it is new; empty: i. The result is
  /// that of analyze() with order_method::given and this order, analysis::col_order. At the first
  /// call, after a change of options().order, match or device, and if n differs and `previous` is
  /// empty, the order is new; natural and given orders are not adapted. If more than a quarter of
  /// the rows have changed, it is new as well. Operations are counted for A + A^T at every step. If
  /// they have grown or fallen by 5 % or many rows have changed, a new order is computed as well,
  /// and the order with fewer operations is taken. After an exception the next call refers to the
  /// last result of update(). Throws as analyze() does, and invalid_input if `previous` has another
  /// size than n, an entry outside -1 ... rows of the last result - 1 (at the first call n - 1), or
  /// a row twice, whatever the order.
  const analysis& update(const csr_view& a, std::span<const std::int32_t> previous = {});
  /// The same for the other views that analyze() takes.
  template <class View>
  const analysis& update(const View& a, std::span<const std::int32_t> previous = {});

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// Where the entries of L + U are and what a factorization costs, without a list of the entries.
struct fill_profile {
  std::vector<std::int32_t> parent;        ///< n; elimination tree of A + A^T, -1 for roots
  std::vector<std::int32_t> l_col_counts;  ///< n; entries of each column of L below the diagonal
  std::vector<std::int32_t> u_row_counts;  ///< n; entries of each row of U with the diagonal
  /// Of A = L U: with l_k entries below the diagonal in column k of L and u_k to its right in row k
  /// of U, the sum of l_k + 2 l_k u_k.
  double flops = 0;
  std::int32_t cells = 0;  ///< cells in each direction of `density`
  /// cells x cells by rows: how many entries of L + U lie in each; entry (i, j) is in cell
  /// (i * cells / n, j * cells / n), rounded down.
  std::vector<std::int64_t> density;
};

/// The profile of a square pattern as it is, without matching or order, with the threads, host
/// memory budget, symmetric, progress and log of `options`, whose other members are ignored. Rows
/// may be unsorted and hold duplicates; missing diagonal entries are added. `cells` in [0, 8192] is
/// lowered to n. O(compressed L + U), which is less than a list of the entries. Throws as analyze()
/// does.
GSOFA_API fill_profile profile(const csr_view& a, std::int32_t cells,
                               const analysis_options& options = {});
template <class View>
fill_profile profile(const View& a, std::int32_t cells, const analysis_options& options = {});

/// Elimination tree of A + A^T of a square pattern: the parent of each vertex, -1 for roots (Liu
/// 1990). Throws as analyze() does.
GSOFA_API std::vector<std::int32_t> elimination_tree(const csr_view& a);

template <class View>
std::vector<std::int32_t> elimination_tree(const View& a);

/// What a caller requests of match().
struct match_options {
  /// maximum, symmetric, weighted or another method of `gsofa list --matchings`; empty: weighted
  /// with values, symmetric without
  std::string method{};
  /// Of the entries, each given once, in the order of the pattern's indices; empty: none.
  /// Magnitudes count, so that complex values are passed as these. Zeros are absent for weighted.
  std::span<const double> values{};
  int threads = 0;  ///< host threads; 0: as in analysis_options
  /// The factorization pivots by 2x2 blocks or tolerates zeros on the diagonal: a symmetric pattern
  /// keeps its rows.
  bool keep_symmetric = false;
};

/// Rows matched to columns: row row_of_col[j] of A belongs at position j of the diagonal.
struct match_result {
  std::vector<std::int32_t> row_of_col;  ///< n; a permutation if structural_rank is n; -1: no row
  std::int32_t structural_rank = 0;
  std::vector<std::int32_t> unmatched_rows, unmatched_cols;
  /// n each, from a method that weighs values, else empty: |a_ij| row_scale[i] col_scale[j] <= 1,
  /// and 1 where matched, except for the rounding of fixed-point logarithms.
  std::vector<double> row_scale, col_scale;
  /// Smallest magnitude of a matched entry over the largest of its column; 1 without values.
  double least_matched = 1;
  std::int64_t symmetric_entries = 0;  ///< off-diagonal entries, after it, whose mirror is present
  std::string method;
  std::string how;  ///< what was done, in words
  double seconds = 0;
};

/// A maximum matching of the rows and columns of a square pattern. It comes before order() and
/// analyze(), which take the matrix with row row_of_col[j] moved to position j. The result does not
/// depend on the number of threads. Throws invalid_input for an unknown method, for nan and
/// infinity (with row and column, from 1), and if a method needs values and gets none; otherwise as
/// analyze().
GSOFA_API match_result match(const csr_view& a, const match_options& options = {});
template <class View>
match_result match(const View& a, const match_options& options = {});

/// The supernodes that analysis_options::relax selects: the maximal subtrees with at most `relax`
/// vertices of a postordered forest, `parent` of each vertex (-1 or n for roots). Throws
/// invalid_input if the forest is not postordered.
GSOFA_API std::vector<supernode_range> relaxed_supernodes(std::span<const std::int32_t> parent,
                                                          std::int32_t relax);

/// Vertices of a forest by height. All columns, or supernodes, of one height can be factorized at
/// the same time.
struct tree_levels {
  std::vector<std::int32_t> begin;  ///< levels + 1
  /// n; vertices[begin[h] .. begin[h+1]) have height h, ascending: 0 without children, otherwise
  /// one more than the highest child
  std::vector<std::int32_t> vertices;
};

/// The levels of an elimination tree, `parent` of each vertex (-1 or n for roots). O(n). Throws
/// invalid_input if a parent is no later vertex.
GSOFA_API tree_levels level_sets(std::span<const std::int32_t> parent);

/// A postorder of an elimination tree: vertices by new position, children before parents, subtrees
/// contiguous. O(n). Throws as level_sets() does.
GSOFA_API std::vector<std::int32_t> tree_postorder(std::span<const std::int32_t> parent);

/// Upper bounds for the result of an analysis and an estimate of its memory, without the analysis.
struct fill_estimate {
  /// n; the order, for a later analysis with order_method::given
  std::vector<std::int32_t> permutation;
  std::int64_t nnz_a = 0;  ///< as analysis::nnz_a
  /// Entries of the two triangles of chol(A + A^T), as analysis::nnz_l and nnz_u count. L and U
  /// have no more; as many if `symmetric`.
  std::int64_t nnz_l = 0;
  std::int64_t nnz_u = 0;
  double flops = 0;               ///< of a factorization with these entries, as fill_profile::flops
  bool symmetric = false;         ///< the permuted pattern: nnz_l, nnz_u and flops are exact
  std::int64_t result_bytes = 0;  ///< of the arrays of the requested analysis
  /// Of the host in addition: a bound on all recorded cases (docs/estimate.md).
  std::int64_t working_bytes = 0;
  /// Of the values (double) of a numerical factorization with these entries: all of L and U in
  /// supernodes; the most of factors, stacked contributions and one front at a time (Liu 1992).
  std::int64_t supernodal_bytes = 0;
  std::int64_t multifrontal_bytes = 0;
};

/// What analyze(a, options) will need: checks, matches and orders as analyze() does and counts the
/// entries of chol(A + A^T) without listing them. In addition to the order, O(nnz log n) time and
/// O(n + nnz) memory. Ignores relaxed supernodes. Throws as analyze() does.
GSOFA_API fill_estimate estimate(const csr_view& a, const analysis_options& options = {});
template <class View>
fill_estimate estimate(const View& a, const analysis_options& options = {});

/// The position of a separator tree's nodes in an order.
enum class tree_layout {
  by_level,  ///< the deepest level from left to right, the level above, ..., the root last (cuDSS)
  nested,    ///< left subtree, right subtree, separator (METIS)
};

/// Maximum of order_options::tree_levels.
inline constexpr int most_tree_levels = 24;

/// What a caller requests of order().
struct order_options {
  order_choice order{};
  order_purpose purpose{};  ///< of order_method::automatic
  /// automatic: a CUDA device dissects large graphs if there is one, else the host; the order is
  /// the same
  compute_device device = compute_device::automatic;
  int threads = 0;                              ///< host threads; 0: as in analysis_options
  std::span<const std::int32_t> permutation{};  ///< for order_method::given, as analysis_options
  /// n vertex weights, 1 or more, with a sum below 2^31; empty: all are 1. With weights, the order
  /// is cpu_nested_dissection with separators of small weight; methods other than automatic and
  /// cpu_nested_dissection refuse them.
  std::span<const std::int32_t> weights{};
  std::int64_t seed = -1;  ///< of the search; -1: the default of the method
  /// Levels of a full binary separator tree, which has 2^tree_levels - 1 nodes: domains in its
  /// leaves, separators above. 0: no tree. Above 1, the automatic order is a nested dissection
  /// (for a GPU it may be minimum degree with a tree of its elimination tree), and dissections
  /// divide the graph evenly on these levels.
  int tree_levels = 0;
  tree_layout layout = tree_layout::by_level;                ///< of the order, if there is a tree
  std::function<bool(const analysis_progress&)> progress{};  ///< as analysis_options
  double progress_seconds = 0.1;
  std::function<void(const std::string&)> log{};
  /// n group numbers, 0 or more: a vertex comes after all vertices of lower groups, as the
  /// constraint sets of CAMD. Two groups order the vertices of a Schur complement last; the
  /// separator tree then has all later groups in its root. Empty: one group. The host computes the
  /// order, by minimum fill or nested dissection; methods other than automatic refuse groups.
  std::span<const std::int32_t> groups{};
  /// Rows of A + A^T with more entries beside the diagonal come after all groups; 0: none.
  std::int64_t longest_row = 0;
};

/// A fill-reducing order of A + A^T.
struct pattern_order {
  std::int32_t n = 0;
  std::vector<std::int32_t> permutation;  ///< n; old index by new position
  /// Vertices of each node of the separator tree, by level from the deepest to the root, each level
  /// from left to right, as cuDSS and METIS_NodeNDP take and give them. A node may be empty. No
  /// entry of A + A^T joins the two subtrees of a node. Empty without a tree.
  std::vector<std::int32_t> tree_sizes;
  std::string order;       ///< as analysis::order
  std::string order_note;  ///< as analysis::order_note
  std::string
      fallback;        ///< why the host computed the order after a failure of a device; else empty
  double seconds = 0;  ///< without the check of the pattern
};

/// A fill-reducing order of rows and columns alike, without a symbolic factorization. No rows are
/// matched, and a diagonal entry changes nothing. The fill is that of analyze() with the same
/// method, but the order is not postordered. `a` may hold one triangle of a symmetric matrix or all
/// of it. A pattern in device memory is copied to the host first. Throws as analyze() does.
GSOFA_API pattern_order order(const csr_view& a, const order_options& options = {});
template <class View>
pattern_order order(const View& a, const order_options& options = {});

/// An algorithm of this build.
struct variant_description {
  std::string name;
  std::string device;       ///< "cpu" or "gpu"
  std::string summary;      ///< one line
  std::string unavailable;  ///< why it cannot run on this machine; empty if it can
};

/// Pattern of the square matrix in a file: Matrix Market (coordinate or array), Harwell-Boeing or
/// Rutherford-Boeing (assembled), or .npz of scipy.sparse.save_npz; plain, as .gz if this build has
/// zlib, and as .xz, .bz2, .zst or in a .tar or .zip if libarchive can be loaded. The content
/// decides, not the name. Symmetric storage is expanded, repeated positions are merged, and every
/// stored position counts, whatever its value. Throws analysis_error: invalid_input with file, line
/// and reason; unavailable for a compression that this build does not read; out_of_memory.
GSOFA_API csr_pattern read_pattern(const std::string& file);
/// The same. Calls goes_on(), which does not throw, for each block that it reads; if goes_on()
/// returns false, throws analysis_error: cancelled.
GSOFA_API csr_pattern read_pattern(const std::string& file, const std::function<bool()>& goes_on);

/// All algorithms of this build, in order of name.
GSOFA_API std::vector<variant_description> variants();

/// Whether METIS can be loaded here; false in a build without METIS.
GSOFA_API bool has_metis() noexcept;

namespace detail {

template <class To, class From>
std::vector<To> converted(std::vector<From>&& from, const char* what) {
  if constexpr (std::is_same_v<To, From>) {
    return std::move(from);
  } else {
    std::vector<To> to;
    to.reserve(from.size());
    for (const From value : from) {
      if (!std::in_range<To>(value)) {
        throw analysis_error(failure::overflow, std::string(what) + ": " + std::to_string(value) +
                                                    " does not fit in " +
                                                    std::to_string(8 * sizeof(To)) + " bits");
      }
      to.push_back(static_cast<To>(value));
    }
    from = {};
    return to;
  }
}

}  // namespace detail

/// A factor in other integers: arrays of the same type are moved, the others copied and released
/// one by one. Throws analysis_error of kind overflow where a pointer does not fit.
template <class Offset, class Index>
basic_csr_pattern<Offset, Index> convert(csr_pattern p) {
  return {static_cast<Index>(p.n),
          detail::converted<Offset>(std::move(p.row_ptr), "row pointer of a factor"),
          detail::converted<Index>(std::move(p.col_idx), "column of a factor")};
}

/// Version of the library, "major.minor.patch".
GSOFA_API const char* version() noexcept;

}  // namespace gsofa

#endif
