#include <cstdio>
#include <exception>
#include <new>

#include "gsofa/gsofa.h"
#include "gsofa/gsofa.hpp"

struct gsofa_analysis {
  gsofa::analysis found;
  bool factors;
  bool supernodes;
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
static_assert(GSOFA_INVALID_INPUT == static_cast<int>(gsofa::failure::invalid_input));
static_assert(GSOFA_UNAVAILABLE == static_cast<int>(gsofa::failure::unavailable));
static_assert(GSOFA_OUT_OF_MEMORY == static_cast<int>(gsofa::failure::out_of_memory));
static_assert(GSOFA_INTERNAL_ERROR == static_cast<int>(gsofa::failure::internal));

// A fixed length, so that reporting a lack of memory takes none.
thread_local char last_error[512] = "";

gsofa_status fail(gsofa_status status, const char* message) {
  std::snprintf(last_error, sizeof last_error, "%s", message);
  return status;
}

// col_idx is as long as the last row pointer says; analyze() checks that no other is larger.
gsofa::csr_view view_of(std::int32_t n, const std::int64_t* row_ptr, const std::int32_t* col_idx) {
  if (n < 1) return {n, {}, {}};
  const auto rows = static_cast<std::size_t>(n);
  const std::int64_t nnz = row_ptr[rows] > 0 ? row_ptr[rows] : 0;
  return {n, {row_ptr, rows + 1}, {col_idx, static_cast<std::size_t>(nnz)}};
}

gsofa::analysis_options options_of(const gsofa_options& o, std::int32_t n) {
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
  return out;
}

gsofa_status give(const gsofa_analysis* a, const gsofa::csr_pattern gsofa::analysis::*part,
                  const std::int64_t** row_ptr, const std::int32_t** col_idx) {
  if (a == nullptr || row_ptr == nullptr || col_idx == nullptr) {
    return fail(GSOFA_INVALID_INPUT, "an argument is NULL");
  }
  if (!a->factors) return fail(GSOFA_INVALID_INPUT, "factors were not asked for");
  *row_ptr = (a->found.*part).row_ptr.data();
  *col_idx = (a->found.*part).col_idx.data();
  return GSOFA_OK;
}

}  // namespace

extern "C" {

void gsofa_options_init(gsofa_options* options) {
  if (options == nullptr) return;
  *options = {};
  options->memory_budget_mb = -1;
  options->threads = 1;
  options->match = 1;
}

gsofa_status gsofa_analyze(int32_t n, const int64_t* row_ptr, const int32_t* col_idx,
                           const gsofa_options* options, gsofa_analysis** out) {
  if (out == nullptr) return fail(GSOFA_INVALID_INPUT, "out is NULL");
  *out = nullptr;
  if (n > 0 && row_ptr == nullptr) return fail(GSOFA_INVALID_INPUT, "row_ptr is NULL");
  if (n > 0 && row_ptr[n] > 0 && col_idx == nullptr) {
    return fail(GSOFA_INVALID_INPUT, "col_idx is NULL");
  }
  gsofa_options defaults;
  gsofa_options_init(&defaults);
  const gsofa_options& asked = options != nullptr ? *options : defaults;
  try {
    *out = new gsofa_analysis{// NOLINT(cppcoreguidelines-owning-memory)
                              gsofa::analyze(view_of(n, row_ptr, col_idx), options_of(asked, n)),
                              asked.factors != 0, asked.supernodes != 0};
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

void gsofa_free(gsofa_analysis* a) { delete a; }  // NOLINT(cppcoreguidelines-owning-memory)

const char* gsofa_last_error(void) { return last_error; }

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
  return give(a, &gsofa::analysis::l, row_ptr, col_idx);
}
gsofa_status gsofa_u(const gsofa_analysis* a, const int64_t** row_ptr, const int32_t** col_idx) {
  return give(a, &gsofa::analysis::u, row_ptr, col_idx);
}

gsofa_status gsofa_supernodes(const gsofa_analysis* a, const int32_t** starts, int32_t* count) {
  if (a == nullptr || starts == nullptr || count == nullptr) {
    return fail(GSOFA_INVALID_INPUT, "an argument is NULL");
  }
  if (!a->supernodes) return fail(GSOFA_INVALID_INPUT, "supernodes were not asked for");
  *starts = a->found.supernode_starts.data();
  *count = static_cast<int32_t>(a->found.supernode_starts.size());
  return GSOFA_OK;
}

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

const char* gsofa_version(void) { return gsofa::version(); }

}  // extern "C"
