#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/parallel.hpp"
#include "gsofa/gsofa.h"
#include "gsofa/gsofa.hpp"
#include "harness/library/c/last_error.hpp"

struct gsofa_analysis {
  gsofa_analysis(gsofa::analysis f, const gsofa_options& o)
      : own(std::move(f)), found(own), asked(o) {}
  /// Of an analyzer.
  gsofa_analysis(const gsofa::analysis* f, const gsofa_options& o) : found(*f), asked(o) {}
  gsofa_analysis(const gsofa_analysis&) = delete;
  gsofa_analysis& operator=(const gsofa_analysis&) = delete;

  gsofa::analysis own;
  const gsofa::analysis& found;
  gsofa_options asked;
};

struct gsofa_analyzer {
  gsofa::analyzer analyzer;
  gsofa_options asked{};
  std::unique_ptr<gsofa_analysis> result;
  gsofa::pending_analysis pending;  // it ends before the analyzer
  // Held while an analysis is begun: its callbacks may use this object before that has returned.
  mutable std::mutex beginning;
  std::uint64_t process = gsofa::process_number();

  /// Returns once the analysis that is being begun, if there is one, has been.
  void settle() const {
    if (process != gsofa::process_number()) return;
    const std::scoped_lock lock(beginning);
  }
};

struct gsofa_profile {
  gsofa::fill_profile found;
};

namespace {

static_assert(GSOFA_AUTOMATIC == static_cast<int>(gsofa::compute_device::automatic));
static_assert(GSOFA_CPU == static_cast<int>(gsofa::compute_device::cpu));
static_assert(GSOFA_GPU == static_cast<int>(gsofa::compute_device::gpu));
static_assert(GSOFA_ORDER_AUTOMATIC == static_cast<int>(gsofa::order_method::automatic));
static_assert(GSOFA_ORDER_METIS == static_cast<int>(gsofa::order_method::metis));
static_assert(GSOFA_ORDER_AMD == static_cast<int>(gsofa::order_method::amd));
static_assert(GSOFA_ORDER_COLAMD == static_cast<int>(gsofa::order_method::colamd));
static_assert(GSOFA_ORDER_NATURAL == static_cast<int>(gsofa::order_method::natural));
static_assert(GSOFA_ORDER_GIVEN == static_cast<int>(gsofa::order_method::given));
static_assert(GSOFA_ORDER_NESTED_DISSECTION ==
              static_cast<int>(gsofa::order_method::nested_dissection));
static_assert(GSOFA_ORDER_BEST_OF == static_cast<int>(gsofa::order_method::best_of));
static_assert(GSOFA_ORDER_GPU_NESTED_DISSECTION ==
              static_cast<int>(gsofa::order_method::gpu_nested_dissection));
static_assert(GSOFA_INVALID_INPUT == static_cast<int>(gsofa::failure::invalid_input));
static_assert(GSOFA_UNAVAILABLE == static_cast<int>(gsofa::failure::unavailable));
static_assert(GSOFA_OUT_OF_MEMORY == static_cast<int>(gsofa::failure::out_of_memory));
static_assert(GSOFA_INTERNAL_ERROR == static_cast<int>(gsofa::failure::internal));
static_assert(GSOFA_OVERFLOW == static_cast<int>(gsofa::failure::overflow));
static_assert(GSOFA_CANCELLED == static_cast<int>(gsofa::failure::cancelled));
static_assert(GSOFA_STAGE_CHECK == static_cast<int>(gsofa::analysis_stage::check));
static_assert(GSOFA_STAGE_ORDER == static_cast<int>(gsofa::analysis_stage::order));
static_assert(GSOFA_STAGE_OUTPUT == static_cast<int>(gsofa::analysis_stage::output));

static_assert(sizeof(gsofa_range) == sizeof(gsofa::supernode_range) &&
              offsetof(gsofa_range, end) == offsetof(gsofa::supernode_range, end));

gsofa_status fail(gsofa_status status, const char* message) {
  gsofa::detail::set_last_error(message);
  return status;
}

// Calls call() and returns the status of what it throws.
template <class Call>
gsofa_status reporting(const Call& call) {
  try {
    call();
    return GSOFA_OK;
  } catch (const gsofa::analysis_error& e) {
    return fail(static_cast<gsofa_status>(e.kind()), e.what());
  } catch (const std::bad_alloc&) {
    return fail(GSOFA_OUT_OF_MEMORY, "the host is out of memory");
  } catch (const std::exception& e) {
    return fail(GSOFA_INTERNAL_ERROR, e.what());
  } catch (...) {
    return fail(GSOFA_INTERNAL_ERROR, "unknown exception");
  }
}

// Indices are as many as the last pointer says; the library checks that no other pointer is larger.
template <class View, class Offset, class Index>
View view_of(const gsofa_pattern& a) {
  View view;
  if (!std::in_range<Index>(a.n)) {
    throw gsofa::analysis_error(gsofa::failure::overflow, "pattern: order: " + std::to_string(a.n) +
                                                              " does not fit in 32 bits");
  }
  view.n = static_cast<Index>(a.n);
  // An order beyond 2^31 - 1 is refused before its arrays are read.
  if (a.n < 0 || !std::in_range<std::int32_t>(a.n)) return view;
  if (a.pointers == nullptr) {
    throw gsofa::invalid_input(a.format == GSOFA_CSC ? "col_ptr is NULL" : "row_ptr is NULL");
  }
  const auto* const pointers = static_cast<const Offset*>(a.pointers);
  const auto* const indices = static_cast<const Index*>(a.indices);
  const auto rows = static_cast<std::size_t>(a.n);
  const auto nnz = static_cast<std::size_t>(std::max<Offset>(pointers[rows], 0));
  if (nnz > 0 && indices == nullptr) {
    throw gsofa::invalid_input(a.format == GSOFA_CSC ? "row_idx is NULL" : "col_idx is NULL");
  }
  const std::span<const Offset> ptr(pointers, rows + 1);
  const std::span<const Index> idx(indices, nnz);
  if constexpr (requires { view.col_ptr; }) {
    view.col_ptr = ptr;
    view.row_idx = idx;
  } else {
    view.row_ptr = ptr;
    view.col_idx = idx;
  }
  return view;
}

// Calls call(view) with the view that the pattern describes.
template <class Call>
void with_view(const gsofa_pattern& a, const Call& call) {
  using i32 = std::int32_t;
  using i64 = std::int64_t;
  if (a.format != GSOFA_CSR && a.format != GSOFA_CSC) {
    throw gsofa::invalid_input("format: " + std::to_string(a.format) + " is no gsofa_format");
  }
  const bool columns = a.format == GSOFA_CSC;
  switch (a.index_type) {
    case GSOFA_INDEX_64_32:
      columns ? call(view_of<gsofa::csc_view, i64, i32>(a))
              : call(view_of<gsofa::csr_view, i64, i32>(a));
      return;
    case GSOFA_INDEX_32_32:
      columns ? call(view_of<gsofa::csc_view_32, i32, i32>(a))
              : call(view_of<gsofa::csr_view_32, i32, i32>(a));
      return;
    case GSOFA_INDEX_64_64:
      columns ? call(view_of<gsofa::csc_view_64, i64, i64>(a))
              : call(view_of<gsofa::csr_view_64, i64, i64>(a));
      return;
    default:
      throw gsofa::invalid_input("index_type: " + std::to_string(a.index_type) +
                                 " is no gsofa_index_type");
  }
}

// The caller's options, with defaults for members that its version of the structure lacks.
gsofa_options known_options(const gsofa_options* asked) {
  gsofa_options known;
  gsofa_options_init(&known);
  if (asked == nullptr) return known;
  const std::size_t size = asked->size;
  if (size < offsetof(gsofa_options, progress_seconds) + sizeof(double)) {
    throw gsofa::invalid_input("options: size " + std::to_string(size) +
                               " is that of no gsofa_options; gsofa_options_init() sets it");
  }
  const auto* const bytes = reinterpret_cast<const unsigned char*>(asked);
  for (std::size_t k = sizeof known; k < size; ++k) {
    if (bytes[k] == 0) continue;
    throw gsofa::invalid_input("options: a member beyond the " + std::to_string(sizeof known) +
                               " bytes that this version of the library knows is set");
  }
  std::memcpy(&known, asked, std::min(size, sizeof known));
  return known;
}

gsofa::analysis_options options_of(const gsofa_options& o, std::int64_t n) {
  gsofa::analysis_options out;
  out.device = static_cast<gsofa::compute_device>(o.device);
  out.order = static_cast<gsofa::order_method>(o.order);
  if (o.variant != nullptr) out.variant = o.variant;
  out.threads = o.threads;
  out.memory_budget_mb = o.memory_budget_mb;
  out.match = o.match != 0;
  if (o.permutation != nullptr && n > 0) {
    out.permutation = {o.permutation, static_cast<std::size_t>(n)};
  }
  out.factors = o.factors != 0;
  out.supernodes = o.supernodes != 0;
  out.chunk_size = o.chunk_size;
  out.factor_columns = o.factor_columns != 0;
  out.supernodal = o.supernodal != 0;
  out.most_columns = o.most_columns;
  out.relax = o.relax;
  if (o.progress != nullptr) {
    out.progress = [call = o.progress, user = o.user](const gsofa::analysis_progress& p) {
      return call(static_cast<int>(p.stage), p.share, user) == 0;
    };
  }
  if (o.log != nullptr) {
    out.log = [call = o.log, user = o.user](const std::string& line) { call(line.c_str(), user); };
  }
  out.progress_seconds = o.progress_seconds;
  out.device_stream = o.device_stream;
  out.tree = o.tree != 0;
  out.masks = o.masks != 0;
  if (o.relaxed_count < 0 || (o.relaxed_count > 0 && o.relaxed == nullptr)) {
    throw gsofa::invalid_input("relaxed: " + std::to_string(o.relaxed_count) + " ranges at " +
                               (o.relaxed == nullptr ? "NULL" : "an address"));
  }
  if (o.relaxed_count > 0) {
    // The same two numbers: asserted above.
    out.relaxed = {reinterpret_cast<const gsofa::supernode_range*>(o.relaxed),
                   static_cast<std::size_t>(o.relaxed_count)};
  }
  if (o.device_memory != nullptr) {
    out.device_memory = [call = o.device_memory, user = o.user](std::size_t bytes) {
      return call(bytes, user);
    };
  }
  return out;
}

std::span<const std::int32_t> tree_of(std::int32_t n, const std::int32_t* parent) {
  if (n < 0) throw gsofa::invalid_input("n: " + std::to_string(n) + " is not 0 or more");
  return {parent, static_cast<std::size_t>(n)};
}

gsofa_status give_rows(const gsofa_analysis* a, const gsofa::csr_pattern gsofa::analysis::*part,
                       const std::int64_t** row_ptr, const std::int32_t** col_idx) {
  if (a == nullptr || row_ptr == nullptr || col_idx == nullptr) {
    return fail(GSOFA_INVALID_INPUT, "an argument is NULL");
  }
  if (a->asked.factors == 0) return fail(GSOFA_INVALID_INPUT, "factors were not asked for");
  if (a->found.device_l.n > 0) {
    return fail(GSOFA_INVALID_INPUT, "the factors are in device memory: gsofa_device_l()");
  }
  *row_ptr = (a->found.*part).row_ptr.data();
  *col_idx = (a->found.*part).col_idx.data();
  return GSOFA_OK;
}

gsofa_status give_columns(const gsofa_analysis* a, const gsofa::csc_pattern gsofa::analysis::*part,
                          const std::int64_t** col_ptr, const std::int32_t** row_idx) {
  if (a == nullptr || col_ptr == nullptr || row_idx == nullptr) {
    return fail(GSOFA_INVALID_INPUT, "an argument is NULL");
  }
  if (a->asked.factor_columns == 0) {
    return fail(GSOFA_INVALID_INPUT, "factors by columns were not asked for");
  }
  *col_ptr = (a->found.*part).col_ptr.data();
  *row_idx = (a->found.*part).row_idx.data();
  return GSOFA_OK;
}

gsofa_status give_device_rows(const gsofa_analysis* a,
                              const gsofa::device_csr_view gsofa::analysis::*part,
                              gsofa_device_pattern* out) {
  if (a == nullptr || out == nullptr) return fail(GSOFA_INVALID_INPUT, "an argument is NULL");
  const gsofa::device_csr_view& rows = a->found.*part;
  if (rows.n == 0) return fail(GSOFA_UNAVAILABLE, "the analysis left no factors in device memory");
  *out = {rows.n, rows.nnz, rows.row_ptr, rows.col_idx, GSOFA_INDEX_64_32, nullptr};
  return GSOFA_OK;
}

template <class To, class From>
void copy_to(void* to, const std::vector<From>& from) {
  std::ranges::transform(from, static_cast<To*>(to), [](From v) { return static_cast<To>(v); });
}

gsofa_status copy(const gsofa_analysis* a, const gsofa::csr_pattern gsofa::analysis::*rows,
                  const gsofa::csc_pattern gsofa::analysis::*columns, int format, int index_type,
                  void* pointers, void* indices) {
  const std::int64_t* ptr = nullptr;
  const std::int32_t* idx = nullptr;
  if (format != GSOFA_CSR && format != GSOFA_CSC) {
    return fail(GSOFA_INVALID_INPUT, "format is no gsofa_format");
  }
  const gsofa_status found =
      format == GSOFA_CSC ? give_columns(a, columns, &ptr, &idx) : give_rows(a, rows, &ptr, &idx);
  if (found != GSOFA_OK) return found;
  const auto& from_ptr =
      format == GSOFA_CSC ? (a->found.*columns).col_ptr : (a->found.*rows).row_ptr;
  const auto& from_idx =
      format == GSOFA_CSC ? (a->found.*columns).row_idx : (a->found.*rows).col_idx;
  if (pointers == nullptr || (indices == nullptr && !from_idx.empty())) {
    return fail(GSOFA_INVALID_INPUT, "an argument is NULL");
  }
  switch (index_type) {
    case GSOFA_INDEX_64_32:
      copy_to<std::int64_t>(pointers, from_ptr);
      copy_to<std::int32_t>(indices, from_idx);
      return GSOFA_OK;
    case GSOFA_INDEX_32_32:
      if (!std::in_range<std::int32_t>(from_ptr.back())) {
        const std::string text = std::to_string(from_ptr.back()) +
                                 " entries of a factor: the last pointer does not fit in 32 bits";
        return fail(GSOFA_OVERFLOW, text.c_str());
      }
      copy_to<std::int32_t>(pointers, from_ptr);
      copy_to<std::int32_t>(indices, from_idx);
      return GSOFA_OK;
    case GSOFA_INDEX_64_64:
      copy_to<std::int64_t>(pointers, from_ptr);
      copy_to<std::int64_t>(indices, from_idx);
      return GSOFA_OK;
    default:
      return fail(GSOFA_INVALID_INPUT, "index_type is no gsofa_index_type");
  }
}

// The view of pattern k of a batch.
gsofa::csr_view member_of_batch(const gsofa_pattern& a, std::size_t k) {
  const std::string where = "pattern " + std::to_string(k) + ": ";
  if (a.format != GSOFA_CSR || a.index_type != GSOFA_INDEX_64_32) {
    throw gsofa::invalid_input(where + "a batch takes GSOFA_CSR with GSOFA_INDEX_64_32 alone");
  }
  try {
    return view_of<gsofa::csr_view, std::int64_t, std::int32_t>(a);
  } catch (const gsofa::invalid_input& e) {
    throw gsofa::invalid_input(where + e.what());
  } catch (const gsofa::analysis_error& e) {
    throw gsofa::analysis_error(e.kind(), where + e.what());
  }
}

std::vector<std::unique_ptr<gsofa_analysis>> analyzed_batch(std::span<const gsofa_pattern> patterns,
                                                            const gsofa_options& asked) {
  std::vector<gsofa::csr_view> views;
  views.reserve(patterns.size());
  for (std::size_t k = 0; k < patterns.size(); ++k) {
    views.push_back(member_of_batch(patterns[k], k));
  }
  std::vector<std::unique_ptr<gsofa_analysis>> found(patterns.size());
  const std::int64_t n = patterns.empty() ? 0 : patterns.front().n;
  gsofa::analyze_batch(views, options_of(asked, n), [&](std::size_t k, const gsofa::analysis& one) {
    found[k] = std::make_unique<gsofa_analysis>(one, asked);
  });
  return found;
}

template <class View>
gsofa_analysis* analyzed(const View& view, const gsofa_options& asked) {
  // NOLINTNEXTLINE(cppcoreguidelines-owning-memory)
  return new gsofa_analysis(gsofa::analyze(view, options_of(asked, view.n)), asked);
}

// Calls call(view) with the view of device memory that the pattern describes.
template <class Call>
void with_device_view(const gsofa_device_pattern& a, const Call& call) {
  const auto view_as = [&]<class View>(View view) {
    using index = decltype(view.n);
    if (!std::in_range<index>(a.n)) {
      throw gsofa::analysis_error(
          gsofa::failure::overflow,
          "pattern: order: " + std::to_string(a.n) + " does not fit in 32 bits");
    }
    view.n = static_cast<index>(a.n);
    view.nnz = a.nnz;
    view.row_ptr = static_cast<decltype(view.row_ptr)>(a.pointers);
    view.col_idx = static_cast<decltype(view.col_idx)>(a.indices);
    view.stream = a.stream;
    call(view);
  };
  switch (a.index_type) {
    case GSOFA_INDEX_64_32:
      return view_as(gsofa::device_csr_view{});
    case GSOFA_INDEX_32_32:
      return view_as(gsofa::device_csr_view_32{});
    case GSOFA_INDEX_64_64:
      return view_as(gsofa::device_csr_view_64{});
    default:
      throw gsofa::invalid_input("index_type: " + std::to_string(a.index_type) +
                                 " is no gsofa_index_type");
  }
}

template <class View>
void start(gsofa_analyzer& by, const View& view, const gsofa_options& asked) {
  std::unique_lock lock(by.beginning, std::defer_lock);
  if (by.process == gsofa::process_number()) lock.lock();
  if (!by.pending.ready()) throw gsofa::invalid_input("analyzer: an analysis has not ended yet");
  by.result = nullptr;
  by.analyzer.options() = options_of(asked, view.n);
  by.asked = asked;
  by.pending = by.analyzer.start(view);
}

// The algorithms of this build, described once.
struct variant_list {
  std::uint64_t process = gsofa::process_number();
  const variant_list* before = nullptr;  // of a parent: somebody may hold it
  std::vector<gsofa::variant_description> described = gsofa::variants();
  std::vector<gsofa_variant> entries;
  variant_list() {
    for (const auto& v : described) {
      entries.push_back(
          {v.name.c_str(), v.device.c_str(), v.summary.c_str(), v.unavailable.c_str()});
    }
  }
};

}  // namespace

extern "C" {

void gsofa_options_init_sized(gsofa_options* options, size_t size) {
  if (options == nullptr) return;
  gsofa_options defaults{};
  defaults.size = size;
  defaults.memory_budget_mb = -1;
  defaults.threads = 1;
  defaults.match = 1;
  defaults.progress_seconds = 0.1;
  defaults.relax = 1;
  std::memset(static_cast<void*>(options), 0, size);
  std::memcpy(options, &defaults, std::min(size, sizeof defaults));
}

gsofa_status gsofa_analyze_pattern(const gsofa_pattern* a, const gsofa_options* options,
                                   gsofa_analysis** out) {
  if (out == nullptr) return fail(GSOFA_INVALID_INPUT, "out is NULL");
  *out = nullptr;
  if (a == nullptr) return fail(GSOFA_INVALID_INPUT, "the pattern is NULL");
  return reporting([&] {
    const gsofa_options asked = known_options(options);
    with_view(*a, [&](const auto& view) { *out = analyzed(view, asked); });
  });
}

gsofa_status gsofa_analyze_batch(const gsofa_pattern* patterns, size_t count,
                                 const gsofa_options* options, gsofa_analysis** out) {
  if (count == 0) return GSOFA_OK;
  if (out == nullptr) return fail(GSOFA_INVALID_INPUT, "out is NULL");
  std::fill_n(out, count, nullptr);
  if (patterns == nullptr) return fail(GSOFA_INVALID_INPUT, "patterns is NULL");
  return reporting([&] {
    auto found = analyzed_batch({patterns, count}, known_options(options));
    for (std::size_t k = 0; k < count; ++k) out[k] = found[k].release();
  });
}

gsofa_status gsofa_analyze_device(const gsofa_device_pattern* a, const gsofa_options* options,
                                  gsofa_analysis** out) {
  if (out == nullptr) return fail(GSOFA_INVALID_INPUT, "out is NULL");
  *out = nullptr;
  if (a == nullptr) return fail(GSOFA_INVALID_INPUT, "the pattern is NULL");
  return reporting([&] {
    const gsofa_options asked = known_options(options);
    with_device_view(*a, [&](const auto& view) { *out = analyzed(view, asked); });
  });
}

gsofa_status gsofa_analyze(int32_t n, const int64_t* row_ptr, const int32_t* col_idx,
                           const gsofa_options* options, gsofa_analysis** out) {
  const gsofa_pattern a{n, row_ptr, col_idx, GSOFA_INDEX_64_32, GSOFA_CSR};
  return gsofa_analyze_pattern(&a, options, out);
}

gsofa_status gsofa_analyzer_create(gsofa_analyzer** out) {
  if (out == nullptr) return fail(GSOFA_INVALID_INPUT, "out is NULL");
  *out = nullptr;
  return reporting([&] {
    *out = new gsofa_analyzer;  // NOLINT(cppcoreguidelines-owning-memory)
  });
}

void gsofa_analyzer_free(gsofa_analyzer* by) {
  if (by != nullptr) by->settle();
  delete by;  // NOLINT(cppcoreguidelines-owning-memory)
}

gsofa_status gsofa_analyzer_start(gsofa_analyzer* by, const gsofa_pattern* a,
                                  const gsofa_options* options) {
  if (by == nullptr || a == nullptr) return fail(GSOFA_INVALID_INPUT, "an argument is NULL");
  return reporting([&] {
    const gsofa_options asked = known_options(options);
    with_view(*a, [&](const auto& view) { start(*by, view, asked); });
  });
}

gsofa_status gsofa_analyzer_start_device(gsofa_analyzer* by, const gsofa_device_pattern* a,
                                         const gsofa_options* options) {
  if (by == nullptr || a == nullptr) return fail(GSOFA_INVALID_INPUT, "an argument is NULL");
  return reporting([&] {
    const gsofa_options asked = known_options(options);
    with_device_view(*a, [&](const auto& view) { start(*by, view, asked); });
  });
}

int gsofa_analyzer_ready(const gsofa_analyzer* by) {
  if (by != nullptr) by->settle();
  return by == nullptr || by->pending.ready() ? 1 : 0;
}

void gsofa_analyzer_cancel(gsofa_analyzer* by) {
  if (by == nullptr) return;
  by->settle();
  by->pending.cancel();
}

gsofa_status gsofa_analyzer_wait(gsofa_analyzer* by, const gsofa_analysis** out) {
  if (out != nullptr) *out = nullptr;
  if (by == nullptr || out == nullptr) return fail(GSOFA_INVALID_INPUT, "an argument is NULL");
  return reporting([&] {
    by->settle();
    const gsofa::analysis& found = by->pending.get();
    if (by->result == nullptr) by->result = std::make_unique<gsofa_analysis>(&found, by->asked);
    *out = by->result.get();
  });
}

void gsofa_free(gsofa_analysis* a) { delete a; }  // NOLINT(cppcoreguidelines-owning-memory)

const char* gsofa_last_error(void) { return gsofa::detail::last_error(); }

int32_t gsofa_n(const gsofa_analysis* a) { return a == nullptr ? 0 : a->found.n; }
int64_t gsofa_nnz_l(const gsofa_analysis* a) { return a == nullptr ? 0 : a->found.nnz_l; }
int64_t gsofa_nnz_u(const gsofa_analysis* a) { return a == nullptr ? 0 : a->found.nnz_u; }
int64_t gsofa_nnz_a(const gsofa_analysis* a) { return a == nullptr ? 0 : a->found.nnz_a; }
int32_t gsofa_diagonal_added(const gsofa_analysis* a) {
  return a == nullptr ? 0 : a->found.diagonal_added;
}

const int32_t* gsofa_row_order(const gsofa_analysis* a) {
  return a == nullptr ? nullptr : a->found.row_order.data();
}
const int32_t* gsofa_col_order(const gsofa_analysis* a) {
  return a == nullptr ? nullptr : a->found.col_order.data();
}
const int32_t* gsofa_l_row_counts(const gsofa_analysis* a) {
  return a == nullptr ? nullptr : a->found.l_row_counts.data();
}
const int32_t* gsofa_u_row_counts(const gsofa_analysis* a) {
  return a == nullptr ? nullptr : a->found.u_row_counts.data();
}

gsofa_status gsofa_l(const gsofa_analysis* a, const int64_t** row_ptr, const int32_t** col_idx) {
  return give_rows(a, &gsofa::analysis::l, row_ptr, col_idx);
}
gsofa_status gsofa_u(const gsofa_analysis* a, const int64_t** row_ptr, const int32_t** col_idx) {
  return give_rows(a, &gsofa::analysis::u, row_ptr, col_idx);
}

gsofa_status gsofa_l_columns(const gsofa_analysis* a, const int64_t** col_ptr,
                             const int32_t** row_idx) {
  return give_columns(a, &gsofa::analysis::l_columns, col_ptr, row_idx);
}
gsofa_status gsofa_u_columns(const gsofa_analysis* a, const int64_t** col_ptr,
                             const int32_t** row_idx) {
  return give_columns(a, &gsofa::analysis::u_columns, col_ptr, row_idx);
}

gsofa_status gsofa_copy_l(const gsofa_analysis* a, int format, int index_type, void* pointers,
                          void* indices) {
  return copy(a, &gsofa::analysis::l, &gsofa::analysis::l_columns, format, index_type, pointers,
              indices);
}
gsofa_status gsofa_copy_u(const gsofa_analysis* a, int format, int index_type, void* pointers,
                          void* indices) {
  return copy(a, &gsofa::analysis::u, &gsofa::analysis::u_columns, format, index_type, pointers,
              indices);
}

gsofa_status gsofa_supernodal(const gsofa_analysis* a, gsofa_supernodal_view* out) {
  if (a == nullptr || out == nullptr) return fail(GSOFA_INVALID_INPUT, "an argument is NULL");
  if (a->asked.supernodal == 0) {
    return fail(GSOFA_INVALID_INPUT, "supernodes of columns were not asked for");
  }
  if (a->found.device_supernodal.supernodes > 0) {
    return fail(GSOFA_INVALID_INPUT,
                "the supernodes of columns are in device memory: gsofa_device_supernodal()");
  }
  const gsofa::supernodal_factors& s = a->found.supernodal;
  *out = {s.supernodes(), s.first_column.data(),  s.row_begin.data(),
          s.rows.data(),  s.segment_begin.data(), s.segments.data()};
  return GSOFA_OK;
}

gsofa_status gsofa_device_l(const gsofa_analysis* a, gsofa_device_pattern* out) {
  return give_device_rows(a, &gsofa::analysis::device_l, out);
}
gsofa_status gsofa_device_u(const gsofa_analysis* a, gsofa_device_pattern* out) {
  return give_device_rows(a, &gsofa::analysis::device_u, out);
}

gsofa_status gsofa_device_supernodal(const gsofa_analysis* a, gsofa_supernodal_view* out) {
  if (a == nullptr || out == nullptr) return fail(GSOFA_INVALID_INPUT, "an argument is NULL");
  const gsofa::device_supernodal_factors& s = a->found.device_supernodal;
  if (s.supernodes == 0) {
    return fail(GSOFA_UNAVAILABLE, "the analysis left no supernodes in device memory");
  }
  *out = {s.supernodes, s.first_column, s.row_begin, s.rows, s.segment_begin, s.segments};
  return GSOFA_OK;
}

gsofa_status gsofa_supernodes(const gsofa_analysis* a, const int32_t** starts, int32_t* count) {
  if (a == nullptr || starts == nullptr || count == nullptr) {
    return fail(GSOFA_INVALID_INPUT, "an argument is NULL");
  }
  if (a->asked.supernodes == 0) return fail(GSOFA_INVALID_INPUT, "supernodes were not asked for");
  *starts = a->found.supernode_starts.data();
  *count = static_cast<int32_t>(a->found.supernode_starts.size());
  return GSOFA_OK;
}

gsofa_status gsofa_masks(const gsofa_analysis* a, gsofa_masks_view* out) {
  if (a == nullptr || out == nullptr) return fail(GSOFA_INVALID_INPUT, "an argument is NULL");
  if (a->asked.masks == 0) return fail(GSOFA_INVALID_INPUT, "masks were not asked for");
  const gsofa::mask_factors& m = a->found.masks;
  *out = {m.panels(), m.first_vertex.data(), m.position_begin.data(), m.vertices.data(),
          m.masks.data()};
  return GSOFA_OK;
}

const int32_t* gsofa_parent(const gsofa_analysis* a) {
  return a == nullptr || a->asked.tree == 0 ? nullptr : a->found.parent.data();
}
const int32_t* gsofa_l_col_counts(const gsofa_analysis* a) {
  return a == nullptr || a->asked.tree == 0 ? nullptr : a->found.l_col_counts.data();
}
double gsofa_flops(const gsofa_analysis* a) { return a == nullptr ? 0 : a->found.flops; }

const char* gsofa_variant_name(const gsofa_analysis* a) {
  return a == nullptr ? nullptr : a->found.variant.c_str();
}
const char* gsofa_order_name(const gsofa_analysis* a) {
  return a == nullptr ? nullptr : a->found.order.c_str();
}
const char* gsofa_fallback(const gsofa_analysis* a) {
  return a == nullptr ? nullptr : a->found.fallback.c_str();
}

double gsofa_order_seconds(const gsofa_analysis* a) {
  return a == nullptr ? 0 : a->found.order_seconds;
}
double gsofa_setup_seconds(const gsofa_analysis* a) {
  return a == nullptr ? 0 : a->found.setup_seconds;
}
double gsofa_analysis_seconds(const gsofa_analysis* a) {
  return a == nullptr ? 0 : a->found.analysis_seconds;
}
double gsofa_output_seconds(const gsofa_analysis* a) {
  return a == nullptr ? 0 : a->found.output_seconds;
}

gsofa_status gsofa_elimination_tree(const gsofa_pattern* a, int32_t* parent) {
  if (a == nullptr || parent == nullptr) return fail(GSOFA_INVALID_INPUT, "an argument is NULL");
  return reporting([&] {
    with_view(*a,
              [&](const auto& view) { std::ranges::copy(gsofa::elimination_tree(view), parent); });
  });
}

gsofa_status gsofa_level_sets(int32_t n, const int32_t* parent, int32_t* begin, int32_t* vertices,
                              int32_t* levels) {
  if (parent == nullptr || begin == nullptr || vertices == nullptr || levels == nullptr) {
    return fail(GSOFA_INVALID_INPUT, "an argument is NULL");
  }
  return reporting([&] {
    const gsofa::tree_levels found = gsofa::level_sets(tree_of(n, parent));
    std::ranges::copy(found.begin, begin);
    std::ranges::copy(found.vertices, vertices);
    *levels = static_cast<std::int32_t>(found.begin.size()) - 1;
  });
}

gsofa_status gsofa_tree_postorder(int32_t n, const int32_t* parent, int32_t* order) {
  if (parent == nullptr || order == nullptr) {
    return fail(GSOFA_INVALID_INPUT, "an argument is NULL");
  }
  return reporting([&] { std::ranges::copy(gsofa::tree_postorder(tree_of(n, parent)), order); });
}

gsofa_status gsofa_relaxed_supernodes(int32_t n, const int32_t* parent, int32_t relax,
                                      gsofa_range* ranges, int32_t* count) {
  if (parent == nullptr || ranges == nullptr || count == nullptr) {
    return fail(GSOFA_INVALID_INPUT, "an argument is NULL");
  }
  return reporting([&] {
    const auto found = gsofa::relaxed_supernodes(tree_of(n, parent), relax);
    std::ranges::transform(found, ranges, [](const gsofa::supernode_range& r) {
      return gsofa_range{r.begin, r.end};
    });
    *count = static_cast<std::int32_t>(found.size());
  });
}

gsofa_status gsofa_estimate(const gsofa_pattern* a, const gsofa_options* options,
                            gsofa_fill_estimate* out, int32_t* permutation) {
  if (a == nullptr || out == nullptr) return fail(GSOFA_INVALID_INPUT, "an argument is NULL");
  return reporting([&] {
    const gsofa_options asked = known_options(options);
    with_view(*a, [&](const auto& view) {
      const gsofa::fill_estimate f = gsofa::estimate(view, options_of(asked, view.n));
      *out = {f.nnz_a, f.nnz_l, f.nnz_u, f.flops, f.result_bytes, f.working_bytes, f.symmetric};
      if (permutation != nullptr) std::ranges::copy(f.permutation, permutation);
    });
  });
}

gsofa_status gsofa_profile_pattern(const gsofa_pattern* a, int32_t cells, int threads,
                                   gsofa_profile** out) {
  if (out == nullptr) return fail(GSOFA_INVALID_INPUT, "out is NULL");
  *out = nullptr;
  if (a == nullptr) return fail(GSOFA_INVALID_INPUT, "the pattern is NULL");
  return reporting([&] {
    with_view(*a, [&](const auto& view) {
      *out = new gsofa_profile{// NOLINT(cppcoreguidelines-owning-memory)
                               gsofa::profile(view, cells, threads)};
    });
  });
}
void gsofa_profile_free(gsofa_profile* p) { delete p; }  // NOLINT(cppcoreguidelines-owning-memory)
const int32_t* gsofa_profile_parent(const gsofa_profile* p) {
  return p == nullptr ? nullptr : p->found.parent.data();
}
const int32_t* gsofa_profile_l_col_counts(const gsofa_profile* p) {
  return p == nullptr ? nullptr : p->found.l_col_counts.data();
}
const int32_t* gsofa_profile_u_row_counts(const gsofa_profile* p) {
  return p == nullptr ? nullptr : p->found.u_row_counts.data();
}
double gsofa_profile_flops(const gsofa_profile* p) { return p == nullptr ? 0 : p->found.flops; }
int32_t gsofa_profile_cells(const gsofa_profile* p) { return p == nullptr ? 0 : p->found.cells; }
const int64_t* gsofa_profile_density(const gsofa_profile* p) {
  return p == nullptr ? nullptr : p->found.density.data();
}

gsofa_status gsofa_variants(const gsofa_variant** variants, int32_t* count) {
  if (variants == nullptr || count == nullptr) {
    return fail(GSOFA_INVALID_INPUT, "an argument is NULL");
  }
  return reporting([&] {
    // Devices that were there are lost to a forked process, which lists anew. No lock, which a
    // thread that the child lacks could hold.
    static std::atomic<const variant_list*> newest;
    const variant_list* list = newest.load(std::memory_order_acquire);
    if (list == nullptr || list->process != gsofa::process_number()) {
      auto mine = std::make_unique<variant_list>();
      mine->before = list;
      if (newest.compare_exchange_strong(list, mine.get())) list = mine.release();
    }
    *variants = list->entries.data();
    *count = static_cast<std::int32_t>(list->entries.size());
  });
}

gsofa_status gsofa_read_pattern(const char* file, gsofa_pattern* out) {
  if (out != nullptr) *out = {};
  if (file == nullptr || out == nullptr) return fail(GSOFA_INVALID_INPUT, "an argument is NULL");
  return reporting([&] {
    auto read = std::make_unique<gsofa::csr_pattern>(gsofa::read_pattern(file));
    auto pointers = std::make_unique<std::int64_t[]>(read->row_ptr.size());
    std::ranges::copy(read->row_ptr, pointers.get());
    read->row_ptr = {};
    auto indices = std::make_unique<std::int32_t[]>(std::max<std::size_t>(read->col_idx.size(), 1));
    std::ranges::copy(read->col_idx, indices.get());
    *out = {read->n, pointers.release(), indices.release(), GSOFA_INDEX_64_32, GSOFA_CSR};
  });
}

void gsofa_pattern_free(gsofa_pattern* a) {
  if (a == nullptr) return;
  delete[] static_cast<const std::int64_t*>(a->pointers);
  delete[] static_cast<const std::int32_t*>(a->indices);
  *a = {};
}

int gsofa_has_metis(void) { return gsofa::has_metis() ? 1 : 0; }

const char* gsofa_version(void) { return gsofa::version(); }

}  // extern "C"
