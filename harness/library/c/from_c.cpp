#include "harness/library/c/from_c.hpp"

#include <cstring>

namespace gsofa::library {

namespace {

template <class Enum>
constexpr bool equal(int c, Enum cpp) {
  return c == static_cast<int>(cpp);
}
static_assert(equal(GSOFA_AUTOMATIC, compute_device::automatic));
static_assert(equal(GSOFA_CPU, compute_device::cpu));
static_assert(equal(GSOFA_GPU, compute_device::gpu));
static_assert(equal(GSOFA_ORDER_AUTOMATIC, order_method::automatic));
static_assert(equal(GSOFA_ORDER_METIS, order_method::metis));
static_assert(equal(GSOFA_ORDER_AMD, order_method::amd));
static_assert(equal(GSOFA_ORDER_COLAMD, order_method::colamd));
static_assert(equal(GSOFA_ORDER_NATURAL, order_method::natural));
static_assert(equal(GSOFA_ORDER_GIVEN, order_method::given));
static_assert(equal(GSOFA_ORDER_CPU_NESTED_DISSECTION, order_method::cpu_nested_dissection));
static_assert(equal(GSOFA_ORDER_TOURNAMENT, order_method::tournament));
static_assert(equal(GSOFA_ORDER_GPU_NESTED_DISSECTION, order_method::gpu_nested_dissection));
static_assert(equal(GSOFA_ORDER_AMF, order_method::amf));
static_assert(equal(GSOFA_FACTORIZATION_AUTOMATIC, factorization_kind::automatic));
static_assert(equal(GSOFA_FACTORIZATION_LEFT_LOOKING, factorization_kind::left_looking));
static_assert(equal(GSOFA_FACTORIZATION_SUPERNODAL, factorization_kind::supernodal));
static_assert(equal(GSOFA_FACTORIZATION_GPU, factorization_kind::gpu));
static_assert(equal(GSOFA_FACTORIZATION_DISTRIBUTED, factorization_kind::distributed));
static_assert(equal(GSOFA_INVALID_INPUT, failure::invalid_input));
static_assert(equal(GSOFA_UNAVAILABLE, failure::unavailable));
static_assert(equal(GSOFA_OUT_OF_MEMORY, failure::out_of_memory));
static_assert(equal(GSOFA_INTERNAL_ERROR, failure::internal));
static_assert(equal(GSOFA_OVERFLOW, failure::overflow));
static_assert(equal(GSOFA_CANCELLED, failure::cancelled));
static_assert(equal(GSOFA_LOWER_TRIANGLE, stored_triangle::lower));
static_assert(equal(GSOFA_UPPER_TRIANGLE, stored_triangle::upper));
static_assert(equal(GSOFA_STAGE_CHECK, analysis_stage::check));
static_assert(equal(GSOFA_STAGE_OUTPUT, analysis_stage::output));

static_assert(equal(GSOFA_TREE_BY_LEVEL, tree_layout::by_level));
static_assert(equal(GSOFA_TREE_NESTED, tree_layout::nested));

static_assert(sizeof(gsofa_range) == sizeof(supernode_range) &&
              offsetof(gsofa_range, end) == offsetof(supernode_range, end));

// Overwrites `known`, the defaults, by `given`; the first version of the structure had
// `first_size` bytes.
template <class Options>
Options overwritten(Options known, const Options* given, std::size_t first_size,
                    const std::string& type) {
  if (given == nullptr) return known;
  const std::size_t size = given->size;
  if (size < first_size) {
    throw invalid_input("options: size " + std::to_string(size) + " is that of no " + type + "; " +
                        type + "_init() sets it");
  }
  const auto* const bytes = reinterpret_cast<const unsigned char*>(given);
  for (std::size_t k = sizeof known; k < size; ++k) {
    if (bytes[k] == 0) continue;
    throw invalid_input("options: a member beyond the " + std::to_string(sizeof known) +
                        " bytes that this version of the library knows is set");
  }
  std::memcpy(&known, given, std::min(size, sizeof known));
  return known;
}

order_choice choice_of(int method, const char* options) {
  order_choice out = static_cast<order_method>(method);
  if (options != nullptr) out.options = options;
  return out;
}

template <class Options>
order_purpose purpose_of(const Options& o) {
  return {o.factorizations, static_cast<factorization_kind>(o.factorization_kind),
          o.factorization_cores};
}

// The callbacks of C options as those of C++ options.
template <class From, class To>
void set_callbacks(const From& o, To& out) {
  if (o.progress != nullptr) {
    out.progress = [call = o.progress, user = o.user](const analysis_progress& p) {
      return call(static_cast<int>(p.stage), p.share, user) == 0;
    };
  }
  if (o.log != nullptr) {
    out.log = [call = o.log, user = o.user](const std::string& line) { call(line.c_str(), user); };
  }
  out.progress_seconds = o.progress_seconds;
}

}  // namespace

gsofa_options known_options(const gsofa_options* given) {
  gsofa_options defaults;
  gsofa_options_init(&defaults);
  constexpr std::size_t first = offsetof(gsofa_options, progress_seconds) + sizeof(double);
  return overwritten(defaults, given, first, "gsofa_options");
}

gsofa_order_options known_options(const gsofa_order_options* given) {
  gsofa_order_options defaults;
  gsofa_order_options_init(&defaults);
  constexpr std::size_t first = offsetof(gsofa_order_options, progress_seconds) + sizeof(double);
  return overwritten(defaults, given, first, "gsofa_order_options");
}

order_options options_of(const gsofa_order_options& o, std::int64_t n) {
  order_options out;
  const std::size_t count = n > 0 ? static_cast<std::size_t>(n) : 0;
  out.device = static_cast<compute_device>(o.device);
  out.order = choice_of(o.order, o.order_options);
  out.purpose = purpose_of(o);
  out.threads = o.threads;
  if (o.permutation != nullptr) out.permutation = {o.permutation, count};
  if (o.weights != nullptr) out.weights = {o.weights, count};
  if (o.groups != nullptr) out.groups = {o.groups, count};
  out.longest_row = o.longest_row;
  out.seed = o.seed;
  out.tree_levels = o.tree_levels;
  out.layout = static_cast<tree_layout>(o.layout);
  set_callbacks(o, out);
  return out;
}

analysis_options options_of(const gsofa_options& o, std::int64_t n) {
  analysis_options out;
  out.device = static_cast<compute_device>(o.device);
  out.order = choice_of(o.order, o.order_options);
  out.purpose = purpose_of(o);
  if (o.variant != nullptr) out.variant = o.variant;
  out.threads = o.threads;
  out.memory_budget_mb = o.memory_budget_mb;
  out.match = o.match != 0;
  out.first_index = o.first_index;
  out.symmetric = static_cast<stored_triangle>(o.symmetric);
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
  set_callbacks(o, out);
  out.device_stream = o.device_stream;
  out.tree = o.tree != 0;
  out.masks = o.masks != 0;
  if (o.relaxed_count < 0 || (o.relaxed_count > 0 && o.relaxed == nullptr)) {
    throw invalid_input("relaxed: " + std::to_string(o.relaxed_count) + " ranges at " +
                        (o.relaxed == nullptr ? "NULL" : "an address"));
  }
  if (o.relaxed_count > 0) {
    // Both types are the same two numbers: asserted above.
    out.relaxed = {reinterpret_cast<const supernode_range*>(o.relaxed),
                   static_cast<std::size_t>(o.relaxed_count)};
  }
  if (o.device_memory != nullptr) {
    out.device_memory = [call = o.device_memory, user = o.user](std::size_t bytes) {
      return call(bytes, user);
    };
  }
  return out;
}

}  // namespace gsofa::library
