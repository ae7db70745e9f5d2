#include "harness/library/cpp/options.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "common/preprocess.hpp"
#include "common/process.hpp"
#include "common/supernodal.hpp"
#include "variants/orderings/choose.hpp"
#include "variants/orderings/metis_library.hpp"

namespace gsofa {

namespace {

using named_order = std::pair<order_method, std::string_view>;
constexpr std::array<named_order, 10> order_names{{
    {order_method::automatic, default_order},
    {order_method::metis, "metis"},
    {order_method::amd, "amd"},
    {order_method::amf, "amf"},
    {order_method::colamd, "colamd"},
    {order_method::natural, "natural"},
    {order_method::given, "given"},
    {order_method::cpu_nested_dissection, "cpu_nested_dissection"},
    {order_method::gpu_nested_dissection, library::device_order},
    {order_method::tournament, "tournament"},
}};

// NAME and OPTION=VALUE,... of NAME:OPTION=VALUE,...
std::pair<std::string_view, std::string_view> name_and_options(std::string_view text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  return {text.substr(0, colon), text.substr(std::min(colon + 1, text.size()))};
}

}  // namespace

order_choice::order_choice(const std::string& text) {
  const auto [name, rest] = name_and_options(text);
  const auto* const known = std::ranges::find(order_names, name, &named_order::second);
  if (known == order_names.end()) {
    std::string all;
    for (const auto& [_, one] : order_names) all += (all.empty() ? "" : ", ") + std::string(one);
    throw invalid_input("order: '" + std::string(name) + "' is none of " + all);
  }
  method = known->first;
  options = rest;
}

namespace library {

namespace {

[[noreturn]] void refuse(const std::string& option, offset_t value, const std::string& range) {
  throw invalid_input(option + ": " + std::to_string(value) + " is not " + range);
}

std::string_view kind_of(const analysis_options& o) {
  switch (o.purpose.kind) {
    case factorization_kind::left_looking:
      return "left_looking";
    case factorization_kind::supernodal:
      return "supernodal";
    case factorization_kind::gpu:
      return "gpu";
    case factorization_kind::distributed:
      return "distributed";
    case factorization_kind::automatic:
      break;
  }
  return o.device == compute_device::gpu ? "gpu" : "left_looking";
}

void check_purpose(const order_purpose& p) {
  if (p.factorizations < 1) refuse("factorizations", p.factorizations, "1 or more");
  if (p.cores < 1) refuse("cores", p.cores, "1 or more");
  const auto kind = static_cast<int>(p.kind);
  if (kind < 0 || kind > static_cast<int>(factorization_kind::distributed)) {
    refuse("kind", kind, "a factorization_kind");
  }
}

void check_numbers(const analysis_options& o) {
  check_purpose(o.purpose);
  if (o.threads < 0) refuse("threads", o.threads, "0 or more");
  if (o.chunk_size < 0) refuse("chunk_size", o.chunk_size, "0 or more");
  if (o.memory_budget_mb < -1) refuse("memory_budget_mb", o.memory_budget_mb, "-1 or more");
  if (o.device != compute_device::automatic && o.device != compute_device::cpu &&
      o.device != compute_device::gpu) {
    refuse("device", static_cast<int>(o.device), "a compute_device");
  }
  if (o.symmetric != stored_triangle::both && o.symmetric != stored_triangle::lower &&
      o.symmetric != stored_triangle::upper) {
    refuse("symmetric", static_cast<int>(o.symmetric), "a stored_triangle");
  }
  if (o.first_index != 0 && o.first_index != 1) refuse("first_index", o.first_index, "0 or 1");
  if (o.progress && !(o.progress_seconds > 0 && o.progress_seconds <= 1e6)) {
    throw invalid_input("progress_seconds: " + std::to_string(o.progress_seconds) +
                        " is not in (0, 1000000]");
  }
  if (o.most_columns < 0) refuse("most_columns", o.most_columns, "0 or more");
  if (o.relax < 1) refuse("relax", o.relax, "1 or more");
}

void check_order(const analysis_options& o, index_t n) {
  const std::string order = order_name(o.order);
  if (order == "given") {
    validate_permutation(o.permutation, n, "permutation");
    return;
  }
  find_order(order);
  if (!o.permutation.empty()) {
    throw invalid_input("permutation: set, but the order is " + order + ", not given");
  }
  if (o.order.method == order_method::metis) {
    if (const auto reason = metis_fault()) {
      throw analysis_error(failure::unavailable, "order metis: " + *reason);
    }
  }
  if (o.order.method == order_method::gpu_nested_dissection) {
    if (const auto reason = info_of_device_order().unavailable()) {
      throw analysis_error(failure::unavailable, "order " + order + ": " + *reason);
    }
  }
}

}  // namespace

void check_options(const analysis_options& o, index_t n) {
  check_numbers(o);
  if (o.relax > 1 && !o.relaxed.empty()) {
    throw invalid_input("relax and relaxed: only one of them may be set");
  }
  std::vector<column_range> relaxed;
  for (const supernode_range& r : o.relaxed) relaxed.push_back({r.begin, r.end});
  validate_ranges(relaxed, n);
  if (o.device_memory && o.factor_columns) {
    throw invalid_input("device_memory: not with factor_columns");
  }
  if (o.device_memory && o.tree) throw invalid_input("device_memory: not with tree");
  if (o.device_memory && o.masks) throw invalid_input("device_memory: not with masks");
  check_order(o, n);
}

std::string order_name(const order_choice& order) {
  const auto* const known = std::ranges::find(order_names, order.method, &named_order::first);
  if (known == order_names.end()) {
    throw invalid_input("order: " + std::to_string(static_cast<int>(order.method)) +
                        " is no order_method");
  }
  return std::string(known->second) + (order.options.empty() ? "" : ":" + order.options);
}

const order_info& info_of_device_order() {
  return *std::ranges::find(all_orders(), device_order, &order_info::name);
}

order_request request_of(const analysis_options& options) {
  order_request r = *find_order(order_name(options.order));
  if (options.order != order_method::automatic) return r;
  r.options.put("factorizations", options.purpose.factorizations);
  r.options.put("kind", std::string(kind_of(options)));
  r.options.put("cores", std::int64_t{options.purpose.cores});
  return r;
}

bool is_for_device_order(const analysis_options& options, index_t n) {
  return options.order == order_method::automatic && kind_of(options) == "gpu" &&
         options.purpose.factorizations == 1 && n >= orders::least_rows_to_dissect;
}

int host_threads(const analysis_options& options) {
  if (options.threads > 0) return options.threads;
  const int set = threads_of_setting();
  return set > 0 ? set : threads_of_process();
}

bool needs_supernodes_of_columns(const analysis_options& o) {
  return o.supernodal || o.tree || o.masks || o.relax > 1 || !o.relaxed.empty();
}

want_set wants_of(const analysis_options& options) {
  want_set wants = want::counts;
  if (options.factors || options.factor_columns) wants |= want::pattern;
  if (options.supernodes) wants |= want::supernodes;
  return wants;
}

bool is_public(const variant_info& v) {
  return v.planted.empty() && v.exact && !v.orders && !v.distributed && v.gives == want_set::all();
}

const variant_info& public_variant(std::string_view text) {
  const std::string_view name = name_and_options(text).first;
  std::string names;
  for (const variant_info& v : all_variants()) {
    if (!is_public(v)) continue;
    if (v.name == name) return v;
    names += (names.empty() ? "" : ", ") + v.name;
  }
  throw invalid_input("unknown variant '" + std::string(name) + "': one of " + names);
}

std::vector<const variant_info*> choose_variants(const analysis_options& options) {
  const bool automatic = options.device == compute_device::automatic;
  if (!options.variant.empty()) {
    const variant_info& named = public_variant(options.variant);
    const std::string device = options.device == compute_device::cpu ? "cpu" : "gpu";
    if (!automatic && named.device != device) {
      throw invalid_input("variant " + named.name + " does not run on device " + device);
    }
    if (const auto reason = named.unavailable()) {
      throw analysis_error(failure::unavailable, named.name + ": " + *reason);
    }
    settings_for(named, options);
    return {&named};
  }
  std::vector<const variant_info*> chosen;
  if (options.device != compute_device::cpu) {
    const variant_info& gpu = public_variant("gpu_bitmap_panels");
    const auto reason = gpu.unavailable();
    if (!reason) chosen.push_back(&gpu);
    if (reason && !automatic) {
      throw analysis_error(failure::unavailable, gpu.name + ": " + *reason);
    }
  }
  if (options.device != compute_device::gpu) {
    chosen.push_back(&public_variant("cpu_bitmap_panels"));
  }
  return chosen;
}

run_settings settings_for(const variant_info& info, const analysis_options& options) {
  run_settings s = settings_with(info, want::counts);
  const auto [name, given] = name_and_options(options.variant);
  if (name == info.name) s.options = parse_options(info.options, given, "variant " + info.name);
  if (info.name == device_analysis && options.order == order_method::automatic) {
    s.options = parse_options(info.options, orders::options_on_device, "variant " + info.name);
  }
  const auto budget = std::ranges::find(info.options, "memory_budget_mb", &option_spec::name);
  if (options.memory_budget_mb > 0 && budget != info.options.end()) {
    s.options.set(info.options, budget->name, std::to_string(options.memory_budget_mb));
  }
  s.wants = wants_of(options);
  s.supernodal = needs_supernodes_of_columns(options);
  if (s.supernodal && !info.supernodal) s.wants |= want::pattern;
  s.threads = host_threads(options);
  s.chunk_size = options.chunk_size;
  return s;
}

}  // namespace library
}  // namespace gsofa
