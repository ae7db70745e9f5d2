#include "harness/library/cpp/options.hpp"

#include <algorithm>
#include <thread>

#include "common/preprocess.hpp"
#include "common/supernodal.hpp"
#include "variants/orderings/metis_library.hpp"

namespace gsofa::library {

namespace {

[[noreturn]] void refuse(const std::string& option, offset_t value, const std::string& range) {
  throw invalid_input(option + ": " + std::to_string(value) + " is not " + range);
}

void check_numbers(const analysis_options& o) {
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
  } else if (!o.permutation.empty()) {
    throw invalid_input("permutation: set, but the order is " + order + ", not given");
  }
  if (order == "metis") {
    if (const auto reason = metis_fault()) {
      throw analysis_error(failure::unavailable, "order metis: " + *reason);
    }
  }
  if (order == device_order) {
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

const char* order_name(order_method order) {
  switch (order) {
    case order_method::automatic:
      return default_order;
    case order_method::metis:
      return "metis";
    case order_method::amd:
      return "amd";
    case order_method::amf:
      return "amf";
    case order_method::colamd:
      return "colamd";
    case order_method::natural:
      return "natural";
    case order_method::given:
      return "given";
    case order_method::nested_dissection:
      return "cpu_nested_dissection";
    case order_method::tournament:
      return "tournament";
    case order_method::gpu_nested_dissection:
      return device_order;
  }
  throw invalid_input("order: " + std::to_string(static_cast<int>(order)) + " is no order_method");
}

const order_info& info_of_device_order() {
  return *std::ranges::find(all_orders(), device_order, &order_info::name);
}

bool is_for_device_order(const analysis_options& options, bool on_device, index_t n) {
  return options.order == order_method::automatic && on_device && n >= least_device_order &&
         !info_of_device_order().unavailable();
}

int host_threads(const analysis_options& options) {
  return options.threads > 0 ? options.threads
                             : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
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

const variant_info& public_variant(std::string_view name) {
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

}  // namespace gsofa::library
